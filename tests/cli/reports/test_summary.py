"""A report ends with the most telling root causes, in words and with a command each."""

from __future__ import annotations

from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named, edits_of, rules_changed
from quidnunc.model.events import Join
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case, CaseBlock
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.rows import RootCause
from quidnunc.reports.summary import (
    ProtocolRows,
    RootKey,
    causes_text,
    most_telling,
    summary_lines,
    verdict_counts,
)


def root(
    clause: str, quirk: str, *, kind: str = "dropped", events: int = 2, passes: bool | None = True
) -> RootCause:
    case = Case(
        reason=f"Does {quirk} (peer a).",
        claim="a.claim",
        clause=clause,
        protocols="gossipsub-1.2",
        against="ours",
        blocks=(CaseBlock(tuple(Join(f"t{n}") for n in range(events))),),
    )
    return RootCause(clause, quirk, kind, "Says.", case, holds_on_ours=passes)


READING = root("gs1.0/mesh.members", "reading-of-it", kind="reading", events=1)
SHOULD = root("gs1.1/backoff.unsubscribe", "a-should", events=1)
LONG, SHORT = root("gs1.0/relay.seen", "long", events=5), root("gs1.0/relay.mesh", "short", events=3)
NAMELESS = root("gs1.0/graft.accept", "unexplained:missing", kind="unexplained", events=1)
EITHER = root("gs1.0/relay.own", "this; or does that", events=1)
OURS = root("gs1.0/prune.remove", "kit", events=9, passes=False)


def keyed(*roots: RootCause) -> dict[RootKey, RootCause]:
    return {(each.clause, each.quirk): each for each in roots}


def campaign_of(*roots: RootCause) -> Campaign:
    return Campaign("gossipsub-1.2", "py-libp2p", 0, runs=7, steps=70, roots=keyed(*roots))


def summary(campaign: Campaign, paths: dict[RootKey, str], writes: str = "quidnunc check") -> list[str]:
    return list(summary_lines([ProtocolRows(campaign, campaign.rows, paths)], writes))


def test_the_worst_the_named_and_the_short_come_first() -> None:
    found = most_telling(keyed(READING, SHOULD, EITHER, LONG, SHORT, NAMELESS, OURS))
    assert [each for _, each in found] == [OURS, SHORT, LONG, EITHER, NAMELESS, SHOULD, READING]


def test_a_case_that_breaks_the_sentence_of_its_cause_comes_before_a_shorter_one() -> None:
    own = evolve(LONG, case=evolve(LONG.case, argument=f"{LONG.clause} (gossipsub-1.0): So it is."))
    crash = root("pubsub/rpc.any-combination", "crash:KeyError: 't'", events=4)
    found = most_telling(keyed(own, SHORT, crash, EITHER))
    assert [each for _, each in found] == [crash, own, SHORT, EITHER]


def test_verdicts_are_counted_the_worst_first() -> None:
    assert (
        verdict_counts(["observed", "fails", "not-refuted", "fails"]) == "2 fails, 1 observed, 1 not-refuted"
    )


def test_five_are_told_each_with_its_command() -> None:
    longer = (root("gs1.0/prune.remove", "longer", events=6), root("gs1.0/graft.accept", "longest", events=7))
    campaign = campaign_of(READING, SHOULD, LONG, SHORT, *longer)
    paths = {(SHORT.clause, SHORT.quirk): "found/short.case"}
    lines = summary(campaign, paths, "quidnunc check ... --cases found")
    assert lines == [
        "gossipsub-1.2 against py-libp2p: 6 root causes (4 fails, 1 deviates, 1 observed); the most telling:",
        "",
        "1. Does short (peer a).",
        "   fails, gs1.0/relay.mesh, 3 events",
        "   quidnunc replay found/short.case",
        "",
        "2. Does long (peer a).",
        "   fails, gs1.0/relay.seen, 5 events",
        "",
        "3. Does longer (peer a).",
        "   fails, gs1.0/prune.remove, 6 events",
        "",
        "4. Does longest (peer a).",
        "   fails, gs1.0/graft.accept, 7 events",
        "",
        "5. Does a-should (peer a).",
        "   deviates, gs1.1/backoff.unsubscribe, 1 event",
        "",
        "1 more: --verbose lists them",
        "each as a case that can be replayed: quidnunc check ... --cases found",
    ]


def test_what_is_undecided_is_no_root_cause() -> None:
    assert causes_text(["fails", "undecided", "fails", "undecided"]) == (
        "2 root causes (2 fails) and 2 departures of unknown cause (2 undecided)"
    )
    assert causes_text(["undecided"]) == "0 root causes and 1 departure of unknown cause (1 undecided)"
    late = root("gs1.0/relay.seen", "unexplained:late", kind="pending")
    campaign = campaign_of(SHORT, late)
    first, *_ = summary(campaign, {})
    assert "1 root cause (1 fails) and 1 departure of unknown cause" in first


