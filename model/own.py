"""A control message of one's own: its field, and the rules that read it.

For whoever tries a change before it is in any specification. The rest of a fork are edits of tuples
(`quidnunc.model.rules.Protocol`): a rule replaced, dropped or added.
"""

from __future__ import annotations

from quidnunc.model.choices import Choose
from quidnunc.model.errors import SpecError
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.intake import Rpc
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import Control, ControlField
from quidnunc.model.rules import Combined, Phases, Protocol, Rule, rule
from quidnunc.model.values import evolve


def with_control(protocol: Protocol, field: ControlField, clause: str, handler: Combined) -> Protocol:
    """`protocol` with one more control message. `handler` gets `From[Control]`, one for each in an RPC, in
    their order, after everything else of the RPC; it is `protocol[field.name]` then.

    Raises SpecError where the protocol is none of pubsub, or has a handler or a number like that already.
    """
    intake = protocol.handlers.get("intake")
    if not isinstance(intake, Phases):
        raise SpecError(f"{protocol.name} has no control messages: take a protocol of gossipsub")
    taken = {each.number for each in protocol.messages}
    if field.name in protocol.handlers or field.number in taken:
        raise SpecError(
            f"{protocol.name} has a handler {field.name!r} or a field {field.number} already: take others"
        )
    handlers = {"intake": Phases((*intake.rules, _reading(field, clause))), field.name: handler}
    return evolve(protocol, handlers={**protocol.handlers, **handlers}, messages=(*protocol.messages, field))


def _reading(field: ControlField, clause: str) -> Rule:
    @rule(clause, lacking=f"Ignores {field.name}.", when=f"it reads {field.name}")
    def read(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
        found: Step[Router] | None = None
        for part in rpc.part:
            if isinstance(part, Control) and part.name == field.name:
                now = r if found is None else found.router
                one = run(now, field.name, ReceivedPart(rpc.peer, part), choose)
                found = one if found is None else found.then(one)
        return found

    return evolve(read, name=f"read_{field.name}")
