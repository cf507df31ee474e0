"""Headlines and names of edits are words: nobody needs the names of rules and fields to read them."""

from __future__ import annotations

import re

import pytest
from attrs import fields

from quidnunc.model.edit import FORMS, as_name, asking_words, when_words
from quidnunc.model.edits.catalogue import edits_of
from quidnunc.model.edits.operators import words
from quidnunc.model.edits.operators.catalogue import FAMILIES, SETS_OF_A_TOPIC, STATE_FIELDS, operated
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Exclusion, FirstMatch, Phases, Protocol, rule

EVERY = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())
OF_THE_TEXT = re.compile(r"\b(D_(low|high|score|out|lazy)|mcache_(len|gossip)|(seen|fanout)_ttl)\b")
"""Parameters that the specification itself names with an underscore."""
HEADLINE = re.compile(r"[A-Z][^\n]+[^.,\s]\.")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def wrong(said: str) -> str:
    if not HEADLINE.fullmatch(said):
        return "is no sentence"
    return "has a name of the kit in it" if re.search(r"[_`]", OF_THE_TEXT.sub("", said)) else ""


AFTER_ALL = " after all else at the heartbeat."


@EVERY
def test_each_headline_is_a_sentence_without_names_of_the_kit(protocol: Protocol) -> None:
    edits = [*edits_of(protocol), *(made.edit for made in operated(protocol).values())]
    assert len(edits) > len(FORMS)
    assert [(e.name, e.says, wrong(e.says)) for e in edits if wrong(e.says)] == []


@EVERY
def test_each_headline_of_an_operator_says_when(protocol: Protocol) -> None:
    when = {each.name: (when_words(each), asking_words(each)) for _, each in protocol.rules()}
    made = operated(protocol)
    forgets = [m.edit.says for name, m in made.items() if "-forgets-" in name]
    assert all(re.fullmatch(r"Forgets .+ (when .+|at each heartbeat)\.", says) for says in forgets)
    others = ("-also-", "-forgets-")
    ends = [m for name, m in made.items() if len(m.rules) == 1 and not any(w in name for w in others)]
    # Of a rule that drops a message, what comes of a flaw that is overlooked is said; of one counter that is
    # taken for another, the counter is.
    in_full = ("Takes a message with ", "Weighs ", "Caps ", "Decays ")
    told = [m for m in ends if not m.edit.says.startswith(in_full)]
    ordered = [m for m in told if m.edit.says.endswith((" before all else at the heartbeat.", AFTER_ALL))]
    assert bool(ordered) == ("graft" in protocol.handlers)
    whens = [m for m in told if m not in ordered]
    assert whens and all(m.edit.says.endswith(when[m.rules[0]]) for m in whens)
    own = ("everywhere-in-", "everywhere-published-", "everywhere-passed-on-", "earlier-")
    wide = [m for name, m in made.items() if len(m.rules) > 1 and not name.startswith(own)]
    assert wide and all(m.edit.says.endswith(", wherever it matters.") for m in wide)
    assert not [m.edit.says for m in wide if ",," in m.edit.says]
    published = [m.edit.says for name, m in made.items() if name.startswith("everywhere-published-")]
    assert all(
        says.startswith(("Publishes messages with ", "Publishes messages whose ")) and says.endswith(".")
        for says in published
    )
    assert bool(published) == (protocol.family == "pubsub")
    answers = tuple(f" when it handles {said}." for said in words.ANSWERS.values())
    answers += tuple(f" from {said}." for said, _ in FAMILIES[protocol.family].whom.values())
    answers += (" as seen before it looks at it.",)
    sets = tuple(f" out of {said}." for said in (*words.SETS.values(), *words.SUMS.values()))
    handlers = [m for name, m in made.items() if name.startswith("everywhere-in-")]
    judged = tuple(f"Treats as {said} the messages " for said in words.AS_JUDGED.values())
    assert all(m.edit.says.endswith((*answers, *sets)) or m.edit.says.startswith(judged) for m in handlers)


