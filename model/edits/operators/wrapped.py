"""What each operator makes of a rule. None of them knows which rule it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import fields

from quidnunc.model.choices import Choose
from quidnunc.model.edits.operators.rule_use import chooser_in
from quidnunc.model.events import Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.rpc import Prune
from quidnunc.model.rules import Rule
from quidnunc.model.score_interval import ScoreInterval
from quidnunc.model.values import evolve

ENDLESS = 1 << 60
SECOND_MS = 1000

# -- what it sends and remembers ----------------------------------------------------------------------------


def after(change: Callable[[Any, Step[Any]], Step[Any]], rule: Rule) -> Rule:
    """The rule with what it decides changed: `change(router before, step)`."""

    def apply(r: Any, *rest: Any) -> Any:
        said = rule.apply(r, *rest)
        return change(r, said) if isinstance(said, Step) else said

    return evolve(rule, apply=apply)


def silent(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(step.router)


def idle(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(r, step.permits)


def keeping(name: str, rule: Rule) -> Rule:
    def keep(r: Any, step: Step[Any]) -> Step[Any]:
        return Step(evolve(step.router, **{name: getattr(r, name)}), step.permits)

    return after(keep, rule)


def keeping_of(name: str, asked: Whom, rule: Rule) -> Rule:
    """The rule, which leaves one field of the state as it was for some peers. Keys of the field are peers, or
    pairs of a topic and a peer."""

    def of_them(r: Any, key: Any) -> bool:
        topic, peer = key if isinstance(key, tuple) else ("", key)
        return peer in r.peers and asked(r, topic, peer)

    def keep(r: Any, step: Step[Any]) -> Step[Any]:
        old, new = getattr(r, name), getattr(step.router, name)
        if old is new:
            return step
        kept = {key: value for key, value in new.items() if not of_them(r, key)}
        kept |= {key: value for key, value in old.items() if of_them(r, key)}
        return Step(evolve(step.router, **{name: kept}), step.permits)

    return after(keep, rule)


def twice(r: Any, step: Step[Any]) -> Step[Any]:
    again = tuple(p for p in step.permits if p.must)
    # A must that stands twice in one step is owed once: the second is allowed.
    return step.plus(*again)


def bare(r: Any, step: Step[Any]) -> Step[Any]:
    def plain(permit: Permit) -> Permit:
        sent = permit.output
        if isinstance(sent, Sent) and isinstance(sent.part, Prune):
            return evolve(permit, output=Sent(sent.peer, Prune(sent.part.topic)))
        return permit

    return Step(step.router, tuple(map(plain, step.permits)))


def to_alone(asked: Whom, rule: Rule) -> Rule:
    def to_these(r: Any, step: Step[Any]) -> Step[Any]:
        kept = tuple(
            p
            for p in step.permits
            if not isinstance(p.output, Sent) or asked(r, getattr(p.output.part, "topic", ""), p.output.peer)
        )
        return Step(step.router, kept)

    return after(to_these, rule)


def to_these_too(asked: Whom, rule: Rule) -> Rule:
    return after(_also_to(asked), rule)


def everybody(r: Any, step: Step[Any]) -> Step[Any]:
    return _also_to(lambda r, topic, p: True)(r, step)


def _also_to(asked: Whom) -> Callable[[Any, Step[Any]], Step[Any]]:
    """What some peers are sent is sent to those who are asked for as well."""

    def and_to_these(r: Any, step: Step[Any]) -> Step[Any]:
        sent = {p.output.part: p for p in step.permits if isinstance(p.output, Sent)}
        told = {(p.output.part, p.output.peer) for p in step.permits if isinstance(p.output, Sent)}
        more = [
            evolve(permit, output=Sent(peer, part))
            for part, permit in sent.items()
            for peer in sorted(r.peers)
            if (part, peer) not in told and asked(r, getattr(part, "topic", ""), peer)
        ]
        return step.plus(*more)

    return and_to_these


Whom: TypeAlias = Callable[[Any, str, int], bool]
"""(router, topic or nothing, peer) -> whether it is one of them."""

WHOM: Mapping[str, tuple[str, Whom]] = {
    "members": ("peers in the topic", lambda r, topic, p: topic in r.peers[p].topics),
    "strangers": ("peers that are not in the topic", lambda r, topic, p: topic not in r.peers[p].topics),
    "mesh": ("the mesh", lambda r, topic, p: p in r.mesh_of(topic)),
    "others": ("peers outside the mesh", lambda r, topic, p: p not in r.mesh_of(topic)),
    "explicit": ("explicit peers", lambda r, topic, p: r.is_explicit(p)),
    "inexplicit": ("peers that are not explicit", lambda r, topic, p: not r.is_explicit(p)),
    "outbound": ("outbound peers", lambda r, topic, p: r.peers[p].outbound),
    "inbound": ("inbound peers", lambda r, topic, p: not r.peers[p].outbound),
    "floodsub": ("floodsub peers", lambda r, topic, p: r.peers[p].speaks_floodsub),
    "v1-0": (
        "peers that speak gossipsub v1.0",
        lambda r, topic, p: not r.peers[p].speaks_floodsub and not r.peers[p].knows_backoff,
    ),
    "gossipsub": ("gossipsub peers", lambda r, topic, p: not r.peers[p].speaks_floodsub),
    "negative": ("peers whose score is negative", lambda r, topic, p: r.score(p) < 0),
    "fit": ("peers whose score is not negative", lambda r, topic, p: r.score(p) >= 0),
    "ungraylisted": (
        "peers above the graylist threshold",
        lambda r, topic, p: r.score(p) >= r.parameters.graylist_threshold,
    ),
    "above-gossip-threshold": (
        "peers above the gossip threshold",
        lambda r, topic, p: r.score(p) >= r.parameters.gossip_threshold,
    ),
    "above-publish-threshold": (
        "peers above the publish threshold",
        lambda r, topic, p: r.score(p) >= r.parameters.publish_threshold,
    ),
}
"""Word -> who they are, of a pubsub router."""

MEMPOOL_WHOM: Mapping[str, tuple[str, Whom]] = {
    "persistent": ("persistent peers", lambda n, _, p: p in n.parameters.persistent_peers),
    "passing": ("peers that are not persistent", lambda n, _, p: p not in n.parameters.persistent_peers),
    "waiting": (
        "peers that wait for a slot",
        lambda n, _, p: bool(n.slots) and not any(p in known.must for known in n.slots.values()),
    ),
}
"""The same of a mempool node."""


def deaf_to(asked: Whom, rule: Rule) -> Rule:
    """The rule, which does not come in where what it handles is from one of those peers."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        peer: Any = getattr(what, "peer", None)
        topic = getattr(getattr(what, "part", None), "topic", "")
        return None if peer in r.peers and asked(r, topic, peer) else rule.apply(r, what, *rest)

    return evolve(rule, apply=apply)


