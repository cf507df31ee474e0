"""Refuted lines of `quidnunc prove` have a case, or a reason; the cases are written as committed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.case import CaseBlock
from quidnunc.properties.cases.file import parse
from quidnunc.properties.networks.acts import act_of
from quidnunc.properties.replays.network import CLAIMS, played_case, replay_network
from quidnunc.properties.statements.line_claims import MEMPOOL, PUBSUB, READ_SO
from tools.decide.runs import judge_run
from tools.line_cases import CASES, SHOWN, UNSHOWN, LineCase, main, written_cases
from tools.network_cases import new_case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "counterexamples"
BY_LINE = {each.line: each for each in CASES}
PAGE = (ROOT / "docs" / "prove.md").read_text(encoding="utf-8")
REFUTED = {
    line
    for line in re.findall(r"^\| `(\S+)` \| [^|]* \| refuted \|", PAGE, re.MULTILINE)
    if line.startswith(("mesh-link", "mesh-star", "dog-routes"))
}


def test_every_refuted_line_has_a_case_or_a_reason() -> None:
    assert REFUTED == SHOWN.keys() | UNSHOWN.keys()
    assert not SHOWN.keys() & UNSHOWN.keys()
    assert all(len(reason) > 30 for reason in UNSHOWN.values())


def test_claims_are_of_refuted_lines() -> None:
    assert {*PUBSUB, *MEMPOOL} == BY_LINE.keys()
    assert BY_LINE.keys() <= REFUTED


def test_cases_are_as_they_are_written(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    for path, text in written_cases():
        assert (FOLDER / path).read_text(encoding="utf-8") == text == (tmp_path / path).read_text("utf-8")


@pytest.mark.parametrize("line", sorted(SHOWN))
def test_a_case_breaks_its_line_by_its_last_act(line: str) -> None:
    case = parse((FOLDER / SHOWN[line]).read_text(encoding="utf-8"), line)
    found = replay_network(case)
    assert (found.outcome, found.at) == ("same", len(case.acts) - 1), found.reason


# -- controls: what is claimed is not false of everything ---------------------------------------------------


@pytest.mark.parametrize("line", sorted(PUBSUB))
def test_a_star_with_room_breaks_nothing(line: str) -> None:
    """As many leaves as the hub may hold, and rounds enough for every state to come back."""
    shown = BY_LINE[line]
    # A hub that cuts at D_high has room for one less.
    room = 1 if line in READ_SO else 2
    case = evolve(shown.case(), nodes=(1, 2, 3)[: room + 1], links=shown.links[:room], before=())
    claims = CLAIMS["pubsub"]
    world, look = claims.world(case, case.protocol), claims.look(case)
    acts = [act_of("all join t"), *(act_of("rounds 1") for _ in range(12))]
    assert judge_run(world, look, acts).acts is None
    assert any(world.move(world.start(), acts[0]).steps)


@pytest.mark.parametrize("line", sorted(MEMPOOL))
def test_without_the_second_havetx_somebody_hands_on(line: str) -> None:
    case = BY_LINE[line].case()
    world, look = (
        CLAIMS["mempool"].world(case, case.protocol),
        CLAIMS["mempool"].look(case),
    )
    assert judge_run(world, look, case.acts[:-1]).acts is None
    assert judge_run(world, look, case.acts).acts == case.acts


def test_a_state_that_comes_back_must_have_had_its_heartbeats() -> None:
    """A GRAFT that is taken back at once is no run for ever."""
    case = BY_LINE["mesh-star.quiet"].case()
    acts = [act_of(text) for text in ("join A t", "join B t", "settle")]
    quick = [act_of(text) for text in ("leave B t", "settle", "join B t", "settle")]
    claims = CLAIMS["pubsub"]
    world, look = claims.world(case, case.protocol), claims.look(case)
    assert judge_run(world, look, [*acts, *quick, *quick, *quick]).acts is None


def test_what_breaks_nothing_is_no_case() -> None:
    shown: LineCase = evolve(BY_LINE["mesh-star.rest"], acts="all join t, rounds 1")
    with pytest.raises(CaseError, match=r"does not break mesh-star\.rest"):
        shown.case()
    whole = BY_LINE["dog-routes.not-cut-off"].case()
    start = evolve(whole, blocks=(CaseBlock(whole.acts[:3]),))
    assert not any(block.broken for block in played_case(start).blocks)
    with pytest.raises(CaseError, match="does not break"):
        new_case(start)
