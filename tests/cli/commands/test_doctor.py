"""Each claim that can fail has a control, or `doctor` ends with 3 and says which have none."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.commands.doctor import ClaimControl, DriverExamination, control_of, exit_status, not_spoken
from quidnunc.impl.seam import Hello
from quidnunc.properties.claims.claim import Claim
from tests.conftest import Command

OUTSIDE = Path(__file__).parents[2] / "outside"
CLAUSES = ("gs1.0/relay.mesh",)
CLAIM = Claim("relay.targets", "It is relayed.", CLAUSES)


def examined(*states: str, protocol: str = "gossipsub-1.0") -> DriverExamination:
    hello = Hello(
        name="r", version="1", protocols=("floodsub", "gossipsub-1.0"), capabilities=frozenset({"clock"})
    )
    controls = tuple(ClaimControl(CLAIM, CLAUSES, state, (), "") for state in states)
    return DriverExamination(protocol, hello, 1, (), controls)


@pytest.mark.parametrize(
    ("states", "status"),
    [
        (("holds",), 0),
        (("holds", "fails"), 3),
        (("fails",), 3),
        (("holds", "unsupported"), 3),
        (("none",), 3),
    ],
)
def test_the_exit_status(states: tuple[str, ...], status: int) -> None:
    assert exit_status([examined(*states)]) == status


@pytest.mark.parametrize(
    ("held", "fails", "departs", "state", "reason"),
    [
        ({"a"}, {"b"}, True, "holds", ""),
        (set(), {"b"}, True, "fails", "fails wherever it applies: b"),
        (set(), set(), True, "none", "applies in no case that the router passes"),
        (set(), set(), False, "none", "never applies in the suite; a search may reach it"),
    ],
)
def test_a_claim_says_why_it_has_no_control(
    held: set[str], fails: set[str], departs: bool, state: str, reason: str
) -> None:
    """A case that departs for something else says nothing of the claim, and a search need not either."""
    hello = Hello(name="r", version="1", protocols=("gossipsub-1.0",))
    found = control_of(CLAIM, CLAUSES, hello, held, fails, departs)
    assert (found.state, found.reason) == (state, reason)
    needy = evolve(CLAIM, needs=frozenset({"score"}))
    lacks = control_of(needy, CLAUSES, hello, held, fails, departs)
    assert (lacks.state, lacks.reason) == ("unsupported", "the driver lacks: score"), "as `check` has it"


def test_one_protocol_with_a_claim_without_control_is_enough() -> None:
    assert exit_status([examined("holds"), examined("fails")]) == 3


def test_what_the_router_does_not_speak_is_of_the_families_that_were_tried() -> None:
    told = not_spoken([examined("holds")])
    assert "gossipsub-1.1" in told and not {"floodsub", "gossipsub-1.0", "dog"} & {*told}


def test_it_says_what_it_tried(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(OUTSIDE))
    ran = quidnunc("doctor", "python:toy_python:open_toy")
    lines = ran.out.splitlines()
    assert ran.code == 3
    (end,) = (line for line in lines if line.startswith("exit 3: "))
    assert end.endswith("were seen to hold in no run: 1 of floodsub")
    assert "tried: floodsub" in lines
    (other,) = (line for line in lines if line.startswith("does not speak: "))
    assert "gossipsub-1.2" in other and "dog" not in other


COIN = """
import os
from attrs import evolve
from quidnunc.impl.routers import open_router

class Coin:
    def __init__(self, config):
        self.router = open_router("ours", config)

    def __getattr__(self, name):
        return getattr(self.router, name)

    def join(self, topic):
        reply = self.router.join(topic)
        with open(os.environ["COIN"], "ab") as tossed:
            tossed.write(b"x")
        return reply if os.path.getsize(os.environ["COIN"]) % 3 else evolve(reply, out=())
"""
"""A router that does not say each third time which topic it joins, whatever its seed is."""


def test_a_router_that_does_not_do_the_same_twice_is_told_so(
    quidnunc_apart: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: each case is played once."""
    (tmp_path / "coin.py").write_text(COIN, encoding="utf-8")
    monkeypatch.setenv("COIN", str(tmp_path / "tossed"))
    ran = quidnunc_apart("doctor", "python:coin:Coin", "--protocol", "floodsub", cwd=tmp_path)
    assert "DOES NOT DO THE SAME TWICE: " in ran.out, ran.err


def test_ours_does_the_same_twice(quidnunc: Command) -> None:
    (one,) = quidnunc("doctor", "ours", "--protocol", "floodsub", "--json").data["protocols"]
    assert one["unlike"] == [] and one["played_twice"] == 20
