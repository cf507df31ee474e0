"""A misreading that model and router share is seen in what somebody else wrote: py-libp2p.

Of each rule named here the same misreading is planted in the model (an edit) and in our router (a mutant). On
the events of one case the two agree, so that this run of the one beside the other does not tell. The released
py-libp2p does on them what the specification says, and departs from the misread model. Rules are missing here
of which py-libp2p shares the misreading, or departs on its own, or no case shows what it does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config
from quidnunc.model.edit import dropping
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.cases.file import load
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import WireSubject, play
from quidnunc.properties.suite.files import suite_of
from tests.helpers.py_libp2p_node import needs_libp2p

ROOT = Path(__file__).parents[3]
CASES = ROOT / "counterexamples" / "mutants"
PAGE = ROOT / "docs" / "common-mode.md"

MISREAD: Mapping[str, str] = {
    "hello-empty": "say_hello",
    "announce-to-topic": "announce_join",
    "leave-silently": "prune_members",
    "leave-no-backoff": "back_off_members",
    "graft-not-taken": "accept",
    "prune-ignored": "remove",
    "fill-never": "fill_to_d",
    "regraft-taken": "while_backing_off",
    "iwant-unserved": "serve_within_bound",
    "gossip-to-mesh": "in_mesh_or_fanout",
    "ihave-own-topics": "read_ihaves",
}
"""Mutant -> the rule that the model lacks to read the sentence as the mutant does, on these events."""
OWN_CASE = ("ihave-own-topics",)
"""Whose killing case shows it; of the others the case of the rule in the suite does."""


def case_of(name: str) -> Case:
    killing = load(CASES / f"{name}.case")
    if name in OWN_CASE:
        return killing
    of_rule = dict(suite_of(killing.protocol))[MISREAD[name]]
    return evolve(of_rule, protocols=(killing.protocol,))


def departs(router: str, case: Case, protocol: Protocol) -> bool:
    """Whether the router departs from the protocol on the events of the case."""
    parameters = evolve(parameters_of(case), flood_publish=False)
    config = Config(seed=case.seed, protocol=case.protocol, parameters=parameters)
    subject = WireSubject(open_router(router, config), config)
    return bool(last_departures(play(events_of(case), subject, protocol, parameters)))


def seen_by_a_third_party(name: str) -> tuple[bool, bool, bool]:
    """Whether our misreading router departs from the misread model, and py-libp2p from the model and from the
    misread one."""
    case = case_of(name)
    plain = protocol_named(case.protocol)
    misread = dropping(MISREAD[name])(plain)
    beside = partial(departs, case=case)
    return (
        beside(f"ours:{name}", protocol=misread),
        beside("py-libp2p", protocol=plain),
        beside("py-libp2p", protocol=misread),
    )


@needs_libp2p
@pytest.mark.parametrize("name", MISREAD)
def test_a_shared_misreading_is_seen_in_py_libp2p(name: str) -> None:
    assert seen_by_a_third_party(name) == (False, False, True)


def test_the_page_names_the_rules_and_their_sentences() -> None:
    rows = re.findall(
        r"^\| `(.+)` \| `(.+)` \| `(.+)` \| py-libp2p \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert {mutant: rule for mutant, rule, _ in rows} == MISREAD and len(rows) >= 10
    for mutant, rule, clause in rows:
        plain = protocol_named(load(CASES / f"{mutant}.case").protocol)
        assert {each.clause for _, each in plain.rules() if each.name == rule} == {clause}
