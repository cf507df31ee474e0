"""What became of a quote, and what changed between two revisions."""

from __future__ import annotations

import pytest

from quidnunc.properties.clause_compare import changes, likeness, report, word_diff
from quidnunc.properties.clause_names import Text, named, parse, write_prints
from quidnunc.properties.clause_text import read, words_of
from tests.properties.test_clause_names import OWN, TABLE

SKIP = """\
When later relaying the messageId message to the mesh the peers found in `dont_send_message_ids` MUST be
skipped."""


@pytest.fixture
def text() -> Text:
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
def test_the_fate_of_a_quote(text: Text, edited: str, fate: str) -> None:
    (quote,) = report(read(edited), text).quotes
    assert (quote.clause, quote.fate) == ("gs1.2/idontwant.skip", fate)
    assert bool(quote.line) == (fate != "gone")


def test_a_changed_quote_shows_the_words(text: Text) -> None:
    (quote,) = report(read(OWN.replace("MUST be", "could be")), text).quotes
    assert "[-MUST-] {+could+} be skipped." in quote.change
    assert quote.heading == "Skipping"


def test_how_much_is_known_and_what_is_unnamed(text: Text) -> None:
    same = report(read(OWN), text)
    assert same.known == 1.0 and [s.text for s in same.unnamed] == ["It is never loud."]
    more = report(read(OWN + "\nA new peer MUST wave.\n"), text)
    assert more.known == pytest.approx(5 / 6)
    assert [s.text for s in more.unnamed] == ["It is never loud.", "A new peer MUST wave."]


def test_every_changed_sentence_is_listed(text: Text) -> None:
    new = (
        OWN.replace("MUST be", "may be")
        .replace("It is never loud.", "")
        .replace("# Whispers\n", "# Whispers\n\nA head.\n")
        .replace("A peer may send at most ten whispers. ", "")
    )
    new += "\n## Elsewhere\n\nA peer may send at most ten whispers.\n"
    found = changes(named(read(OWN), text), named(read(new), text))
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


def test_a_text_is_the_same_as_itself(text: Text) -> None:
    assert changes(named(read(OWN), text), named(read(OWN), text)) == ()


def test_the_case_of_a_demand_is_a_change(text: Text) -> None:
    (change,) = changes(named(read("It may be."), text), named(read("It MAY be."), text))
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