def test_where_nothing_was_found_the_runs_are_told() -> None:
    campaign = campaign_of()
    assert summary(campaign, {}) == ["gossipsub-1.2 against py-libp2p: no counterexample in 7 runs"]
    idle = Campaign("dog", "ours", 0)
    assert summary(idle, {}) == ["dog against ours: nothing was played"]


def test_a_driver_that_broke_is_told_first() -> None:
    broke = campaign_of()
    broke.runs = broke.steps = 2
    broke.broken.append("no answer")
    (line,) = summary(broke, {})
    assert line.endswith("the driver broke; no counterexample in 2 runs before")


def test_a_part_that_broke_is_told_before_what_the_others_found() -> None:
    broke = campaign_of(SHORT)
    broke.runs = broke.steps = 2
    broke.broken.append("no answer")
    first, what, *_ = summary(broke, {})
    assert first == "gossipsub-1.2: 1 part of this search broke; 2 runs ended. The first that broke:"
    assert what.strip() == "no answer"


def test_the_events_of_a_crash_are_not_in_a_public_case() -> None:
    crash = root("pubsub/rpc.any-combination", "crash:ValueError in parse", kind="unexplained")
    campaign = campaign_of(crash)
    lines = summary(campaign, {})
    assert lines[2] == "1. Crashes: ValueError in parse."
    assert lines[-1] == "--private DIR writes the events of the crash"
    assert not any("can be replayed" in line for line in lines)


def test_a_disputed_sentence_is_said_to_be_one() -> None:
    campaign = campaign_of(root("gs1.0/ihave.any-topic", "asks-in-own-topics", events=1), SHORT)
    lines = summary(campaign, {})
    assert [line.split(":")[0] for line in lines if "disputed" in line] == ["   the sentence is disputed"]


def test_what_was_off_and_what_explains_it_next_best_are_told() -> None:
    told = evolve(SHORT, quirk="unknown-topic-graft-pruned", also=("cut-at-d-high", "heartbeat-prunes-bare"))
    told = evolve(told, case=evolve(told.case, without=("score-cache", "publish-to-d")))
    lines = summary(campaign_of(told), {})
    assert "   fails, gs1.0/relay.mesh, 3 events, with score-cache, publish-to-d off" in lines
    assert "   next best: Cuts its mesh at D_high, not above it." in lines
    assert not [line for line in summary(campaign_of(SHORT), {}) if " off" in line or "next best" in line]
    # Of the same rules it says the same in other words.
    spec = protocol_named(told.case.protocol)
    rules = rules_changed(edit_named(told.quirk, spec), spec)
    like = next(e.name for e in edits_of(spec) if rules_changed(e, spec) == rules and e.name != told.quirk)
    assert not [line for line in summary(campaign_of(evolve(told, also=(like,))), {}) if "next best" in line]
    # A reading and an addition are no fault that another one could be in the place of.
    for kind in ("reading", "addition"):
        assert not [line for line in summary(campaign_of(evolve(told, kind=kind)), {}) if "next best" in line]


def test_a_cause_that_shows_under_several_protocols_is_one() -> None:
    early, late = Campaign("floodsub", "ours", 0, runs=5, steps=9), campaign_of(SHORT, SHOULD)
    other = Campaign("gossipsub-1.1", "ours", 0, runs=7, steps=7)
    elsewhere = root("gs1.1/relay.mesh", "short", events=2)
    other.roots = keyed(elsewhere)
    results = [ProtocolRows(each, each.rows, {}) for each in (early, other, late)]
    lines = list(summary_lines(results, "quidnunc check auto"))
    assert lines[:5] == [
        "no counterexample in 5 runs: floodsub",
        "3 protocols against ours: 2 root causes (1 fails, 1 deviates):",
        "",
        "1. Does short (peer a).",
        "   fails, gs1.1/relay.mesh, 2 events",
    ]
    assert lines[5] == "   under gossipsub-1.1, gossipsub-1.2"
    assert sum("can be replayed" in line for line in lines) == 1


def test_departures_of_unknown_cause_under_two_sentences_are_two() -> None:
    one = root("gs1.0/graft.accept", "unexplained:missing", kind="unexplained")
    two = root("gs1.0/relay.seen", "unexplained:missing", kind="unexplained")
    first, second = campaign_of(one), campaign_of(two)
    lines = list(summary_lines([ProtocolRows(each, each.rows, {}) for each in (first, second)], ""))
    assert lines[0].startswith("2 protocols against py-libp2p: 2 root causes")
