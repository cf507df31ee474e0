"""What each operator makes of a rule. None of them knows which rule it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from types import FunctionType
from typing import Any, TypeAlias

from attrs import fields

from quidnunc.model.choices import Choose, Reveals
from quidnunc.model.edits.operators.reads import names_read
from quidnunc.model.edits.operators.rule_use import chooser_in
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Delivered, Output, Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.mesh import prune_to
from quidnunc.model.pubsub.router import ENDED
from quidnunc.model.rpc import ROUTER, Extensions, Fault, Message, Prune, Stray
from quidnunc.model.rules import FirstMatch, Phases, Protocol, Rule, Targets
from quidnunc.model.score_interval import ScoreInterval
from quidnunc.model.score_parameters import TopicScoreParameters
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


def ending_rpc(kind: str, r: Any, step: Step[Any]) -> Step[Any]:
    """Of the RPC that brought it no more parts of that kind are read, or of any kind."""
    return Step(evolve(step.router, kept={**step.router.kept, ENDED: kind}), step.permits)


def answering_with_prune(backs_off: bool, rule: Rule) -> Rule:
    """The rule on a GRAFT, which answers it with PRUNE; the one who grafted is no member then, and may be in
    backoff."""

    def apply(r: Any, g: Any, *rest: Any) -> Any:
        said = rule.apply(r, g, *rest)
        if not isinstance(said, Step):
            return said
        topic, seconds = g.part.topic, r.parameters.prune_backoff_s
        after = said.router.with_backoff(topic, [g.peer], seconds) if backs_off else said.router
        return Step(after, (*said.permits, prune_to(r, g.peer, topic, seconds, rule.clause)))

    return evolve(rule, apply=apply)


def once(name: str, r: Any, step: Step[Any]) -> Step[Any]:
    """What it has sent, or could have, it sends no more; `name` is that of the rule."""
    sent = step.router.kept.get(name, frozenset())
    fresh = tuple(each for each in step.permits if each.output not in sent)
    kept = {**step.router.kept, name: sent | {each.output for each in step.permits}}
    return Step(evolve(step.router, kept=kept), fresh) if step.permits else step


def held(r: Any, step: Step[Any]) -> Step[Any]:
    """What it sends waits for the heartbeat, which begins with its `release`."""
    kept = {**step.router.kept, HELD: (*step.router.kept.get(HELD, ()), *step.permits)}
    return Step(evolve(step.router, kept=kept)) if step.permits else step


def _release_held(r: Any, _: None, choose: Any) -> Step[Any] | None:
    """What waited for the heartbeat goes to those who are there."""
    waited = r.kept.get(HELD, ())
    left = {name: value for name, value in r.kept.items() if name != HELD}
    there = tuple(each for each in waited if getattr(each.output, "peer", None) in r.peers)
    return Step(evolve(r, kept=left), there) if waited else None


def releasing(protocol: Protocol) -> Protocol:
    """The protocol whose heartbeat begins with what was `held`. Raises SpecError where it has none."""
    beats = protocol.handlers.get(HEARTBEAT)
    if not isinstance(beats, Phases):
        raise SpecError(f"{protocol.name} has no heartbeat")
    released = Rule("release_held", "", _release_held)
    return protocol.extended(protocol.name, **{HEARTBEAT: Phases((released, *beats.rules))})


HEARTBEAT = "heartbeat"
HELD = "held"
"""Of `Router.kept`: what waits for the heartbeat."""


def idle(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(r, step.permits)


def going_on(handler: str, sends: bool, rule: Rule) -> Rule:
    """One of several checks, after which the next ones are made all the same."""

    def apply(r: Any, what: Any, choose: Any) -> Any:
        said = rule.apply(r, what, choose)
        if not isinstance(said, Step):
            return said
        kept = said if sends else Step(said.router)
        # Which checks there are, other edits may have changed.
        checks = r.protocol[handler].rules
        at = next((at for at, each in enumerate(checks) if each.name == rule.name), len(checks))
        then = FirstMatch(checks[at + 1 :])(kept.router, what, choose)
        return kept if then is None else kept.then(then)

    return evolve(rule, apply=apply)


def forgetting(name: str, rule: Rule) -> Rule:
    """The first rule on something that happens: it forgets before what one field of the state has on that. Of
    a topic or a peer, or of a peer in a topic; of everything where nothing is named."""

    def apply(r: Any, what: Any, choose: Any) -> Any:
        old = getattr(r, name)
        kept = {key: value for key, value in old.items() if not _is_about(key, what)}
        forgot = r if len(kept) == len(old) else evolve(r, **{name: kept})
        said = rule.apply(forgot, what, choose)
        return Step(forgot) if said is None and forgot is not r else said

    return evolve(rule, apply=apply)


def _is_about(key: Any, what: Any) -> bool:
    if what is None:
        return True
    peer, other = peer_and_other(key)
    of_peer = what if isinstance(what, int) else getattr(what, "peer", peer)
    of_topic = what if isinstance(what, str) else getattr(getattr(what, "part", None), "topic", other)
    return peer == of_peer and other in ("", of_topic)


def keeping(name: str, rule: Rule) -> Rule:
    def keep(r: Any, step: Step[Any]) -> Step[Any]:
        return Step(evolve(step.router, **{name: getattr(r, name)}), step.permits)

    return after(keep, rule)


def keeping_of(name: str, asked: Whom, rule: Rule) -> Rule:
    """The rule, which leaves one field of the state as it was for some peers. Keys of the field are peers, or
    pairs of a topic and a peer."""

    def of_them(r: Any, key: Any) -> bool:
        topic, peer = key if isinstance(key, tuple) else ("", key)
        return peer in r.peers and bool(asked(r, topic, peer))

    def keep(r: Any, step: Step[Any]) -> Step[Any]:
        old, new = getattr(r, name), getattr(step.router, name)
        if old is new:
            return step
        kept = {key: value for key, value in new.items() if not of_them(r, key)}
        kept |= {key: value for key, value in old.items() if of_them(r, key)}
        return Step(evolve(step.router, **{name: kept}), step.permits)

    return after(keep, rule)


def twice(r: Any, step: Step[Any]) -> Step[Any]:
    # A must that stands twice in one step is owed once: the second is allowed.
    return step.plus(*step.permits)


def bare(r: Any, step: Step[Any]) -> Step[Any]:
    def plain(permit: Permit) -> Permit:
        sent = permit.output
        if isinstance(sent, Sent) and isinstance(sent.part, Prune):
            return evolve(permit, output=Sent(sent.peer, Prune(sent.part.topic)))
        return permit

    return Step(step.router, tuple(map(plain, step.permits)))


def leaving_out(name: str, default: Any) -> Callable[[Any, Step[Any]], Step[Any]]:
    """One optional field of what is sent, or handed over, is left out."""

    def plain(permit: Permit) -> Permit:
        output: Any = permit.output
        part: Any = getattr(output, "part", None)
        if getattr(part, name, default) == default:
            return permit
        return evolve(permit, output=evolve(output, part=evolve(part, **{name: default})))

    return lambda r, step: Step(step.router, tuple(map(plain, step.permits)))


def reading_field(name: str, read: Callable[[Any], Any], rule: Rule) -> Rule:
    """The rule, which reads one field of what it receives in another way, where it is there."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        part: Any = getattr(what, "part", None)
        if getattr(part, name, None):
            what = evolve(what, part=evolve(part, **{name: read(getattr(part, name))}))
        return rule.apply(r, what, *rest)

    return evolve(rule, apply=apply)


