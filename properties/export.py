"""Cases as data, for those who cannot run Python: requests of the seam in, allowed sets out.

A request is what `quidnunc.impl.sidecar` would say to a router, bytes as base64. What is allowed after it are
permits: outputs that must or may come, each used up by one output, at the latest before the router rests
(`now`) or with what the next heartbeat sends (`heartbeat`). Where the text leaves a choice, it is stated with
its bounds and the answer that the rest of the case goes on from: a router that answers otherwise within the
bounds conforms, and from there on the case says nothing of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs
from attrs import field, frozen, mutable

from quidnunc.impl.seam import Hello
from quidnunc.impl.sidecar import ExecDriver
from quidnunc.impl.sidecar_json import init_of
from quidnunc.model.choices import PartialSet, Reveals, Seeded, SuchThat
from quidnunc.model.events import Event, Output
from quidnunc.model.machine import machine_of
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol, Targets
from quidnunc.properties.cases import Case, config_of, events_of, protocol_of
from quidnunc.properties.case_text import event_text
from quidnunc.properties.oracle import Oracle
from quidnunc.properties.play import Play, Wire, messages_in

SCHEMA = 1


@mutable
class Requests:
    """Stands where a child process would: keeps what it is asked and answers that nothing happened."""

    asked: list[dict[str, object]] = field(factory=list)

    def ask(self, request: dict[str, object]) -> dict[str, object]:
        self.asked.append(request)
        return {"t": 0}

    def taken(self) -> list[dict[str, object]]:
        asked, self.asked = self.asked, []
        return asked

    def close(self) -> None:
        """There is no process to end."""


@mutable
class Noted:
    """An oracle that keeps each choice with its bounds and its answer."""

    inner: Seeded
    choices: list[dict[str, Any]] = field(factory=list)

    def fired(self, clause: str) -> None:
        self.inner.fired(clause)

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        answer = self.inner.some(name, clause, among, count, reveals=reveals, such_that=such_that)
        forced = such_that is None and count[0] == count[1] and count[0] in (0, len(among.all))
        if not forced and among.all:
            self.choices.append(
                {
                    "name": name,
                    "clause": clause,
                    "among": sorted(among.all),
                    "least": count[0],
                    "most": count[1],
                    "conditioned": such_that is not None,
                    "answer": sorted(answer),
                }
            )
        return answer

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        answer = self.inner.hidden(name, among)
        if among.may:
            self.choices.append(
                {
                    "name": name,
                    "clause": "",
                    "among": sorted(among.may),
                    "least": among.least - len(among.must),
                    "most": among.most - len(among.must),
                    "conditioned": False,
                    "answer": sorted(answer.must - among.must),
                }
            )
        return answer
