"""What became of a quote, and what changed between two revisions."""

from __future__ import annotations

import pytest

from quidnunc.properties.documents.named_sentences import (
    SpecificationText,
    named_sentences,
    parse,
    texts,
    write_prints,
)
from quidnunc.properties.documents.revisions import _change_of, changes, likeness, report, word_diff
from quidnunc.properties.documents.sentences import read, words_of
from tests.properties.documents.test_named_sentences import OWN, TABLE

SKIP = """\
When later relaying the messageId message to the mesh the peers found in `dont_send_message_ids` MUST be
skipped."""


@pytest.fixture
def text() -> SpecificationText:
    prints = write_prints(read(OWN), parse("gossipsub-1.2", TABLE, ""))
    return parse("gossipsub-1.2", TABLE, prints)


@pytest.mark.parametrize(
    ("edited", "fate"),
    [
        (OWN, "found"),
        (OWN.replace("the messageId\nmessage", "the `messageId` message"), "found"),
        (OWN.replace("## Skipping", "## Relaying"), "moved"),
        (OWN.replace("MUST be", "could be"), "changed"),
        (OWN.replace("MUST be", "must be"), "changed"),
        (OWN.replace(SKIP, "Nothing is skipped."), "gone"),
    ],
)
def test_the_fate_of_a_quote(text: SpecificationText, edited: str, fate: str) -> None:
    (quote,) = report(read(edited), text).quotes
    assert (quote.clause, quote.fate) == ("gs1.2/idontwant.skip", fate)
    assert bool(quote.line) == (fate != "gone")


CANCEL = "it MAY try to cancel its IWANT requests with the corresponding IDONTWANT message."


@pytest.mark.parametrize(
    ("edited", "fate"), [("", "found"), ("may try", "changed"), ("Nothing is cancelled.", "gone")]
)
def test_the_fate_of_the_words_that_show_a_keyword(edited: str, fate: str) -> None:
    """Mutant: only quotes are looked for. The clause quotes nothing; its phrase has the MAY."""
    then = f"{OWN}\nIf it comes, {CANCEL}\n"
    text = parse("gossipsub-1.2", TABLE, write_prints(read(then), parse("gossipsub-1.2", TABLE, "")))
    new = CANCEL if fate == "found" else CANCEL.replace("MAY try", edited) if fate == "changed" else edited
    (phrase,) = report(read(f"{OWN}\nIf it comes, {new}\n"), text).phrases
    assert (phrase.clause, phrase.fate, phrase.fails) == ("gs1.2/iwant.cancel", fate, fate != "found")
    assert ("[-MAY-]" in phrase.change) == (fate == "changed")


def test_a_phrase_of_another_revision_is_told_and_does_not_fail() -> None:
    """Mutant: what stands in one other revision alone is asked of all."""
    phrase = "SHOULD NOT send an IHAVE to a peer that requested partial messages"
    text = texts()["partial-messages"]
    for words, fate in (("Nothing.", "gone"), (f"When gossiping, a node {phrase}.", "found")):
        found = report(read(f"# Gossip\n\n{words}\n"), text)
        (one,) = (each for each in found.phrases if each.clause == "pm/gossip.no-ihave")
        assert (one.fate, one.only_in, one.fails) == (fate, "6b6203ee", False)
        named = [n.names for n in found.sentences]
        assert named == ([("pm/gossip.no-ihave",)] if fate == "found" else [()])


def test_a_changed_quote_shows_the_words(text: SpecificationText) -> None:
    (quote,) = report(read(OWN.replace("MUST be", "could be")), text).quotes
    assert "[-MUST-] {+could+} be skipped." in quote.change
    assert quote.heading == "Skipping"


def test_how_much_is_known_and_what_is_unnamed(text: SpecificationText) -> None:
    same = report(read(OWN), text)
    assert same.known == 1.0 and [s.text for s in same.unnamed] == ["It is never loud."]
    more = report(read(OWN + "\nA new peer MUST wave.\n"), text)
    assert more.known == pytest.approx(5 / 6)
    assert [s.text for s in more.unnamed] == ["It is never loud.", "A new peer MUST wave."]


def test_every_changed_sentence_is_listed(text: SpecificationText) -> None:
    new = (
        OWN.replace("MUST be", "may be")
        .replace("It is never loud.", "")
        .replace("# Whispers\n", "# Whispers\n\nA head.\n")
        .replace("A peer may send at most ten whispers. ", "")
    )
    new += "\n## Elsewhere\n\nA peer may send at most ten whispers.\n"
    found = changes(named_sentences(read(OWN), text), named_sentences(read(new), text))
    assert [(c.kind, c.text) for c in found] == [
        ("added", "{+A head.+}"),
        ("removed", "[-It is never loud.-]"),
        (
            "changed",
            "When later relaying the messageId message to the mesh the peers found in dont_send_message_ids "
            "[-MUST-] {+may+} be skipped.",
        ),
        ("moved", "A peer may send at most ten whispers."),
    ]
    by_kind = {c.kind: c for c in found}
    assert by_kind["changed"].clauses == ("gs1.2/idontwant.skip",)
    assert by_kind["moved"].clauses == ("gs1.2/idontwant.cap",)
    assert by_kind["added"].clauses == ()