def taking_verdict(judgement: str, other: str, rule: Rule) -> Rule:
    """The rule on a verdict, which takes one for another."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        waiting, said = what
        return rule.apply(r, (waiting, other if said == judgement else said), *rest)

    return evolve(rule, apply=apply)


def publishing_with(flaw: str, rule: Rule) -> Rule:
    """The rule, which takes the router's own messages to have this flaw, or a stamp where none is signed. Who
    signs nothing is right there."""

    def apply(r: Any, m: Any, *rest: Any) -> Any:
        unsigned = "" if flaw == "unsigned" else "stamped"
        shown = flaw if r.parameters.signature_policy == "StrictSign" else unsigned
        return rule.apply(r, evolve(m, flaw=shown), *rest)

    return after(_handed_over_plain, evolve(rule, apply=apply))


def _handed_over_plain(r: Any, step: Step[Any]) -> Step[Any]:
    plain = (
        evolve(p, output=Delivered(evolve(p.output.message, flaw="")))
        if isinstance(p.output, Delivered)
        else p
        for p in step.permits
    )
    return Step(step.router, tuple(plain))


def publishing_stale(rule: Rule) -> Rule:
    """The rule, which takes each of the router's own messages but the first one to have a sequence number
    that is not beyond those before."""

    def apply(r: Any, m: Any, *rest: Any) -> Any:
        if r.parameters.signature_policy != "StrictSign":
            return rule.apply(r, m, *rest)
        first = r.kept.get(FIRST_PUBLISHED, m.id)
        step = rule.apply(r, m if first == m.id else evolve(m, flaw="stale-seqno"), *rest)
        # What reached nobody has shown no number.
        if step is None or not any(p.must and isinstance(p.output, Sent) for p in step.permits):
            return step
        kept = {**step.router.kept, FIRST_PUBLISHED: first}
        return Step(evolve(step.router, kept=kept), step.permits)

    return after(_handed_over_plain, evolve(rule, apply=apply))


def to_alone(asked: Whom, rule: Rule) -> Rule:
    def to_these(r: Any, step: Step[Any]) -> Step[Any]:
        kept: list[Permit] = []
        for p in step.permits:
            sent = p.output
            is_one = not isinstance(sent, Sent) or asked(r, getattr(sent.part, "topic", ""), sent.peer)
            if is_one is not False:
                kept.append(p if is_one else evolve(p, must=False))
        return Step(step.router, tuple(kept))

    return after(to_these, rule)


def to_these_too(asked: Whom, rule: Rule) -> Rule:
    return after(_also_to(asked), rule)


def to_one(rule: Rule) -> Rule:
    """The rule, which sends to one peer, any one, what is due to several."""

    def apply(r: Any, *rest: Any) -> Any:
        said, chooser = rule.apply(r, *rest), chooser_in(rest)
        if chooser is None or not isinstance(said, Step):
            return said
        due: dict[Any, list[Permit]] = {}
        for permit in said.permits:
            if (permit.must or permit.together) and isinstance(permit.output, Sent):
                due.setdefault(permit.output.part, []).append(permit)
        spared: set[Output] = set()
        for part, permits in due.items():
            if len(permits) > 1:
                spared |= {p.output for p in permits} - _one_of(part, permits, chooser)
        # What goes to all or to none where it is free goes to the one or to none.
        kept = (p for p in said.permits if p.output not in spared)
        return Step(said.router, tuple(evolve(p, together=False) if p.together else p for p in kept))

    return evolve(rule, apply=apply)


def _one_of(part: Any, permits: Sequence[Permit], chooser: Choose) -> set[Output]:
    peers = frozenset(p.output.peer for p in permits if isinstance(p.output, Sent))

    def shown(peer: int) -> Output:
        return Sent(peer, part)

    among = Targets(frozenset(), peers)
    count = (int(permits[0].must), 1)
    return {*map(shown, chooser.some("one.of-several", permits[0].clause, among, count, reveals=shown))}


def _sending_more(more: Callable[[Any, Any], Iterable[Output]], rule: Rule) -> Rule:
    """The rule, which sends more of what it answers: `more(router, what)`, where that came from a peer."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        said = rule.apply(r, what, *rest)
        if not isinstance(said, Step) or getattr(what, "part", None) is None or not hasattr(what, "peer"):
            return said
        return said.plus(*(Permit(each, True, rule.clause, "now") for each in more(r, what)))

    return evolve(rule, apply=apply)


