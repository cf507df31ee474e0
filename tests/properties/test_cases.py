"""Cases read what they wrote, say where they are wrong, and are replayed to the outcome they recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings

from quidnunc.impl.ours import open_ours
from quidnunc.impl.seam import Config
from quidnunc.model.errors import CaseError
from quidnunc.model.events import Advance, Connect, Event, Join, Receive, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.quirks import quirk_named
from quidnunc.model.rpc import Graft, Message, Prune, Subscribe
from quidnunc.properties.case_file import MAX_BYTES, MAX_LINES, STATUSES, Block, Misfit, Shown
from quidnunc.properties.cases import (
    Case,
    events_of,
    from_finding,
    load,
    parameters_of,
    parse,
    render,
    replay,
    router_of,
)
from quidnunc.properties.explain import Finding, last_departures
from quidnunc.properties.play import Opener, Simulated, Wire, play
from tests.properties.case_values import cases

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=4, d_low=3, d_high=6, d_score=2, d_out=1)

TEXT = """\
A GRAFT inside the backoff is refused
with a PRUNE.

format: 1
claim: backoff.regraft-refused
clause: gs1.1/backoff.regraft
protocol: gossipsub-1.2
against: py-libp2p 0.8.1
status: open
quirk: backoff-in-whole-seconds
argument: the sentence says MUST
  and names no rounding
parameters: D=4 D_low=3 explicit=b,e message_id=content flood_publish=no
reproduced: 2/3

connect a..d /meshsub/1.2.0 outbound
a..d: subscribe t1
join t1
----
  a..d: graft t1

a: prune t1 backoff=5
----

