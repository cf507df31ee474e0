"""Replay of any case: of one router or of a network, under one of its protocols or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case, on_router, router_of
from quidnunc.properties.cases.outcome import CaseReplay
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.judge.play import Opener
from quidnunc.properties.replays.network import replay_network, replay_on

Openers: TypeAlias = Callable[[str], Opener]
"""The name of a router -> how it is opened."""


def replay(
    case: Case, openers: Openers, *, against: str = "", protocol: str = "", allow_exec: bool = False
) -> CaseReplay:
    """What a case comes to under one protocol: its own first one, or `protocol`, of its own or another.

    `against` is a router instead of the one that the case names; how the case's own is built is then not in
    force. Without it a case of a network is played by the model alone, and no command is started that only
    the file names, unless `allow_exec`. Raises RefusedRouterError for a case that names no router that may be
    started, CaseError for what cannot be played, AdapterError where a driver broke, ValueError for an unknown
    router.
    """
    if against:
        case = on_router(case, against)
    own = protocol in case.protocols
    if protocol and own:
        case = case.under(protocol)
    if case.is_network:
        return replay_on(case, against, protocol) if against else replay_network(case, protocol)
    rules = protocol_named(protocol) if protocol and not own else None
    return replay_router(case, openers(against or router_of(case, allow_exec=allow_exec)), rules)