def passing_on(rule: Rule) -> Rule:
    """The rule, which sends what it answers to all other peers besides."""
    return _sending_more(
        lambda r, what: (Sent(p, what.part) for p in sorted(r.peers) if p != what.peer), rule
    )


def sending_back(rule: Rule) -> Rule:
    """The rule, which sends what it answers back to the peer; a PRUNE with the router's own backoff."""

    def back(r: Any, what: Any) -> Iterator[Output]:
        if what.peer in r.peers and isinstance(what.part, Prune):
            seconds = r.parameters.prune_backoff_s
            yield prune_to(r, what.peer, what.part.topic, seconds, rule.clause).output
        elif what.peer in r.peers:
            yield Sent(what.peer, what.part)

    return _sending_more(back, rule)


FIRST_PUBLISHED = "first-published"
"""Of `Router.kept`: the id of the first message that the router published."""

UNNAMED = frozenset({"no-author", "no-seqno"})
"""Flaws that leave an id by origin nothing to be made of."""


def marking_seen(rule: Rule) -> Rule:
    """The rule, which takes a message for seen although it drops it."""

    def apply(r: Any, m: Any, *rest: Any) -> Any:
        said = rule.apply(r, m, *rest)
        # Without one of the fields that its id is made of it has the id of no other message.
        nameless = r.parameters.message_id == "origin" and m.part.flaw in UNNAMED
        if nameless or not isinstance(said, Step) or m.part.id in said.router.seen:
            return said
        return Step(said.router.with_seen(m.part.id), said.permits)

    return evolve(rule, apply=apply)