def overlooking(flaws: frozenset[str], rule: Rule) -> Rule:
    """The rule, which takes a message with one of those flaws for a good one."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        part: Any = getattr(what, "part", None)
        if getattr(part, "flaw", "") in flaws:
            what = evolve(what, part=evolve(part, flaw=""))
        return rule.apply(r, what, *rest)

    return evolve(rule, apply=apply)


NEWEST, OLDEST = "/meshsub/9", "/floodsub/1.0.0"


def every_neighbour(change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda r: evolve(r, peers={p: change(r, n) for p, n in r.peers.items()})


def all_in_mesh(r: Any) -> Any:
    topics = {*r.topics, *r.mesh}
    return evolve(r, mesh={t: r.mesh_speakers(t) for t in topics})


VIEWS: Mapping[str, tuple[str, str, Callable[[Any], Any]]] = {
    "all-in-mesh": ("mesh", "Treats all peers in the topic as mesh members", all_in_mesh),
    "all-outbound": (
        "outbound",
        "Treats all peers as outbound",
        every_neighbour(lambda r, n: evolve(n, outbound=True)),
    ),
    "all-inbound": (
        "outbound",
        "Treats all peers as inbound",
        every_neighbour(lambda r, n: evolve(n, outbound=False)),
    ),
    "all-in-topic": (
        "topics",
        "Treats all peers as subscribed to every topic",
        every_neighbour(lambda r, n: evolve(n, topics=n.topics | r.topics)),
    ),
    "all-newest": (
        "protocol",
        "Treats all peers as speakers of the newest version",
        every_neighbour(lambda r, n: evolve(n, protocol=NEWEST)),
    ),
    "all-floodsub": (
        "protocol",
        "Treats all peers as floodsub peers",
        every_neighbour(lambda r, n: evolve(n, protocol=OLDEST)),
    ),
}
"""Word -> what of the state it is about, words, what a rule sees. Of a pubsub router."""


def blind_to(name: str, rule: Rule) -> Rule:
    """The rule, which sees nothing in one field of the state; what it adds there joins what there is."""

    def alter(r: Any) -> Any:
        return evolve(r, **{name: nothing_of(getattr(r, name))})

    def restore(after: Any, r: Any) -> Any:
        own, seen = getattr(r, name), getattr(after, name)
        if isinstance(own, Mapping):
            return evolve(after, **{name: {**own, **seen}})
        if isinstance(own, frozenset):
            return evolve(after, **{name: own | seen})
        return evolve(after, **{name: own if seen == nothing_of(own) else seen})

    return seeing(alter, restore, rule)


def of_anybody(name: str, over_topics: bool, rule: Rule) -> Rule:
    """The rule, which sees of each peer what there is of any of them in one field of the state. With
    `over_topics`, where the field is of a topic and a peer: what there is of the peer in any topic."""

    def alter(r: Any) -> Any:
        return evolve(r, **{name: _united(getattr(r, name), r.peers, over_topics)})

    def restore(after: Any, r: Any) -> Any:
        own, now = getattr(r, name), getattr(after, name)
        seen = _united(own, r.peers, over_topics)
        kept = {key: value for key, value in own.items() if key in now or key not in seen}
        added = {key: value for key, value in now.items() if key not in seen or seen[key] != value}
        return evolve(after, **{name: {**kept, **added}})

    return seeing(alter, restore, rule)


def _united(field: Mapping[Any, Any], peers: Mapping[int, Any], over_topics: bool) -> dict[Any, Any]:
    """Keys are peers, or pairs of a topic and a peer."""

    def place(key: Any) -> Any:
        topic, peer = key if isinstance(key, tuple) else ("", key)
        return peer if over_topics else topic

    found: dict[Any, Any] = {}
    for key, value in field.items():
        found[place(key)] = _both(found[place(key)], value) if place(key) in found else value
    whole = dict(field)
    topics = {key[0] for key in field if isinstance(key, tuple)}
    for peer in peers:
        for key in [(topic, peer) for topic in topics] if topics else [peer]:
            if place(key) in found:
                whole[key] = found[place(key)]
    return whole


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, Mapping):
        return {**one, **other}
    return one | other if isinstance(one, frozenset) else max(one, other, key=repr)


def nothing_of(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {}
    return not value if isinstance(value, bool) else type(value)()


def sees(view: str, rule: Rule) -> Rule:
    def restore(after: Any, r: Any) -> Any:
        # A rule that acts on a mesh of everybody gives back its own mesh; peers stay who they are.
        return after if view == "all-in-mesh" else evolve(after, peers=r.peers)

    return seeing(VIEWS[view][2], restore, rule)


# -- whom it chooses ----------------------------------------------------------------------------------------


class _OtherCount:
    """A chooser that is asked for another number than the rule means, or without its condition."""

    def __init__(self, choose: Choose, how: str) -> None:
        self._choose, self._how = choose, how

    def some(
        self,
        name: str,
        clause: str,
        among: Any,
        count: tuple[int, int],
        *,
        reveals: Any,
        such_that: Any = None,
    ) -> frozenset[int]:
        (least, most), pool = count, len(among.all)
        if self._how == "more":
            count = (min(least + 1, pool), min(most + 1, pool))
        elif self._how == "fewer":
            count = (max(least - 1, 0), max(most - 1, 0))
        elif self._how == "none":
            count = (0, 0)
        condition = None if self._how == "any" else such_that
        return self._choose.some(name, clause, among, count, reveals=reveals, such_that=condition)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._choose, name)


def choosing(how: str, rule: Rule) -> Rule:
    def apply(r: Any, *rest: Any) -> Any:
        chooser = chooser_in(rest)
        if chooser is None:
            return rule.apply(r, *rest)
        return rule.apply(r, *rest[:-1], _OtherCount(chooser, how))

    return evolve(rule, apply=apply)


# -- what it sees -------------------------------------------------------------------------------------------


def seeing(alter: Callable[[Any], Any], restore: Callable[[Any, Any], Any], rule: Rule) -> Rule:
    """The rule, which sees `alter(router)` in place of the router; `restore(after, router)` mends what it
    gives back."""

    def apply(r: Any, *rest: Any) -> Any:
        said = rule.apply(alter(r), *rest)
        return Step(restore(said.router, r), said.permits) if isinstance(said, Step) else said

    return evolve(rule, apply=apply)


def own_parameters(after: Any, r: Any) -> Any:
    return evolve(after, parameters=r.parameters)


def own_clock(after: Any, r: Any) -> Any:
    return evolve(after, now_ms=r.now_ms)


def reading_parameter(name: str, value: Callable[[Any], Any], rule: Rule) -> Rule:
    def alter(r: Any) -> Any:
        return evolve(r, parameters=with_parameter(r.parameters, name, value(r.parameters)))

    return seeing(alter, own_parameters, rule)


def with_parameter(parameters: Any, name: str, value: Any) -> Any:
    """The parameters with another value, which the specification may forbid: what a rule sees by mistake."""
    changed = object.__new__(type(parameters))
    for each in fields(type(parameters)):
        object.__setattr__(changed, each.name, getattr(parameters, each.name))
    object.__setattr__(changed, name, value)
    return changed


def reading_clock(change: Callable[[int], int], rule: Rule) -> Rule:
    return seeing(lambda r: evolve(r, now_ms=change(r.now_ms)), own_clock, rule)


CLOCKS: Mapping[str, tuple[str, Callable[[int], int]]] = {
    "a-moment-ahead": ("Reads the clock a millisecond ahead", lambda ms: ms + 1),
    "a-moment-behind": ("Reads the clock a millisecond behind", lambda ms: max(0, ms - 1)),
    "a-second-ahead": ("Reads the clock a second ahead", lambda ms: ms + SECOND_MS),
    "a-second-behind": ("Reads the clock a second behind", lambda ms: max(0, ms - SECOND_MS)),
    "in-whole-seconds": ("Rounds the time down to whole seconds", lambda ms: ms // SECOND_MS * SECOND_MS),
    "far-ahead": ("Acts as if every period were over", lambda ms: ms + ENDLESS),
    "stopped": ("Acts as if no time had passed", lambda ms: 0),
}


# -- terms of a sum -----------------------------------------------------------------------------------------


def of_former_members(rule: Rule) -> Rule:
    """A term of one topic, which takes a peer that has left the mesh for a member until it comes back."""

    def apply(r: Any, what: Any) -> Any:
        peer, p, tally = what
        if tally.since_ms is None and tally.past_ms:
            tally = evolve(tally, since_ms=0, mesh_ms=tally.past_ms)
        if tally.since_ms is not None:
            r = evolve(r, mesh={**r.mesh, p.topic: r.mesh_of(p.topic) | {peer}})
        return rule.apply(r, (peer, p, tally))

    return evolve(rule, apply=apply)


def times(numerator: int, denominator: int, rule: Rule) -> Rule:
    def scaled(value: int) -> int:
        return value * numerator // denominator

    def apply(r: Any, *rest: Any) -> Any:
        term = rule.apply(r, *rest)
        if not isinstance(term, ScoreInterval):
            return scaled(term)
        ends = sorted((scaled(term.lo), scaled(term.hi)))
        return ScoreInterval(*ends)

    return evolve(rule, apply=apply)