@EVERY
def test_each_name_is_words_and_means_one_edit(protocol: Protocol) -> None:
    names = [e.name for e in edits_of(protocol)]
    assert [name for name in names if not (NAME.fullmatch(name) or name == "integers")] == []
    assert len({*names, *operated(protocol)}) == len(names) + len(operated(protocol))


@pytest.mark.parametrize(
    "said", ["", "sends nothing.", "Sends nothing", "Ignores known_bounds.", "Uses `d`."]
)
def test_what_is_no_such_headline_is_noticed(said: str) -> None:
    assert wrong(said)


def test_a_name_is_the_sentence_to_its_first_comma_without_articles() -> None:
    assert as_name("Accepts a GRAFT inside the backoff.") == "accepts-graft-inside-backoff"
    assert (
        as_name("Counts IHAVE over all heartbeats, not anew in each.") == "counts-ihave-over-all-heartbeats"
    )
    assert as_name("Leaves the user's part (P5) out of D_out.") == "leaves-users-part-out-of-d-out"


def test_a_rule_without_words_is_called_by_its_name() -> None:
    @rule("mine/quiet")
    def quiet_one(r: object, what: object, choose: object) -> None:
        return None

    named = {form: made.name(quiet_one) for form, made in FORMS.items()}
    assert named == {
        "without": "without-quiet-one",
        "may": "sometimes-without-quiet-one",
        "later": "late-quiet-one",
    }
    assert FORMS["later"].says(quiet_one) == (
        "Does two steps in the wrong order when it follows mine/quiet: the next one comes first."
    )


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_parameter_and_field_has_words(family: str) -> None:
    kept = {
        each.name for each in fields(FAMILIES[family].parameters) if isinstance(each.default, int | frozenset)
    }
    assert kept and not kept - words.PARAMETERS.keys()
    assert words.STATE[family].keys() == STATE_FIELDS[family]


def test_every_set_and_exclusion_has_words() -> None:
    known = {name: c for p in PROTOCOLS.values() for name, c in p.handlers.items()}
    assert {*SETS_OF_A_TOPIC} <= words.SETS.keys()
    assert all(isinstance(known[name], Exclusion) for name in words.SETS)
    assert all(isinstance(known[name], FirstMatch | Phases) for name in words.ANSWERS)
    found = [protocol.handlers.get(name) for protocol in PROTOCOLS.values() for name in SETS_OF_A_TOPIC]
    excluding = {each.name for one in found if isinstance(one, Exclusion) for each in one.exclusions}
    assert excluding == words.EXCLUDED.keys()


@pytest.mark.parametrize(
    ("protocol", "name", "said"),
    [
        (
            "gossipsub-1.2",
            "gossip-adaptively-mcache-gossip-as-mcache-len",
            "Uses mcache_len instead of mcache_gossip when it gossips at the heartbeat.",
        ),
        (
            "gossipsub-1.2",
            "bare-prune-members",
            "Leaves the backoff and the offered peers out of PRUNE "
            "when it prunes the mesh of a topic that it leaves.",
        ),
        (
            "gossipsub-1.2",
            "while-backing-off-prune-backoff-s-as-one-less",
            "Uses the prune backoff minus a second when it handles a GRAFT inside the backoff.",
        ),
        (
            "gossipsub-1.2",
            "silent-while-backing-off",
            "Sends nothing when it refuses a GRAFT inside the backoff.",
        ),
        (
            "gossipsub-1.2",
            "gossip-candidates-also-backing-off",
            "Leaves peers in backoff out of the peers that it gossips to.",
        ),
        (
            "gossipsub-1.2",
            "dial-explicit-explicit-peers-as-default",
            "Ignores the list of explicit peers when it dials its explicit peers.",
        ),
        (
            "dog",
            "forget-routes-keeps-routes",
            "Does not update which routes are disabled when it forgets the "
            "routes of a peer that disconnects.",
        ),
    ],
)
def test_headlines_as_they_read(protocol: str, name: str, said: str) -> None:
    assert operated(PROTOCOLS[protocol])[name].edit.says == said