a: graft t1
----
- a: prune t1 backoff=60
+ a: prune t1
"""


def simulated(*quirks: str) -> Opener:
    """The model with `quirks` as a router."""
    protocol = SPEC
    for name in quirks:
        protocol = quirk_named(name, SPEC).edit(protocol)
    return lambda config: Simulated(protocol, config.parameters, config.seed)


def found(*quirks: str, events: Sequence[Event], excused: str = "") -> Finding:
    """What the last of `quirks` does at `events`, unshrunk, judged with the quirk `excused` in force."""
    rules = quirk_named(excused, SPEC).edit(SPEC) if excused else SPEC
    run = play(events, simulated(*quirks)(Config(parameters=SMALL)), rules, SMALL)
    departure = last_departures(run)[0]
    return Finding(tuple(events), tuple(run.moments), departure, (quirk_named(quirks[-1], rules),))


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


# -- text ---------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(cases())
def test_cases_round_trip(case: Case) -> None:
    text = render(case)
    assert parse(text) == case
    assert render(parse(text)) == text


def test_a_case_reads_as_it_is_written() -> None:
    case = parse(TEXT, path="a.case")
    assert case.path == "a.case"
    assert case.reason == "A GRAFT inside the backoff is refused with a PRUNE."
    assert case.argument == "the sentence says MUST and names no rounding"
    assert case.reproduced == (2, 3)
    assert case.seed == 0
    assert parameters_of(case) == Parameters(
        d=4, d_low=3, explicit_peers=frozenset({2, 5}), message_id="content", flood_publish=False
    )
    assert events_of(case)[-1] == Receive((1,), (Graft("t1"),))
    assert [block.departs for block in case.blocks] == [False, False, True]
    assert [each.side for each in case.blocks[2].shown] == ["model", "router"]


def test_writing_is_idempotent_and_normalises() -> None:
    text = render(parse(TEXT.replace("\n\na: prune", "\n\n\n\na:   prune").replace("a..d", "a,b,c..d")))
    assert render(parse(text)) == text
    assert "\n\na: prune t1 backoff=5\n----\n\n" in text
    assert "connect a..d /meshsub/1.2.0 outbound\n" in text


def test_a_mempool_case() -> None:
    text = TEXT.replace("gossipsub-1.2", "dog").replace(
        "D=4 D_low=3 explicit=b,e message_id=content flood_publish=no", "pool_size=3"
    )
    head, _, _ = text.partition("connect")
    case = parse(
        head
        + "connect a,b mempool\nsubmit x1\na: tx x2; havetx x1; resetroute\nadjust\ncommit x1\n"
        + "----\n  b: tx x2\n"
    )
    assert parameters_of(case) == DogParameters(pool_size=3)
    assert parse(render(case)) == case


@pytest.mark.parametrize(
    ("against", "router"),
    [
        ("any", "ours"),
        ("ours:no-backoff", "ours:no-backoff"),
        ("py-libp2p 0.8.1", "py-libp2p"),
        ("exec:node driver.mjs --quiet", "exec:node driver.mjs --quiet"),
    ],
)
def test_the_router_that_a_case_names(against: str, router: str) -> None:
    assert router_of(evolve(parse(TEXT), against=against)) == router


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format: 1", "format: 2", "a.case:4: expected `format: 1`, got '2'"),
        ("format: 1\n", "", "a.case:4: expected a value for 'format'"),
        ("claim: backoff.regraft-refused", "claim:", "a.case:5: expected a value for 'claim'"),
        ("clause:", "cluase:", "a.case:6: expected a field of a case, got 'cluase'; did you mean 'clause'"),
        ("clause:", "nonsense:", "there are format, claim"),
        ("quirk:", "claim:", "a.case:10: expected 'claim' once, got it again (line 5)"),
        ("protocol: gossipsub-1.2", "protocol: gossip", "a.case:7: no protocol 'gossip'; there are floodsub"),
        ("status: open", "status: closed", "a.case:9: expected a status: open or fixed"),
        ("status: open", "status open", "a.case:9: expected a field (`name: value`), got 'status open'"),
        ("D=4", "D=0", "a.case:13: need 0 <= D_low"),
        ("D=4", "D=four", "a.case:13: expected D: a whole number"),
        ("D=4", "d=4", "did you mean"),
        ("D=4", "D=4 D=5", "a.case:13: expected D once"),
        ("message_id=content", "message_id=random", "expected message_id: origin or content"),
        ("flood_publish=no", "flood_publish=False", "expected flood_publish: yes or no, got 'False'"),
        ("flood_publish=no", "gossip_factor=lots", "expected gossip_factor: a number"),
        ("2/3", "4/3", "a.case:14: expected K/N"),
        ("2/3", "2", "a.case:14: expected how many tries"),
        ("join t1", "jion t1", "a.case:18: expected an event (connect"),
        ("  a..d: graft t1", " a..d: graft t1", "a.case:20: expected an output behind two spaces"),
        ("- a: prune", "- a: pruned", "a.case:27: expected a part"),
        ("+ a: prune t1", "+ choice", "a.case:28: expected an output (deliver"),
        ("+ a: prune t1", "+ choice mesh.fill", "a.case:28: expected `choice NAME: REASON`"),
        ("\n----\n\na: graft", "\n\na: graft", "a.case:22: expected `----` after the events"),
        ("connect a..d", "----\nconnect a..d", "a.case:16: expected an event"),
    ],
)
def test_errors_name_the_line_and_what_was_expected(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(CaseError) as caught:
        parse(TEXT.replace(old, new, 1), path="a.case")
    assert said in str(caught.value)
    assert str(caught.value).startswith("a.case:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t:1: expected the reason"),
        ("format: 1\nclaim: x\n", "t:1: expected the reason"),
        ("A reason.\n", "t:2: expected front matter"),
        (TEXT[: TEXT.index("connect")], "t:16: expected a block"),
        ("x" * (MAX_BYTES + 1), "t:1: expected at most 256 KiB"),
        ("\n" * (MAX_LINES + 1), f"t:{MAX_LINES + 1}: expected at most {MAX_LINES} lines"),
    ],
)
def test_what_is_no_case_at_all(text: str, said: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse(text, path="t")
    assert str(caught.value).startswith(said)


def test_loading_names_the_file(tmp_path: Path) -> None:
    good = tmp_path / "good.case"
    good.write_text(TEXT)
    assert load(good) == parse(TEXT)
    assert load(good).path == str(good)
    with pytest.raises(CaseError, match=r"absent\.case: expected a case, got No such file"):
        load(tmp_path / "absent.case")
    bad = tmp_path / "bad.case"
    bad.write_bytes(b"A reason.\n\xff\n")
    with pytest.raises(CaseError, match=r"bad\.case:2: expected UTF-8, got byte 0xff"):
        load(bad)
    bad.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(CaseError, match="at most 256 KiB"):
        load(bad)


def test_a_new_case_is_short() -> None:
    case = parse(TEXT)
    long = evolve(case, blocks=(Block(tuple(Advance(ms) for ms in range(1, 41))),))
    assert parse(render(long)) == long
    with pytest.raises(CaseError, match="expected at most 40 lines of body, got 41"):
        render(long, strict=True)
    assert render(case, strict=True) == render(case)


def test_a_case_says_something() -> None:
    with pytest.raises(ValueError, match="reason"):
        evolve(parse(TEXT), reason=" ")
    with pytest.raises(ValueError, match="blocks"):
        evolve(parse(TEXT), blocks=())


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
    case = case_of(found("without:fill_to_d", events=[Join("t1"), *REGRAFT[:2], Advance(500)]))
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
    both = ("heartbeat-prunes-bare", "without:while_backing_off")
    finding = found(*both, events=events, excused=both[0])
    case = case_of(finding, quirks_in_force=("iwant-unbounded", both[0]))
    assert case.as_built == (both[0],)
    assert parse(render(case)) == case
    assert replay(case, simulated(*both)).outcome == "same"
    assert replay(evolve(case, as_built=()), simulated(*both)).outcome == "different"


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
    again = replay(case, simulated("cut-at-d-high"))
    assert (again.outcome, again.departs, again.at) == (same, True, len(events_of(case)) - 1)
    assert again.divergence.startswith("a..f: graft t1\nadvance 500ms\n----\n+ ")
    assert again.divergence.endswith(": prune t1 backoff=60")
    better = replay(case, simulated())
    assert (better.outcome, better.departs, better.at, better.divergence) == (fixed, False, None, "")
    assert again.as_expected != better.as_expected
    assert status in STATUSES


def test_another_failure_is_not_the_recorded_one() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    other = replay(case, simulated("without:announce_join"))
    assert other.outcome == "different"
    assert "recorded was: unexpected Prune" in other.reason
    # The same act at the same event, of another cause.
    regraft = case_of(found("backoff-in-whole-seconds", events=REGRAFT))
    assert replay(
        evolve(regraft, quirk="without:already_member"), simulated("backoff-in-whole-seconds")
    ).outcome == ("different")


def test_without_a_quirk_the_clause_decides() -> None:
    case = evolve(case_of(found("backoff-in-whole-seconds", events=REGRAFT)), quirk="")
    assert case.clause == "gs1.1/backoff.regraft"
    opener = simulated("backoff-in-whole-seconds")
    assert replay(case, opener).outcome == "same"
    assert replay(evolve(case, clause="gs1.0/heartbeat.cut"), opener).outcome == "different"


def test_rewriting_is_idempotent() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    opener = simulated("cut-at-d-high")
    assert replay(case, opener).rewritten == case
    one_block = evolve(case, blocks=(Block(events_of(case)),))
    once = replay(one_block, opener).rewritten
    assert [b.events for b in once.blocks] == [b.events for b in case.blocks]
    assert once == case
    assert replay(once, opener).rewritten == once


def test_rewriting_keeps_what_was_not_reached() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    after = Block((Advance(1000),), (Shown("both", Sent(1, Graft("t1"))),))
    rewritten = replay(evolve(case, blocks=(*case.blocks, after)), simulated("cut-at-d-high")).rewritten
    assert rewritten.blocks == (*case.blocks, Block((Advance(1000),)))


def test_a_case_that_cannot_happen_tells_nothing() -> None:
    case = evolve(parse(TEXT), blocks=(Block((Receive((1,), (Graft("t1"),)),)),), status="suite")
    result = replay(case, simulated())
    assert result.outcome == "inconclusive"
    assert "`a: graft t1` could not happen" in result.reason
    assert not result.as_expected


def test_replay_under_another_protocol() -> None:
    case = case_of(found("cut-at-d-high", events=CROWDED))
    built = quirk_named("cut-at-d-high", SPEC).edit(SPEC)
    assert replay(case, simulated("cut-at-d-high"), built).outcome == "fixed"


def test_an_unknown_quirk_in_force_is_an_error_of_the_case() -> None:
    case = evolve(parse(TEXT, path="a.case"), as_built=("no-such-quirk",))
    with pytest.raises(CaseError, match=r"a\.case: .*no quirk 'no-such-quirk'"):
        replay(case, simulated())


def test_what_has_no_bytes_is_an_error_of_the_case() -> None:
    sender = evolve(
        parse(TEXT, path="a.case"),
        parameters=SMALL,
        blocks=(Block((Connect((1,)), Join("t1"), Receive((1,), (Message("m1", "t1", 1, 0, "stamped"),)))),),
    )
    with pytest.raises(CaseError, match=r"a\.case: `a: message m1 t1 stamped`: flaw 'stamped'"):
        replay(sender, lambda config: Wire(open_ours(config), config))


def test_our_router_holds_what_the_model_expects() -> None:
    case = case_of(found("backoff-in-whole-seconds", events=REGRAFT), status="suite")
    result = replay(case, lambda config: Wire(open_ours(config), config))
    assert result.outcome == "holds"
    assert "  a: prune t1 backoff=60" in render(result.rewritten)