def test_an_operator_in_code_is_a_change(text: SpecificationText) -> None:
    old, new = (f"{OWN}\n```\nif a {sign} b: whisper()\n```\n" for sign in ("||", "&&"))
    (change,) = changes(named_sentences(read(old), text), named_sentences(read(new), text))
    assert change.kind == "changed" and change.text == "if a [-||-] {+&&+} b: whisper()"


def test_another_order_is_told(text: SpecificationText) -> None:
    old = "First it waits. Then it whispers. Then it sleeps. Last it wakes."
    new = "Then it whispers. Then it sleeps. First it waits. Last it wakes."
    (change,) = changes(named_sentences(read(old), text), named_sentences(read(new), text))
    assert (change.kind, change.text) == ("moved", "First it waits.")


@pytest.mark.parametrize(
    ("old", "new", "altered", "lost"),
    [
        ("may send at most ten", "may not send at most ten", ["gs1.2/idontwant.cap"], 1),
        ("MUST be\nskipped.", "MUST be\nskipped, unless it rains.", ["gs1.2/idontwant.skip"], 1),
        ("A peer may send at most ten whispers. ", "", [], 1),
        ("It is never loud.", "It is ever loud.", [], 0),
    ],
)
def test_what_a_clause_names_is_held_to_its_print(
    text: SpecificationText, old: str, new: str, altered: list[str], lost: int
) -> None:
    assert old in OWN
    found = report(read(OWN.replace(old, new)), text)
    assert [name for n in found.altered for name in n.names] == altered and len(found.lost) == lost
    assert not report(read(OWN), text).altered and not report(read(OWN), text).lost


def test_two_sentences_may_stand_as_one(text: SpecificationText) -> None:
    """A page drops what parts them; a third one in between is no part of either."""
    joined = OWN.replace("whispers. It must", "whispers it must")
    assert not report(read(joined), text).altered and not report(read(joined), text).lost
    assert report(read(joined.replace("whispers it", "whispers often it")), text).lost


def test_a_text_is_the_same_as_itself(text: SpecificationText) -> None:
    assert changes(named_sentences(read(OWN), text), named_sentences(read(OWN), text)) == ()


def test_the_case_of_a_demand_is_a_change(text: SpecificationText) -> None:
    (change,) = changes(named_sentences(read("It may be."), text), named_sentences(read("It MAY be."), text))
    assert change.text == "It [-may-] {+MAY+} be."


def test_a_piece_of_a_sentence_is_like_it() -> None:
    whole = words_of("First of all the peers MUST be skipped when it is dark outside")
    assert likeness(words_of("the peers MUST be skipped"), whole) == 1.0
    assert likeness(words_of("the peers may be skipped"), whole) == pytest.approx(0.8)
    assert likeness(words_of("nothing alike"), whole) == 0.0


def test_words_taken_out_and_put_in() -> None:
    assert word_diff("a b c", "a b c") == "a b c"
    assert word_diff("a b c", "a x c d") == "a [-b-] {+x+} c {+d+}"
    assert word_diff("", "a") == "{+a+}"


def test_what_came_between_the_sentences_of_a_quote_is_shown() -> None:
    parts = ["Old entries SHOULD be pruned.", "The prune strategy is open."]
    came = read("# T\n\nOld entries SHOULD be pruned. Ten of them stay. The prune strategy is open.")
    assert _change_of(parts, [came[0], came[2]], came) == (
        "Old entries SHOULD be pruned. {+Ten of them stay.+} The prune strategy is open."
    )
    assert _change_of(parts, [came[0], None], came).endswith("[-The prune strategy is open.-]")
    assert "now stands before it" in _change_of(parts[::-1], [came[2], came[0]], came)


def test_a_sentence_named_by_words_that_changed_is_changed(text: SpecificationText) -> None:
    other = OWN.replace("at most ten whispers", "at most six whispers").replace(
        "no more than that", "no more than it"
    )
    found = report(read(other), text)
    assert [each.names for each in found.altered] == [("gs1.2/idontwant.cap",)] * 2
    assert [each.changes for each in found.altered] == [
        ("at most [-ten-] {+six+} whispers",),
        ("no more than [-that-] {+it+}",),
    ]
    assert not found.removed and [s.text for s in found.unnamed] == ["It is never loud."]


def test_a_clause_is_changed_or_removed_and_not_both() -> None:
    table = TABLE.replace("[prose]", '"gs1.2/idontwant.skip" = ["ten whispers"]\n[prose]')
    own = parse("gossipsub-1.2", table, write_prints(read(OWN), parse("gossipsub-1.2", table, "")))
    found = report(read(OWN.replace("A peer may send at most ten whispers.", "It sends ten whispers.")), own)
    changed = {name for each in found.altered for name in each.names}
    assert changed == {"gs1.2/idontwant.skip"}
    assert [each.names for each in found.removed] == [("gs1.2/idontwant.cap",)]
