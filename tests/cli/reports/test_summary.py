"""A report ends with the most telling root causes, in words and with a command each."""

from __future__ import annotations

from quidnunc.model.events import Join
from quidnunc.properties.cases.case import Case, CaseBlock
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.rows import RootCause
from quidnunc.reports.summary import RootKey, causes_text, most_telling, summary_lines, verdict_counts


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


def test_the_worst_the_named_and_the_short_come_first() -> None:
    found = most_telling(keyed(READING, SHOULD, EITHER, LONG, SHORT, NAMELESS, OURS))
    assert [each for _, each in found] == [OURS, SHORT, LONG, EITHER, NAMELESS, SHOULD, READING]


def test_verdicts_are_counted_the_worst_first() -> None:
    assert (
        verdict_counts(["observed", "fails", "not-refuted", "fails"]) == "2 fails, 1 observed, 1 not-refuted"
    )


def test_three_are_told_each_with_its_command() -> None:
    campaign = campaign_of(READING, SHOULD, LONG, SHORT)
    paths = {(SHORT.clause, SHORT.quirk): "found/short.case"}
    lines = list(summary_lines(campaign, campaign.rows, paths, "quidnunc check ... --cases found"))
    assert lines == [
        "gossipsub-1.2 against py-libp2p: 4 root causes (2 fails, 1 deviates, 1 observed); the most telling:",
        "",
        "1. Does short (peer a).",
        "   fails, gs1.0/relay.mesh, 3 events",
        "   quidnunc replay found/short.case",
        "",
        "2. Does long (peer a).",
        "   fails, gs1.0/relay.seen, 5 events",
        "",
        "3. Does a-should (peer a).",
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
    first, *_ = summary_lines(campaign, campaign.rows, {}, "")
    assert "1 root cause (1 fails) and 1 departure of unknown cause" in first


def test_where_nothing_was_found_the_runs_are_told() -> None:
    campaign = campaign_of()
    assert list(summary_lines(campaign, {}, {}, "")) == [
        "gossipsub-1.2 against py-libp2p: no counterexample in 7 runs"
    ]
    idle = Campaign("dog", "ours", 0)
    assert list(summary_lines(idle, {}, {}, "")) == ["dog against ours: nothing was played"]


def test_a_driver_that_broke_is_told_first() -> None:
    broke = campaign_of()
    broke.runs = broke.steps = 2
    broke.broken.append("no answer")
    (line,) = summary_lines(broke, {}, {}, "")
    assert line.endswith("the driver broke; no counterexample in 2 runs before")


def test_the_events_of_a_crash_are_not_in_a_public_case() -> None:
    crash = root("pubsub/rpc.any-combination", "crash:ValueError in parse", kind="unexplained")
    campaign = campaign_of(crash)
    lines = list(summary_lines(campaign, campaign.rows, {}, "quidnunc check"))
    assert lines[2] == "1. Crashes: ValueError in parse."
    assert lines[-1] == "--private DIR writes the events of the crash"
    assert not any("can be replayed" in line for line in lines)


def test_a_disputed_sentence_is_said_to_be_one() -> None:
    campaign = campaign_of(root("gs1.0/ihave.any-topic", "asks-in-own-topics", events=1), SHORT)
    lines = list(summary_lines(campaign, campaign.rows, {}, "quidnunc check"))
    assert [line.split(":")[0] for line in lines if "disputed" in line] == ["   the sentence is disputed"]