def altering(rule: Rule) -> Rule:
    """The rule, which sends messages of others otherwise than they came."""

    def apply(r: Any, *rest: Any) -> Any:
        said, chooser = rule.apply(r, *rest), chooser_in(rest)
        is_passed_on = isinstance(getattr(rest[0], "part", None), Message)

        def altered(part: Any) -> Any:
            if not isinstance(part, Message) or part.author == ROUTER:
                return part
            other = Message(part.id, part.topic, part.author, part.size, "altered")
            if is_passed_on or part.author is not None or chooser is None:
                return other
            # Without authors it is not known which of those in the cache are its own.
            return part if chooser.free("own-message", partial(_sends, part)) else other

        return _sending_as(altered, said) if isinstance(said, Step) else said

    return evolve(rule, apply=apply)


def _sends(part: Any, output: Output) -> bool:
    return isinstance(output, Sent) and output.part == part


def delaying_extensions(r: Any, step: Step[Any]) -> Step[Any]:
    """The extensions that are named come after the subscriptions, if there are any."""

    def delayed(part: Any) -> Any:
        return evolve(part, late=True) if isinstance(part, Extensions) else part

    return _sending_as(delayed, step) if r.topics else step


def _sending_as(change: Callable[[Any], Any], step: Step[Any]) -> Step[Any]:
    sent = (
        evolve(p, output=Sent(p.output.peer, change(p.output.part))) if isinstance(p.output, Sent) else p
        for p in step.permits
    )
    return Step(step.router, tuple(sent))


def to_another(rule: Rule) -> Rule:
    """The rule, which sends to another peer what is due to the one that it answers."""

    def apply(r: Any, what: Any, choose: Any) -> Any:
        said, asking = rule.apply(r, what, choose), getattr(what, "peer", None)
        others = sorted(r.peers.keys() - {asking})
        if not isinstance(said, Step) or asking not in r.peers or not others:
            return said
        found: list[Permit] = []
        for permit in said.permits:
            sent = permit.output
            if isinstance(sent, Sent) and sent.peer == asking and permit.must:
                chosen = _one_of(
                    sent.part, [evolve(permit, output=Sent(p, sent.part)) for p in others], choose
                )
                found += [evolve(permit, output=each) for each in chosen]
            else:
                found.append(permit)
        return Step(said.router, tuple(found))

    return evolve(rule, apply=apply)


class _FaultyChoose:
    """A chooser that is asked for peers who show by a message that breaks the format."""

    def __init__(self, choose: Choose, change: Callable[[Output], Output]) -> None:
        self._choose, self._change = choose, change

    def some(
        self, name: str, clause: str, among: Targets, count: tuple[int, int], *, reveals: Reveals, **more: Any
    ) -> frozenset[int]:
        def shown(peer: int) -> tuple[Output, ...]:
            usual = reveals(peer)
            return tuple(map(self._change, usual if isinstance(usual, tuple) else (usual,)))

        if count == (1, 1) and among.all:
            # Two of these messages look alike, so that one may show two choices.
            *others, last = sorted(among.all)
            return frozenset(
                {next((p for p in others if self._choose.free(name, partial(_among, shown(p)))), last)}
            )
        return self._choose.some(name, clause, among, count, reveals=shown, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._choose, name)


def _among(outputs: tuple[Output, ...], output: Output) -> bool:
    return output in outputs


def misforming(kinds: tuple[type, ...], fault: Fault, rule: Rule) -> Rule:
    """The rule, which sends what is of these kinds with a fault in its format."""

    def change(output: Output) -> Output:
        if isinstance(output, Sent) and isinstance(output.part, kinds):
            return Sent(output.peer, Stray(fault))
        return output

    def misformed(r: Any, step: Step[Any]) -> Step[Any]:
        return Step(step.router, tuple(evolve(p, output=change(p.output)) for p in step.permits))

    def apply(r: Any, *rest: Any) -> Any:
        chooser = chooser_in(rest)
        return (
            rule.apply(r, *rest)
            if chooser is None
            else rule.apply(r, *rest[:-1], _FaultyChoose(chooser, change))
        )

    return after(misformed, evolve(rule, apply=apply))


