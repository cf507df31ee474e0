"""Network cases of pubsub routers."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.quirks import as_built, quirk_named
from quidnunc.model.rules import Protocol
from quidnunc.properties import network_lines
from quidnunc.properties.gossipsub_statement import COLUMNS, Revision, Statement
from quidnunc.properties.gossipsub_statement_list import BY_ID
from quidnunc.properties.network_case import Family, NetworkCase
from quidnunc.properties.network_routers import Routers, placed
from quidnunc.properties.pubsub_network import Move, Setup
from quidnunc.properties.pubsub_network_acts import act_of, name_of, part_text
from quidnunc.properties.pubsub_network_choices import rpcs_of
from quidnunc.properties.pubsub_world import Look, World


def _statement(case: NetworkCase) -> Statement:
    found = BY_ID.get(case.claim)
    if found is None or found.look is None:
        raise SpecError(f"{case.path}: no claim {case.claim!r} on networks of pubsub routers")
    return found


def _look(case: NetworkCase, protocol: str) -> Look:
    if case.claim in network_lines.PUBSUB:
        return network_lines.PUBSUB[case.claim]
    look = _statement(case).look
    assert look is not None
    return look


def _rules(case: NetworkCase, revision: Revision) -> Protocol:
    if case.claim not in network_lines.PUBSUB:
        return _statement(case).protocol(revision)
    rules, reading = protocol_named(revision), network_lines.READ_SO.get(case.claim)
    return as_built(rules, [quirk_named(reading, rules)]) if reading else rules


def _world(case: NetworkCase, protocol: str) -> World:
    revision = next((name for name in COLUMNS if name == protocol), None)
    if revision is None or not isinstance(case.parameters, Parameters):
        raise SpecError(f"{case.path}: {protocol} is no protocol of pubsub")
    rules, parameters = _rules(case, revision), case.parameters
    routers = [i for i in case.nodes if i not in case.attackers]
    setups = tuple(Setup(i, rules, parameters) for i in routers)
    return World(setups, case.links, case.attackers, prelude=case.before)


def _placed(case: NetworkCase, protocol: str, router: str, seed: int) -> Routers:
    reading = network_lines.READ_SO.get(case.claim, "")
    edited = case.claim not in network_lines.PUBSUB and _statement(case).edit is not None
    if edited or (reading and not router.endswith(f":{reading}")):
        raise SpecError(f"{case.path}: {case.claim} is of edited rules, which {router} does not have")
    return placed(_world(case, protocol), router=router, seed=seed)


def _said(move: Move) -> Iterator[str]:
    """`A>B: graft t; message m1 t` for each RPC, and `B delivers m1`."""
    for seen in move.steps:
        for peer, rpc in rpcs_of(seen.node, seen.sent):
            yield f"{name_of(seen.node)}>{name_of(peer)}: {'; '.join(map(part_text, rpc))}"
        yield from (f"{name_of(seen.node)} delivers {each}" for each in seen.delivered)


def _about(claim: str, protocol: str) -> bool:
    if claim in network_lines.PUBSUB:
        return protocol in COLUMNS and protocol != "floodsub"
    found = BY_ID.get(claim)
    return found is not None and protocol in found.revisions


FAMILY = Family(
    look=_look,
    world=_world,
    act_text=str,
    act_of=act_of,
    said=lambda move: [*_said(move)],
    placed=_placed,
    about=_about,
)
