"""gossipsub 1.2, but a GRAFT for a topic that the router is not in is answered, and backoffs are short."""

from quidnunc.model.machine import protocol_named
from quidnunc.model.permits import Step, must_send
from quidnunc.model.rpc import Prune
from quidnunc.model.rules import rule


@rule("mine/graft.unknown-topic")
def refuse_unknown(r, g, choose):
    if g.part.topic not in r.topics:
        return Step(r, must_send([g.peer], Prune(g.part.topic), "mine/graft.unknown-topic"))


FORK = protocol_named("gossipsub-1.2").with_rule("unknown_topic", refuse_unknown)
PARAMETERS = {"prune_backoff_s": 10}