def setting(name: str, value: bool) -> Callable[[Any, Step[Any]], Step[Any]]:
    """One field of the state is that, whatever it was."""
    return lambda r, step: Step(evolve(step.router, **{name: value}), step.permits)


def everybody(r: Any, step: Step[Any]) -> Step[Any]:
    return _also_to(lambda r, topic, p: True)(r, step)


def _also_to(asked: Whom) -> Callable[[Any, Step[Any]], Step[Any]]:
    """What some peers are sent is sent to those who are asked for as well."""

    def and_to_these(r: Any, step: Step[Any]) -> Step[Any]:
        sent = {p.output.part: p for p in step.permits if isinstance(p.output, Sent)}
        told = {(p.output.part, p.output.peer) for p in step.permits if isinstance(p.output, Sent)}
        more: list[Permit] = []
        for part, permit in sent.items():
            for peer in sorted(r.peers):
                is_one = (part, peer) not in told and asked(r, getattr(part, "topic", ""), peer)
                if is_one is not False:
                    must = permit.must and is_one is True
                    more.append(evolve(permit, output=Sent(peer, part), must=must))
        return step.plus(*more)

    return and_to_these


Whom: TypeAlias = Callable[[Any, str, int], bool | None]
"""(router, topic or nothing, peer) -> whether it is one of them; None where that has not shown."""

