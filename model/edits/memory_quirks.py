"""Edits of what is remembered too long or at the wrong time: requests, message windows, meshes, targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.edit import Edit, around, in_turn, reading_as, replacing_present
from quidnunc.model.errors import SpecError
from quidnunc.model.permits import Step, may_send, must_send
from quidnunc.model.pubsub.router import IDS_OF_ANY_TOPIC, ReceivedPart, Router, TopicFanout
from quidnunc.model.rpc import IHave, IWant, Message
from quidnunc.model.rules import Protocol, Rule, Targets
from quidnunc.model.values import evolve

REQUESTED, TARGETS = "requested-once", "targets-at-arrival"
"""Under which words it is kept."""


@around("gs1.0/ihave.request-unseen")
def request_of_the_first(old: Rule, r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """What was requested of one peer is requested of no other, whether or not the message came."""
    requested = cast("frozenset[str]", r.kept.get(REQUESTED, frozenset()))
    news = tuple(i for i in g.part.ids if i not in requested)
    step = cast("Step[Router]", old.step(r, evolve(g, part=evolve(g.part, ids=news)), choose))
    asked = {i for i in news if i not in r.seen}
    return Step(evolve(step.router, kept={**step.router.kept, REQUESTED: requested | asked}), step.permits)


def serve_and_renew(old: Rule, r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """A message that is asked for is in the newest window again."""
    step = cast("Step[Router] | None", old.step(r, g, choose))
    named = tuple(i for i in dict.fromkeys(g.part.ids) if i in r.cached)
    if step is None or not named or not step.router.windows:
        return step
    newest, *others = (tuple(i for i in window if i not in named) for window in step.router.windows)
    return Step(evolve(step.router, windows=((*newest, *named), *others)), step.permits)


@around("gs1.0/publish.fanout")
def leave_with_fanout(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """The mesh of a topic that it leaves is its fanout from then on."""
    members = r.mesh_of(topic)
    step = cast("Step[Router]", old.step(r, topic, choose))
    if not members:
        return step
    kept = TopicFanout(PartialSet.of(members), r.now_ms)
    return Step(evolve(step.router, fanout={**step.router.fanout, topic: kept}), step.permits)


@around("gs1.0/relay.mesh")
def note_targets(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """To whom a message goes is settled when it comes, and not when its validators answer."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    if step is None:
        return None
    noted = {**_noted(step.router), m.part.id: r.protocol.set_of("relay", r, m, choose)}
    return Step(evolve(step.router, kept={**step.router.kept, TARGETS: noted}), step.permits)


def _noted(r: Router) -> Mapping[str, Targets]:
    return cast("Mapping[str, Targets]", r.kept.get(TARGETS, {}))


@around("gs1.0/relay.mesh")
def forward_to_noted(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    """It goes to those of them that are still connected."""
    noted = _noted(r).get(m.part.id)
    if noted is None:
        return cast("Step[Router]", old.step(r, m, choose))
    here, clause = r.peers.keys(), "gs1.0/relay.mesh"
    owed = must_send(frozenset(noted.must & here), m.part, clause)
    return Step(r, owed + may_send(frozenset(noted.may & here), m.part, clause))


@around("gs1.0/relay.seen")
def seen_or_waits_again(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose
) -> Step[Router] | None:
    """A copy of what was seen long ago may wait for a verdict again, without a sign of it."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    first, dropped = r.seen.get(m.part.id), step is not None and m.part.id not in r.waiting
    old_enough = first is not None and r.now_ms - first >= r.parameters.seen_ttl_ms
    waits = r.parameters.validation == "manual" and dropped and old_enough
    return None if waits and choose.free("whether it waits again") else step


def _gossiping(protocol: Protocol) -> Protocol:
    if "gossip_candidates" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no gossip")
    return protocol


MEMORY_QUIRKS: tuple[Edit, ...] = (
    Edit(
        "requests-of-one-peer-alone",
        "replaced",
        "gs1.0/ihave.request-unseen",
        "Requests a message only from the first peer whose IHAVE names it, even if the message never comes.",
        replacing_present(request_unseen=request_of_the_first),
    ),
    Edit(
        IDS_OF_ANY_TOPIC,
        "replaced",
        "gs1.0/gossip.ids",
        "Lists the messages of all its topics in the IHAVE for one topic.",
        in_turn(_gossiping, reading_as(IDS_OF_ANY_TOPIC)),
    ),
    Edit(
        "served-gossiped-longer",
        "replaced",
        "gs1.0/mcache.shift",
        "Puts a message that it sends in answer to an IWANT back into the newest window of its cache.",
        replacing_present(
            serve=around("gs1.0/mcache.shift")(serve_and_renew),
            serve_within_bound=around("gs1.0/mcache.shift")(serve_and_renew),
        ),
    ),
    Edit(
        "leave-keeps-mesh-as-fanout",
        "replaced",
        "gs1.0/publish.fanout",
        "Keeps the mesh of a topic that it leaves as its fanout for that topic.",
        replacing_present(prune_members=leave_with_fanout),
    ),
    Edit(
        "relays-to-mesh-at-arrival",
        "replaced",
        "gs1.0/relay.mesh",
        "Relays a message to those who were in the mesh when it came, not to those who are in it when its "
        "validators answer.",
        replacing_present(wait_for_verdict=note_targets, forward=forward_to_noted),
    ),
)
