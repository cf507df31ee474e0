"""Who is there, and who is subscribed to what (pubsub README; gossipsub v1.0, "Topic Membership")."""

from __future__ import annotations

from quidnunc.model.choices import Choose
from quidnunc.model.events import Dialled
from quidnunc.model.permits import Permit, Step, must_send
from quidnunc.model.pubsub.router import ReceivedPart, Router, without_key
from quidnunc.model.rpc import Peer, Subscribe, Unsubscribe
from quidnunc.model.rules import rule
from quidnunc.model.values import evolve

MAX_TOPICS_PER_PEER = 1000


@rule(
    "pubsub/hello.current-subscriptions",
    lacking="Does not announce its topics to a new peer.",
    when="it announces its topics to a new peer",
)
def say_hello(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """A new peer is told every topic that we are in."""
    permits = [
        p
        for t in sorted(r.topics)
        for p in must_send([peer], r.announcement(t), "pubsub/hello.current-subscriptions")
    ]
    return Step(r, tuple(permits)) if permits else None


@rule(
    "pubsub/subscription.announce-to-all",
    lacking="Does not announce a topic that it joins.",
    when="it announces a topic that it joins",
)
def announce_join(r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Every peer is told, whether or not it is in the topic."""
    return Step(r, must_send(r.peers, r.announcement(topic), "pubsub/subscription.announce-to-all"))


@rule(
    "pubsub/subscription.announce-to-all",
    lacking="Does not announce a topic that it leaves.",
    when="it announces a topic that it leaves",
)
def announce_leave(r: Router, topic: str, choose: Choose) -> Step[Router]:
    return Step(r, must_send(r.peers, Unsubscribe(topic), "pubsub/subscription.announce-to-all"))


@rule(
    "pubsub/subscription.table",
    lacking="Does not note that a peer subscribes to a topic.",
    when="it notes that a peer subscribes to a topic",
)
def enter_topic(r: Router, s: ReceivedPart[Subscribe], choose: Choose) -> Step[Router]:
    """subscribe=true puts the peer in the topic."""
    return Step(_with_topics(r, s.peer, r.peers[s.peer].topics | {s.part.topic}))


@rule(
    "pubsub/subscription.table",
    lacking="Does not note that a peer leaves a topic.",
    when="it notes that a peer leaves a topic",
)
def quit_topic(r: Router, s: ReceivedPart[Unsubscribe], choose: Choose) -> Step[Router]:
    """subscribe=false takes it out."""
    return Step(_with_topics(r, s.peer, r.peers[s.peer].topics - {s.part.topic}))


@rule(
    "gs1.0/mesh.members",
    lacking="Keeps a peer in the mesh of a topic that the peer has left.",
    when="it takes a peer that leaves a topic out of the mesh",
)
def quit_mesh(r: Router, s: ReceivedPart[Unsubscribe], choose: Choose) -> Step[Router] | None:
    """Mesh members are peers in that topic, so a peer that leaves it leaves the mesh."""
    topic = s.part.topic
    if s.peer not in r.mesh_of(topic) or r.reads("unsubscribed-stays-in-mesh"):
        return None
    return Step(r.with_mesh(topic, r.mesh_of(topic) - {s.peer}))


@rule(
    "gs1.0/fanout.members",
    lacking="Keeps a peer in the fanout of a topic that the peer has left.",
    when="it takes a peer that leaves a topic out of the fanout",
)
def quit_fanout(r: Router, s: ReceivedPart[Unsubscribe], choose: Choose) -> Step[Router] | None:
    entry = r.fanout.get(s.part.topic)
    if entry is None or s.peer not in entry.peers.all:
        return None
    left = evolve(entry, peers=entry.peers.less([s.peer]))
    return Step(evolve(r, fanout={**r.fanout, s.part.topic: left}))


@rule(
    "gs1.0/peer.gone",
    lacking="Keeps disconnected peers in its meshes and fanouts.",
    when="it takes a disconnected peer out of its meshes and fanouts",
)
def leave_candidates(r: Router, peer: Peer, choose: Choose) -> Step[Router]:
    """A peer that is gone is in no mesh and no fanout. Its backoffs and its score stay."""
    mesh = {t: members - {peer} for t, members in r.mesh.items()}
    fanout = {t: evolve(f, peers=f.peers.less([peer])) for t, f in r.fanout.items()}
    return Step(evolve(r, mesh=mesh, fanout=fanout))


@rule(
    "gs1.1/explicit.connect", lacking="Does not dial its explicit peers.", when="it dials its explicit peers"
)
def dial_explicit(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Explicit peers are dialled at the start and again from time to time, while they are not connected."""
    explicit = r.parameters.explicit_peers
    away = explicit - r.peers.keys() if explicit else explicit
    clause = "gs1.1/explicit.connect"
    return Step(r, tuple(Permit(Dialled(p), False, clause, "now") for p in sorted(away))) if away else None


@rule(
    "gs1.2/idontwant.per-peer",
    lacking="Keeps the IDONTWANTs of a peer that disconnects.",
    when="it forgets the IDONTWANTs of a peer that disconnects",
)
def forget_unwanted(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """What a peer did not want is kept per peer, and goes with it."""
    return Step(evolve(r, unwanted=without_key(r.unwanted, peer))) if peer in r.unwanted else None


def _with_topics(r: Router, peer: Peer, topics: frozenset[str]) -> Router:
    return evolve(r, peers={**r.peers, peer: evolve(r.peers[peer], topics=topics)})