WHOM: Mapping[str, tuple[str, Whom]] = {
    "members": ("peers in the topic", lambda r, topic, p: topic in r.peers[p].topics),
    "strangers": ("peers that are not in the topic", lambda r, topic, p: topic not in r.peers[p].topics),
    "mesh": ("the mesh", lambda r, topic, p: p in r.mesh_of(topic)),
    "others": ("peers outside the mesh", lambda r, topic, p: p not in r.mesh_of(topic)),
    "outsiders": ("peers that are in no mesh", lambda r, _, p: not any(p in m for m in r.mesh.values())),
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


def waits_for_slot(n: Any, peer: int) -> bool | None:
    held = [known.holds(peer) for known in n.slots.values()]
    return False if True in held or not held else None if None in held else True


MEMPOOL_WHOM: Mapping[str, tuple[str, Whom]] = {
    "persistent": ("persistent peers", lambda n, _, p: p in n.parameters.persistent_peers),
    "passing": ("peers that are not persistent", lambda n, _, p: p not in n.parameters.persistent_peers),
    "waiting": ("peers that wait for a slot", lambda n, _, p: waits_for_slot(n, p)),
}
"""The same of a mempool node."""


def of_all_peers(rule: Rule) -> Rule:
    """The base of a set, which takes every connected peer."""
    return evolve(rule, apply=lambda r, *_: frozenset(r.peers))


def deaf_to(asked: Whom, rule: Rule) -> Rule:
    """The rule, which does not come in where what it handles is from one of those peers."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        peer: Any = getattr(what, "peer", None)
        topic = getattr(getattr(what, "part", None), "topic", "")
        is_one, chooser = peer in r.peers and asked(r, topic, peer), chooser_in((what, *rest))
        if is_one is None and chooser is not None:
            is_one = chooser.free("deaf-to")
        return None if is_one else rule.apply(r, what, *rest)

    return evolve(rule, apply=apply)


def overlooking(flaws: frozenset[str], rule: Rule) -> Rule:
    """The rule, which takes a message with one of those flaws for a good one."""
    return reading_field("flaw", lambda flaw: "" if flaw in flaws else flaw, rule)


NEWEST, OLDEST = "/meshsub/9", "/floodsub/1.0.0"


def every_neighbour(change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda r: evolve(r, peers={p: change(r, n) for p, n in r.peers.items()})


def all_in_mesh(r: Any) -> Any:
    topics = {*r.topics, *r.mesh}
    return evolve(r, mesh={t: r.mesh_speakers(t) for t in topics})


CHOOSER = "set_of"
"""What a rule calls to have other rules choose peers."""
KNOWING = frozenset({"knows_backoff", "knows_idontwant", "knows_extensions"})
"""What is asked of a peer for which newer versions have an answer."""
SPEAKING = KNOWING | {"speaks_floodsub", CHOOSER}

VIEWS: Mapping[str, tuple[frozenset[str], str, Callable[[Any], Any]]] = {
    "all-in-mesh": (frozenset({"mesh"}), "Treats all peers in the topic as mesh members", all_in_mesh),
    "all-outbound": (
        frozenset({"outbound"}),
        "Treats all peers as outbound",
        every_neighbour(lambda r, n: evolve(n, outbound=True)),
    ),
    "all-inbound": (
        frozenset({"outbound"}),
        "Treats all peers as inbound",
        every_neighbour(lambda r, n: evolve(n, outbound=False)),
    ),
    "all-in-topic": (
        frozenset({"topics"}),
        "Treats all peers as subscribed to every topic",
        every_neighbour(lambda r, n: evolve(n, topics=n.topics | r.topics)),
    ),
    "all-newest": (
        SPEAKING,
        "Treats peers of every version, floodsub too, as speakers of the newest",
        every_neighbour(lambda r, n: evolve(n, protocol=NEWEST)),
    ),
    "gossipsub-newest": (
        KNOWING,
        "Treats all gossipsub peers as speakers of the newest version",
        every_neighbour(lambda r, n: n if n.speaks_floodsub else evolve(n, protocol=NEWEST)),
    ),
    "all-floodsub": (
        SPEAKING,
        "Treats all peers as floodsub peers",
        every_neighbour(lambda r, n: evolve(n, protocol=OLDEST)),
    ),
}
"""Word -> what a rule asks that it matters to, words, what the rule sees. Of a pubsub router."""


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


def of_anybody(name: str, over_others: bool, rule: Rule) -> Rule:
    """The rule, which sees of each peer what there is of any of them in one field of the state. With
    `over_others`, where the field is of a peer and a topic or an id: what there is of the peer in all."""

    def alter(r: Any) -> Any:
        return evolve(r, **{name: _united(getattr(r, name), r, over_others)})

    def restore(after: Any, r: Any) -> Any:
        own, now = getattr(r, name), getattr(after, name)
        seen = _united(own, r, over_others)
        kept = {key: value for key, value in own.items() if key in now or key not in seen}
        added = {key: value for key, value in now.items() if key not in seen or seen[key] != value}
        return evolve(after, **{name: {**kept, **added}})

    return seeing(alter, restore, rule)


def _united(field: Mapping[Any, Any], r: Any, over_others: bool) -> dict[Any, Any]:
    """Keys are peers, pairs of a topic and a peer, or pairs of a peer and an id."""

    def place(key: Any) -> Any:
        peer, other = peer_and_other(key)
        return peer if over_others else other

    found: dict[Any, Any] = {}
    for key, value in field.items():
        found[place(key)] = _both(found[place(key)], value) if place(key) in found else value
    whole = dict(field)
    others = {peer_and_other(key)[1] for key in field if isinstance(key, tuple)}
    peer_first = any(isinstance(key, tuple) and isinstance(key[0], int) for key in field)
    # An id or a topic of which there is nothing yet is one of them too.
    others.update(getattr(r, "cached" if peer_first else "topics", ()) if others else ())
    for peer in r.peers:
        pairs = [(peer, other) if peer_first else (other, peer) for other in others]
        for key in pairs or [peer]:
            if place(key) in found:
                whole[key] = found[place(key)]
    return whole


def peer_and_other(key: Any) -> tuple[int, str]:
    """The peer of a key of the state, and the topic or the id; nothing where it is a peer alone."""
    if not isinstance(key, tuple):
        return key, ""
    return key if isinstance(key[0], int) else (key[1], key[0])


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, Mapping):
        return {**one, **other}
    if isinstance(one, frozenset):
        return one | other
    return max(one, other) if isinstance(one, int | float) else max(one, other, key=repr)


def nothing_of(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {}
    return not value if isinstance(value, bool) else type(value)()


def all_in_pool(n: Any) -> Any:
    gone = dict.fromkeys(sorted(n.cache - n.pool.keys()), ())
    return evolve(n, pool={**n.pool, **gone})


def last_sender_first(n: Any) -> Any:
    return evolve(n, pool={tx: senders[::-1] for tx, senders in n.pool.items()})


MEMPOOL_VIEWS: Mapping[str, tuple[frozenset[str], str, Callable[[Any], Any]]] = {
    "all-in-pool": (
        frozenset({"pool"}),
        "Treats transactions that have left its pool as pooled",
        all_in_pool,
    ),
    "last-sender-first": (
        frozenset({"first_sender"}),
        "Takes the last sender of a transaction for the first",
        last_sender_first,
    ),
}
"""The same of a mempool node."""


def sees(view: str, rule: Rule) -> Rule:
    def restore(after: Any, r: Any) -> Any:
        if view == "last-sender-first":
            return evolve(after, pool=r.pool)
        if view == "all-in-pool":
            seen = all_in_pool(r).pool
            kept = {tx: by for tx, by in after.pool.items() if tx in r.pool or by != seen.get(tx)}
            return evolve(after, pool=kept)
        # A rule that acts on a mesh of everybody gives back its own mesh; peers stay who they are.
        return after if view == "all-in-mesh" else evolve(after, peers=r.peers)

    return seeing({**VIEWS, **MEMPOOL_VIEWS}[view][2], restore, rule)


# -- for how many topics it acts ----------------------------------------------------------------------------

TOPICS_OF_HEARTBEAT = ("mesh", "fanout")
"""Fields of the state that have something of each topic for a rule of a heartbeat."""

TOPIC_ORDERS: Mapping[str, tuple[str, Callable[[Iterable[str]], Iterable[str]]]] = {
    "by-name": ("topics in order of their names", sorted),
    "by-age": ("oldest topic first", lambda topics: topics),
}
"""Word -> words, topics in the order in which a router goes through them."""

TOPIC_ENDS: Mapping[str, tuple[str, Callable[[bool], bool]]] = {
    "one-topic": ("Acts in one topic alone", lambda acted: True),
    "until-idle": ("Stops at the first topic in which nothing is to be done", lambda acted: not acted),
    "until-done": ("Stops after the first topic in which something is done", lambda acted: acted),
    "last-left-out": ("Leaves its last topic out", lambda acted: False),
}
"""Word -> words, whether a router that did something in one topic, or did not, goes on to no other one."""
LAST_LEFT_OUT = "last-left-out"


def for_some_topics(order: str, end: str, rule: Rule) -> Rule:
    """A rule of a heartbeat, which goes through its topics and ends before the last one."""
    in_order, is_over = TOPIC_ORDERS[order][1], TOPIC_ENDS[end][1]
    named = [name for name in TOPICS_OF_HEARTBEAT if name in names_read(rule)]

    def apply(r: Any, what: Any, choose: Any) -> Any:
        done: Step[Any] | None = None
        topics = [*in_order(dict.fromkeys(chain.from_iterable(getattr(r, name) for name in named)))]
        for topic in topics[:-1] if end == LAST_LEFT_OUT else topics:
            step = _of_topic_alone(topic, rule).apply(r if done is None else done.router, what, choose)
            if step is not None:
                done = step if done is None else done.then(step)
            if is_over(step is not None):
                break
        return done

    return evolve(rule, apply=apply)


def for_every_topic(rule: Rule) -> Rule:
    """The rule, which does for each topic of the router what it should for the one that a message names."""

    def apply(r: Any, what: Any, choose: Any) -> Any:
        done: Step[Any] | None = None
        # Who has not joined the topic has looked it up already.
        others = sorted(r.topics) if what.part.topic in r.topics else ()
        for topic in dict.fromkeys((what.part.topic, *others)):
            named = evolve(what, part=evolve(what.part, topic=topic))
            step = rule.apply(r if done is None else done.router, named, choose)
            if step is not None:
                done = step if done is None else done.then(step)
        return done

    return evolve(rule, apply=apply)


def _of_topic_alone(topic: str, rule: Rule) -> Rule:
    def alter(r: Any) -> Any:
        mesh, fanout = ({t: of[t] for t in of if t == topic} for of in (r.mesh, r.fanout))
        return evolve(r, mesh=mesh, fanout=fanout)

    def restore(after: Any, r: Any) -> Any:
        mesh, fanout = (
            {t: now[t] if t == topic else own[t] for t in own if t != topic or t in now}
            for own, now in ((r.mesh, after.mesh), (r.fanout, after.fanout))
        )
        return evolve(after, mesh=mesh, fanout=fanout)

    return seeing(alter, restore, rule)


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
            # Who may be chosen and need not be is not there to a router that takes all.
            surely = max(least, len(among.must))
            count = (min(least + 1, surely), min(most + 1, pool))
        elif self._how == "fewer":
            count = (max(least - 1, 0), max(most - 1, 0))
        elif self._how == "none":
            count = (0, 0)
        elif self._how == "all":
            count = (pool, pool)
        condition = self._condition(such_that, among.all)
        return self._choose.some(name, clause, among, count, reveals=reveals, such_that=condition)

    def _condition(self, such_that: Any, pool: frozenset[int]) -> Any:
        """One too many or too few is one beside a right choice: the condition need not hold of all of it."""
        if such_that is None or self._how == "any":
            return None
        if self._how == "more":
            return lambda chosen: such_that(chosen) or any(such_that(chosen - {p}) for p in chosen)
        if self._how == "fewer":
            return lambda chosen: such_that(chosen) or any(such_that(chosen | {p}) for p in pool - chosen)
        return such_that

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


def own_protocol(after: Any, r: Any) -> Any:
    return evolve(after, protocol=r.protocol)


def taking(exclusion: str, rule: Rule) -> Rule:
    """The rule, for which nobody is left out of a set by that exclusion; other rules leave them out."""
    return seeing(lambda r: evolve(r, protocol=_without(r.protocol, exclusion)), own_protocol, rule)


@lru_cache(maxsize=1024)
def _without(protocol: Protocol, exclusion: str) -> Protocol:
    """Another edit may have dropped it."""
    known = any(each.name == exclusion for _, each in protocol.rules())
    return protocol.without_rule(exclusion) if known else protocol


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


def reading_all(names: Sequence[str], more: int, rule: Rule) -> Rule:
    """The rule, which takes each of those limits for one that is so much more. 0 is none, and stays so."""
    for name in names:
        rule = reading_parameter(name, partial(_plus, name, more), rule)
    return rule


def _plus(name: str, more: int, parameters: Any) -> int:
    value: int = getattr(parameters, name)
    return value + more if value else 0


def reading_score_parameter(name: str, change: Callable[[Any], float], rule: Rule) -> Rule:
    """The rule, which takes for a parameter of scores, or of each topic's, what `change` makes of them."""

    def apply(r: Any, *rest: Any) -> Any:
        scores = r.parameters.scores
        if scores is None:
            return rule.apply(r, *rest)
        # A term of one topic is given the parameters of that topic.
        told = tuple(_of_topic_too(each, name, change) for each in rest)
        changed = with_parameter(r.parameters, "scores", _with_score_parameter(scores, name, change))
        said = rule.apply(evolve(r, parameters=changed), *told)
        return Step(own_parameters(said.router, r), said.permits) if isinstance(said, Step) else said

    return evolve(rule, apply=apply)


def _of_topic_too(given: Any, name: str, change: Callable[[Any], float]) -> Any:
    if not isinstance(given, tuple):
        return given
    return tuple(
        _with_score_parameter(each, name, change) if isinstance(each, TopicScoreParameters) else each
        for each in given
    )


@lru_cache(maxsize=1024)
def _with_score_parameter(parameters: Any, name: str, change: Callable[[Any], float]) -> Any:
    if hasattr(parameters, name):
        return with_parameter(parameters, name, change(parameters))
    topics = getattr(parameters, "topics", ())
    if not topics:
        return parameters
    return with_parameter(
        parameters, "topics", tuple(_with_score_parameter(each, name, change) for each in topics)
    )


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


SQUARES = "squared"


def squares(rule: Rule) -> bool:
    """Whether the function of the rule itself squares a number."""
    return isinstance(rule.apply, FunctionType) and SQUARES in rule.apply.__code__.co_names


def unsquared(rule: Rule) -> Rule:
    """The rule, which takes the number itself where it squares one. Its function is given another name to
    call, because what it makes of the square afterwards cannot be undone."""
    if not squares(rule):
        return rule
    old: Any = rule.apply
    names = tuple(ScoreInterval.unsquared.__name__ if n == SQUARES else n for n in old.__code__.co_names)
    code = old.__code__.replace(co_names=names)
    made = FunctionType(code, old.__globals__, old.__name__, old.__defaults__, old.__closure__)
    return evolve(rule, apply=made)


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


def times_in_sum(numerator: int, denominator: int, rule: Rule) -> Rule:
    """As `times`, where the rule is a term among others: alone it is a number."""
    scaled = times(numerator, denominator, rule)

    def apply(r: Any, *rest: Any) -> Any:
        return (rule if r.parameters.scores is None else scaled).apply(r, *rest)

    return evolve(rule, apply=apply)


def plus(more: int, rule: Rule) -> Rule:
    """The rule, whose number is so much more."""
    return evolve(rule, apply=lambda *given: rule.apply(*given) + more)
