"""gossipsub 1.2 with one more control message: CHOKE says "relay me nothing of this topic"."""

from attrs import evolve

from quidnunc.model.machine import protocol_named
from quidnunc.model.own import with_control
from quidnunc.model.permits import Step
from quidnunc.model.rpc import ControlField
from quidnunc.model.rules import phases, rule, without
from quidnunc.properties.claim_tables import claim


@rule("mine/choke.remember")
def remember_choke(r, c, choose):
    """Who choked a topic is remembered."""
    choked = r.kept.get("choked", frozenset()) | {(c.peer, topic) for topic in c.part.ids}
    return Step(evolve(r, kept={**r.kept, "choked": choked}))


@rule("mine/choke.relay")
def who_choked(r, m, peer):
    """It is relayed nothing of that topic."""
    return (peer, m.part.topic) in r.kept.get("choked", frozenset())


FIELD = ControlField("choke", number=64)
BASE = protocol_named("gossipsub-1.2")
RELAY = without(BASE["relay"].base, *BASE["relay"].exclusions, who_choked)
CHOKING = with_control(
    BASE.extended("choking", relay=RELAY), FIELD, "mine/choke.field", phases(remember_choke)
)
CLAIMS = (claim("choke.kept", "Who choked a topic is relayed nothing of it.", "mine/choke.relay"),)

MUTANT = CHOKING.without_rule("who_choked")
