"""Readings: where a text is silent or contradicts itself, what a router may be seen to make of it.

Each is a switch of a protocol (`Protocol.reading`), off in the kit's own reading. A router that shows one is
`observed` to have it; that is no failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from attrs import frozen

from quidnunc.model import mesh, messages
from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.errors import SpecError
from quidnunc.model.permits import Step
from quidnunc.model.router import From, Heard, Router
from quidnunc.model.rpc import IDontWant, IHave, Message, Prune, Subscribe, Unsubscribe
from quidnunc.model.rules import Phases, Protocol, Rule, Targets, rule
from quidnunc.model.values import evolve

SubProtocol = Callable[[Protocol], Protocol]


@frozen
class Reading:
    """One switch: the clause that leaves it open, and how a protocol is read so."""

    name: str
    clause: str
    says: str
    edit: SubProtocol


def kept_in_fanout(r: Router, s: From[Unsubscribe], choose: Choose) -> Step[Router] | None:
    """A peer that unsubscribes stays in the fanout until the heartbeat."""
    return None


@rule("gs1.0/fanout.members")
def drop_unsubscribed(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """At the heartbeat, who is not in the topic any more leaves the fanout; a topic in which nobody is left
    may be passed over."""
    fanout = {}
    for topic, entry in r.fanout.items():
        gone = entry.peers.all - r.members(topic)
        left = entry.peers.less(gone)
        if gone and not left.all:
            left = PartialSet(frozenset(), entry.peers.all, 0, entry.peers.most)
        fanout[topic] = evolve(entry, peers=left)
    return Step(evolve(r, fanout=fanout)) if fanout != r.fanout else None


@rule("gs1.0/mesh.members")
def with_kept_fanout(r: Router, topic: str) -> Targets:
    """Join moves the fanout as it is, those who have left the topic included."""
    return Targets(r.mesh_speakers(topic), r.fanout_of(topic).all)


@rule("gs1.1/ihave.caps")
def ihave_capped_otherwise(r: Router, g: From[IHave], choose: Choose) -> Step[Router] | None:
    """IHAVEs are counted by topic, or by the second: beyond half of the cap it is free whether one counts.

    A second overlaps two heartbeats, each of which may have had its half.
    """
    heard = r.heard.get(g.peer, Heard())
    if 2 * (heard.ihaves + 1) <= r.parameters.max_ihave_messages:
        return None
    plain = next(each for each in r.protocol["ihave"].rules if each.name == "request_unseen")
    step = cast("Step[Router]", plain.step(r, g, choose))
    return Step(step.router, tuple(evolve(p, must=False) for p in step.permits))


@rule("gs1.2/idontwant.cap")
def idontwant_evicts(r: Router, d: From[IDontWant], choose: Choose) -> Step[Router] | None:
    """Beyond the cap new entries take the place of old ones, and nobody says of which."""
    if r.heard.get(d.peer, Heard()).idontwants + len(d.part.ids) <= r.parameters.max_idontwant_messages:
        return None
    entries = {**r.unwanted.get(d.peer, {}), **dict.fromkeys(d.part.ids, 0)}
    return Step(evolve(r, unwanted={**r.unwanted, d.peer: dict.fromkeys(entries, -1)}))


def _late_fanout(protocol: Protocol) -> Protocol:
    if "fanout_candidates" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no fanout")
    lazy = Rule("quit_fanout", "gs1.0/fanout.members", kept_in_fanout)
    beats = (drop_unsubscribed, *protocol["heartbeat"].rules)
    late = protocol.with_rule("quit_fanout", lazy).with_rule("mesh_speakers", with_kept_fanout)
    return evolve(late, handlers={**late.handlers, "heartbeat": Phases(beats)})


def _switch(name: str) -> SubProtocol:
    return lambda protocol: protocol.reading(name)


@rule("gs1.0/heartbeat.no-churn")
def graft_new_subscriber(r: Router, s: From[Subscribe], choose: Choose) -> Step[Router] | None:
    """A mesh below D takes a new subscriber at once, without waiting for the heartbeat."""
    topic = s.part.topic
    if topic not in r.topics or len(r.mesh_of(topic)) >= r.parameters.d:
        return None
    eligible = r.protocol.set_of("graft_candidates", r, topic, choose)
    only = Targets(frozenset(), eligible.all & {s.peer})
    clause = "gs1.0/heartbeat.no-churn"
    return mesh.graft_some(r, topic, "mesh.on-subscribe", clause, only, (0, len(only.may)), None, choose)


@rule("gs1.1/backoff.announced-period")
def back_off_members_only(r: Router, p: From[Prune], choose: Choose) -> Step[Router] | None:
    """A PRUNE from a peer outside the mesh starts no backoff. Runs before the sender is removed."""
    if p.peer not in r.mesh_of(p.part.topic):
        return None
    found = mesh.back_off_as_announced.step(r, p, choose)
    return found  # type: ignore[return-value]


@rule("gs1.0/relay.own-not-forwarded")
def own_from_outside(r: Router, m: From[Message], choose: Choose) -> Step[Router] | None:
    """A message that names the router as its author and comes from outside is marked seen and dropped."""
    dropped = messages.from_itself.step(r, m, choose)
    return Step(r.with_seen(m.part.id)) if dropped is not None else None


def _members_only(protocol: Protocol) -> Protocol:
    if "backs_off" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no backoff")
    # What comes before has nothing to do with it: whom the PRUNE names, say.
    replaced = ("remove", "back_off_as_announced")
    others = (each for each in protocol["prune"].rules if each.name not in replaced)
    rules = (*others, back_off_members_only, mesh.remove)
    return evolve(protocol, handlers={**protocol.handlers, "prune": Phases(rules)})


def _graft_on_subscribe(protocol: Protocol) -> Protocol:
    if "graft_candidates" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no mesh")
    rules = (*protocol["subscribe"].rules, graft_new_subscriber)
    return evolve(protocol, handlers={**protocol.handlers, "subscribe": Phases(rules)})


READINGS: Mapping[str, Reading] = {
    each.name: each
    for each in (
        Reading(
            "unsubscribed-stays-in-mesh",
            "gs1.0/mesh.members",
            "A peer that unsubscribes stays in the mesh until it prunes or disconnects.",
            _switch("unsubscribed-stays-in-mesh"),
        ),
        Reading(
            "unsubscribed-stays-in-fanout",
            "gs1.0/fanout.members",
            "A peer that unsubscribes stays in the fanout until the heartbeat.",
            _late_fanout,
        ),
        Reading(
            "ihave-capped-otherwise",
            "gs1.1/ihave.caps",
            "IHAVEs are capped by topic or by the second, not by peer and heartbeat.",
            lambda protocol: protocol.with_rule("ihave_beyond_caps", ihave_capped_otherwise),
        ),
        Reading(
            "idontwant-evicts-oldest",
            "gs1.2/idontwant.cap",
            "Beyond the cap on IDONTWANT new entries take the place of old ones.",
            lambda protocol: protocol.with_rule("beyond_the_cap", idontwant_evicts),
        ),
        Reading(
            "graylisted-subscriptions-count",
            "gs1.1/threshold.graylist",
            "The subscriptions of a graylisted RPC are read.",
            _switch("graylisted-subscriptions-count"),
        ),
        Reading(
            "prune-of-unknown-topic-backs-off",
            "gs1.1/prune.unknown-topic",
            "A PRUNE for a topic that the router is not in starts a backoff.",
            _switch("prune-of-unknown-topic-backs-off"),
        ),
        Reading(
            "stranger-prune-ignored",
            "gs1.1/backoff.announced-period",
            "A PRUNE from a peer outside the mesh starts no backoff.",
            _members_only,
        ),
        Reading(
            "graft-on-subscribe",
            "gs1.0/heartbeat.no-churn",
            "A new subscriber is grafted at once where the mesh is below D.",
            _graft_on_subscribe,
        ),
        Reading(
            "own-from-outside-marked-seen",
            "gs1.0/relay.own-not-forwarded",
            "A message from outside that names the router as author is marked seen.",
            lambda protocol: protocol.with_rule("from_itself", own_from_outside),
        ),
    )
}
