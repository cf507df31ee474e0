"""A finding becomes a case, and a case is replayed to the outcome that it recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import AdapterError, Config
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import CaseError
from quidnunc.model.events import (
    Advance,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Receive,
    Sent,
    Verdict,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Message, Prune, Subscribe
from quidnunc.properties.cases.case import STATUSES, Case, CaseBlock, CaseOutput, Misfit, events_of
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.play import ModelSubject, Opener, WireSubject, play

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=4, d_low=3, d_high=6, d_score=2, d_out=1)


def simulated(*quirks: str) -> Opener:
    """The model with `quirks` as a router."""
    protocol = SPEC
    for name in quirks:
        protocol = edit_named(name, SPEC).change(protocol)
    return lambda config: ModelSubject(protocol, config.parameters, config.seed)


def found(*quirks: str, events: Sequence[Event], excused: str = "") -> Finding:
    """What the last of `quirks` does at `events`, unshrunk, judged with the quirk `excused` in force."""
    rules = edit_named(excused, SPEC).change(SPEC) if excused else SPEC
    run = play(events, simulated(*quirks)(Config(parameters=SMALL)), rules, SMALL)
    departure = last_departures(run)[0]
    return Finding(tuple(events), tuple(run.moments), departure, (edit_named(quirks[-1], rules),))


def case_of(finding: Finding, **fields: object) -> Case:
    given: dict[str, object] = {
        "reason": "What happens.",
        "claim": "a.claim",
        "protocol": SPEC.name,
        "against": "ours",
        "parameters": SMALL,
    }
    return from_finding(finding, **{**given, **fields})  # type: ignore[arg-type]


SIX = (1, 2, 3, 4, 5, 6)
CROWDED: tuple[Event, ...] = (
    Connect(SIX),
    Join("t1"),
    Receive(SIX, (Graft("t1"),)),
    Advance(500),
)
"""A mesh of D_high: cut by a router that takes the bound for exclusive."""
REGRAFT: tuple[Event, ...] = (
    Connect((1, 2)),
    Receive((1, 2), (Subscribe("t1"),)),
    Join("t1"),
    Advance(1700),
    Receive((1,), (Prune("t1", 5),)),
    Advance(4600),
    Receive((1,), (Graft("t1"),)),
    Advance(200),
)
"""A GRAFT 400 ms before the end of the backoff."""
SILENT = "does-not-relay-accepted-messages"


PLAIN = Case(
    reason="What happens.",
    claim="a.claim",
    clause="gs1.1/backoff.regraft",
    protocols=SPEC.name,
    against="ours",
    blocks=(CaseBlock(REGRAFT),),
)


# -- findings -----------------------------------------------------------------------------------------------


def test_a_finding_becomes_a_case() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED), seed=0, found_by="a  search")
    assert (case.clause, case.quirk, case.found_by) == ("gs1.0/heartbeat.cut", "cut-at-d-high", "a search")
    assert parse(render(case, strict=True)) == case
    assert [block.departs for block in case.blocks] == [False, True]
    assert {each.side for each in case.blocks[-1].shown} == {"router"}
    assert len(case.blocks[-1].shown) == 2, "six members are cut to four"


def test_what_was_due_and_not_done_is_shown() -> None:
    case = case_of(found("backoff-in-whole-seconds", events=REGRAFT))
    assert case.quirk == "backoff-in-whole-seconds"
    assert [s.side for s in case.blocks[-1].shown] == ["model"]
    assert "- a: prune t1 backoff=60" in render(case)


def test_a_bad_choice_is_shown_with_what_was_chosen() -> None:
    case = case_of(
        found("does-not-fill-mesh-to-d-at-heartbeat", events=[Join("t1"), *REGRAFT[:2], Advance(500)])
    )
    misfits = [s.what for s in case.blocks[-1].shown if isinstance(s.what, Misfit)]
    assert [m.name for m in misfits] == ["mesh.fill"]
    assert parse(render(case)) == case


def test_quirks_in_force_are_kept_where_the_case_needs_them() -> None:
    plain = found("cut-at-d-high", events=CROWDED)
    assert case_of(plain, quirks_in_force=("iwant-unbounded",)).as_built == ()
    # The cut of nine members to four is announced without a backoff, and then some of them come back.
    nine = tuple(range(1, 10))
    grafts = Receive(nine, (Graft("t1"),))
    events = (Connect(nine, outbound=True), Join("t1"), grafts, Advance(500), grafts, Advance(1000))
    both = ("heartbeat-prunes-bare", "accepts-graft-inside-backoff")
    finding = found(*both, events=events, excused=both[0])
    case = case_of(finding, quirks_in_force=("iwant-unbounded", both[0]))
    assert case.as_built == (both[0],)
    assert parse(render(case)) == case
    assert replay_router(case, simulated(*both)).outcome == "same"
    assert replay_router(evolve(case, as_built=()), simulated(*both)).outcome == "different"
    # Without what the case excuses the router still departs as recorded; without either it conforms.
    assert replay_router(case, simulated(both[1])).outcome == "same"
    assert replay_router(case, simulated()).outcome == "fixed"


# -- replay -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "same", "fixed"),
    [
        ("open", "same", "fixed"),
        ("observed", "same", "fixed"),
        ("disputed", "same", "fixed"),
        ("fixed", "departs", "holds"),
        ("suite", "departs", "holds"),
    ],
)
def test_outcomes_follow_the_status(status: str, same: str, fixed: str) -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED), status=status)
    again = replay_router(case, simulated("cut-at-d-high"))
    assert (again.outcome, again.departs, again.at) == (same, True, len(events_of(case)) - 1)
    assert again.divergence.startswith("a..f: graft t1\nadvance 500ms\n----\n+ ")
    assert again.divergence.endswith(": prune t1 backoff=60")
    better = replay_router(case, simulated())
    assert (better.outcome, better.departs, better.at, better.divergence) == (fixed, False, None, "")
    assert again.as_expected != better.as_expected
    assert status in STATUSES


def test_another_failure_is_not_the_recorded_one() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    other = replay_router(case, simulated("does-not-announce-topic-that-it-joins"))
    assert other.outcome == "different"
    assert f"recorded: unexpected Prune ({case.clause})" in other.reason, "a clause that is in the file"
    # The same act at the same event, of another cause.
    regraft = case_of(found("backoff-in-whole-seconds", events=REGRAFT))
    assert replay_router(
        evolve(regraft, quirk="treats-graft-from-mesh-member-as-new-one"),
        simulated("backoff-in-whole-seconds"),
    ).outcome == ("different")


def test_a_recorded_quirk_that_does_not_explain_is_named() -> None:
    case = case_of(found("accepts-graft-inside-backoff", events=REGRAFT))
    result = replay_router(evolve(case, quirk="cut-at-d-high"), simulated("accepts-graft-inside-backoff"))
    assert result.outcome == "different"
    assert result.reason.endswith("; but the recorded quirk cut-at-d-high does not explain it")
    assert result.reason.count("missing Prune") == 1


def test_without_a_quirk_the_clause_decides() -> None:
    case = evolve(case_of(found("backoff-in-whole-seconds", events=REGRAFT)), quirk="")
    assert case.clause == "gs1.1/backoff.regraft"
    opener = simulated("backoff-in-whole-seconds")
    assert replay_router(case, opener).outcome == "same"
    assert replay_router(evolve(case, clause="gs1.0/heartbeat.cut"), opener).outcome == "different"


def test_rewriting_is_idempotent() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    opener = simulated("cut-at-d-high")
    assert replay_router(case, opener).rewritten == case
    one_block = evolve(case, blocks=(CaseBlock(events_of(case)),))
    once = replay_router(one_block, opener).rewritten
    assert [b.events for b in once.blocks] == [b.events for b in case.blocks]
    assert once == case
    assert replay_router(once, opener).rewritten == once


def test_rewriting_keeps_what_was_not_reached() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    after = CaseBlock((Advance(1000),), (CaseOutput("both", Sent(1, Graft("t1"))),))
    rewritten = replay_router(
        evolve(case, blocks=(*case.blocks, after)), simulated("cut-at-d-high")
    ).rewritten
    assert rewritten.blocks == (*case.blocks, CaseBlock((Advance(1000),)))


def test_a_case_that_cannot_happen_tells_nothing() -> None:
    case = evolve(PLAIN, blocks=(CaseBlock((Receive((1,), (Graft("t1"),)),)),), status="suite")
    result = replay_router(case, simulated())
    assert result.outcome == "inconclusive"
    assert "`a: graft t1` could not happen" in result.reason
    assert not result.as_expected


def test_what_is_still_owed_at_the_end_is_not_known_to_come() -> None:
    m1 = Message("m1", "t1", 9)
    joined = (*REGRAFT[:2], Join("t1"), Advance(500))
    case = case_of(found(SILENT, events=(*joined, Receive((1,), (m1,)), Advance(1000))))
    *early, _ = events_of(case)
    missing = CaseOutput("model", Sent(2, m1))
    for quirks in ([], [SILENT]):
        open_ended = evolve(case, blocks=(CaseBlock(tuple(early), (missing,)),))
        result = replay_router(open_ended, simulated(*quirks))
        assert (result.outcome, result.departs) == ("inconclusive" if quirks else "fixed", False)
    assert "`b: message m1 t1 by i` was still owed when the case ended" in result.reason
    fixed = evolve(case, status="fixed", blocks=(CaseBlock(tuple(early)),))
    assert replay_router(fixed, simulated(SILENT)).outcome == "inconclusive"


def test_a_fixed_case_in_which_its_claim_never_applied_says_nothing() -> None:
    early = REGRAFT[:3]
    fixed = evolve(PLAIN, claim="backoff.regraft-refused", status="fixed", blocks=(CaseBlock(early),))
    result = replay_router(fixed, simulated())
    assert (result.outcome, result.departs) == ("inconclusive", False)
    assert "the claim backoff.regraft-refused never applied" in result.reason
    whole = evolve(fixed, blocks=(CaseBlock(REGRAFT),))
    assert replay_router(whole, simulated()).outcome == "holds"
    crowded = evolve(
        fixed,
        claim="mesh.ceiling",
        clause="gs1.0/heartbeat.cut",
        parameters=SMALL,
        blocks=(CaseBlock(CROWDED),),
    )
    assert replay_router(crowded, simulated()).outcome == "inconclusive"
    told = evolve(crowded, quirk="cut-at-d-high")
    assert replay_router(told, simulated()).outcome == "holds", "a router with the quirk would have departed"


def test_a_case_of_which_one_event_cannot_happen_tells_nothing() -> None:
    # Peer c never connected; without that event the case holds.
    events = (Connect((1, 2)), Receive((3,), (Prune("t1", None),)), Advance(1000))
    for status in ("open", "suite"):
        case = evolve(PLAIN, blocks=(CaseBlock(events),), status=status)
        result = replay_router(case, simulated())
        assert (result.outcome, result.departs) == ("inconclusive", False)
        assert "`c: prune t1` could not happen" in result.reason


def test_what_a_mended_router_makes_impossible_is_no_fault_of_the_case() -> None:
    # A verdict on what is not handed over.
    events = (Connect((1, 2)), Join("t1"), Verdict("m1", "accept"), Leave("t1"), Advance(1000))
    case = evolve(PLAIN, blocks=(CaseBlock(events),), status="suite")
    assert replay_router(case, simulated()).outcome == "holds"
    left = evolve(case, blocks=(CaseBlock((Connect((1,)), Leave("t1"), Advance(1000))),))
    assert "`leave t1` could not happen" in replay_router(left, simulated()).reason
    gone = (Connect((1,)), Disconnect((1,)), Receive((1,), (Prune("t1", None),)), Advance(1000))
    assert replay_router(evolve(case, blocks=(CaseBlock(gone),)), simulated()).outcome == "inconclusive"


def test_replay_under_another_protocol() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    built = edit_named("cut-at-d-high", SPEC).change(SPEC)
    assert replay_router(case, simulated("cut-at-d-high"), built).outcome == "fixed"


def test_an_unknown_quirk_in_force_is_an_error_of_the_case() -> None:
    case = evolve(PLAIN, path="a.case", as_built=("no-such-quirk",))
    with pytest.raises(CaseError, match=r"a\.case: .*no edit 'no-such-quirk'"):
        replay_router(case, simulated())


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize(
    ("additions", "said"),
    [({}, "; it adds nothing"), ({"floods": "Floods."}, r" \(did you mean floods\?\)")],
)
def test_what_a_router_does_not_add_cannot_be_off(
    refuses: bool, additions: dict[str, str], said: str
) -> None:
    def opener(config: Config) -> ModelSubject:
        if refuses and config.without:
            raise AdapterError("no such addition")
        subject = simulated()(config)
        assert isinstance(subject, ModelSubject)
        subject.hello = evolve(subject.hello, additions=additions)
        return subject

    case = evolve(PLAIN, profile="shipped", without=("flods",), path="a.case")
    with pytest.raises(
        CaseError, match=f"a.case: without: model has no addition 'flods' to switch off{said}"
    ):
        replay_router(case, opener)
    if additions and not refuses:
        known = evolve(case, without=("floods",))
        assert replay_router(known, opener).outcome == "fixed"


def test_what_has_no_bytes_is_an_error_of_the_case() -> None:
    sender = evolve(
        PLAIN,
        path="a.case",
        parameters=SMALL,
        blocks=(
            CaseBlock((Connect((1,)), Join("t1"), Receive((1,), (Message("m1", "t1", 1, 0, "stamped"),)))),
        ),
    )
    with pytest.raises(CaseError, match=r"a\.case: `a: message m1 t1 stamped`: flaw 'stamped'"):
        replay_router(sender, lambda config: WireSubject(open_ours(config), config))


def test_our_router_holds_what_the_model_expects() -> None:
    case = case_of(found("backoff-in-whole-seconds", events=REGRAFT), status="suite")
    result = replay_router(case, lambda config: WireSubject(open_ours(config), config))
    assert result.outcome == "holds"
    assert "  a: prune t1 backoff=60" in render(result.rewritten)


def test_the_example_of_the_documentation() -> None:
    page = Path(__file__).parents[3] / "docs" / "cases.md"
    _, _, after = page.read_text(encoding="utf-8").partition("```case\n")
    text, _, _ = after.partition("```")
    case = parse(text)
    assert render(case, strict=True) == text
    assert replay_router(case, simulated("backoff-in-whole-seconds")).outcome == "same"
    assert replay_router(case, simulated()).outcome == "fixed"
