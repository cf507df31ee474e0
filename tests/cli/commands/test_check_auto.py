"""`quidnunc check auto` takes every router that `quidnunc routers` lists, and asks for what it speaks."""

from __future__ import annotations

import pytest

from quidnunc.arguments import hello_from, protocols_spoken
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.routers import available, mutants_by_name, readings_by_name
from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import UsageError
from tests.conftest import Command

PLANTED = {f"ours:{name}": each for name, each in {**mutants_by_name(), **readings_by_name()}.items()}
MAX_MESSAGE = 300


@pytest.mark.parametrize("router", [each.name for each in available() if each.kind in ("ours", "adapter")])
def test_a_router_that_can_be_tested_speaks_something_and_opens_for_it(router: str) -> None:
    if not next(each for each in available() if each.name == router).available:
        with pytest.raises((UsageError, ValueError)):
            hello_from(router, "gossipsub-1.2")
        return
    spoken = protocols_spoken(router)
    assert spoken
    assert all(name in hello_from(router, name).protocols for name in spoken)


def test_every_planted_departure_is_asked_for_what_it_speaks() -> None:
    assert {each.name for each in available() if each.kind in ("mutant", "reading")} == PLANTED.keys()
    unseen = []
    for router, planted in PLANTED.items():
        spoken = protocols_spoken(router)
        if not _first(planted) & {*spoken}:
            unseen.append((router, planted.protocol, spoken))
        for name in spoken:
            assert hello_from(router, name).name == router
    assert unseen == []


def _first(planted: Mutant) -> set[str]:
    """Its first protocol; of a draft, which auto leaves out, the one after it."""
    names = list(PROTOCOLS)
    at = names.index(planted.protocol)
    return {names[at + 1] if planted.protocol.endswith("draft") else planted.protocol}


@pytest.mark.parametrize(
    ("router", "protocol"),
    [
        ("ours:cat-never-asks", "gossipsub-1.2"),
        ("ours:echo", "dog"),
        ("ours:group-lives-less", "gossipsub-1.2"),
        ("ours:reset-all", "cat"),
    ],
)
def test_a_protocol_that_it_does_not_speak_is_refused_in_short(router: str, protocol: str) -> None:
    with pytest.raises(UsageError, match=f"{router} does not speak {protocol}; it speaks ") as refused:
        hello_from(router, protocol)
    assert len(str(refused.value)) < MAX_MESSAGE


@pytest.mark.parametrize(
    ("router", "protocols"),
    [
        ("ours:limit-zero-is-none", ["peer-limit"]),
        ("ours:cat-never-asks", ["cat-classic", "cat"]),
        ("ours:unnamed-not-offered", ["partial-messages-go"]),
    ],
)
def test_a_search_of_all_that_it_speaks(router: str, protocols: list[str], quidnunc: Command) -> None:
    ran = quidnunc("check", "auto", "--against", router, "--runs", 2, "--workers", 1, "--json")
    # 3: it departs, but from advice.
    assert ran.code in (1, 3), ran.err
    reports = ran.data.get("reports", [ran.data])
    assert [each["protocols"] for each in reports] == [[name] for name in protocols]
    assert all(each["root_causes"] for each in reports)
