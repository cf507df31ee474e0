"""Quirks: known one-edit departures of routers, by which the root cause of a failure is named.

A departure is explained by the smallest edit of the protocol under which model and router agree again: a
reading (`quidnunc.model.readings`), a dropped rule, or one of the replaced rules below, which were seen in
the field. A quirk turns nothing green; it keeps one failure from hiding the next, and makes a router, as
built, a difference to the specification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, cast

from attrs import evolve, field, frozen

from quidnunc.model import gossip, mesh, messages
from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Output, Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.readings import READINGS
from quidnunc.model.router import BACKOFF_SWEEP_HEARTBEATS, Fanout, From, Heard, Router, Waiting
from quidnunc.model.rpc import Graft, IHave, IWant, Message, Peer, Prune
from quidnunc.model.rules import Phases, Protocol, Rule, Targets, Without, rule, total
from quidnunc.model.step import run

QuirkKind: TypeAlias = Literal["reading", "dropped", "replaced"]


@frozen
class Quirk:
    """One edit of a protocol: what it is called, which clause it breaks, and the edit."""

    name: str
    kind: QuirkKind
    clause: str
    says: str
    edit: Callable[[Protocol], Protocol] = field(eq=False)


@frozen
class Around:
    """A change of a rule that goes on using the rule as it is, with other quirks in it perhaps."""

    clause: str
    apply: Callable[..., object]

    def of(self, old: Rule) -> Rule:
        return Rule(old.name, self.clause, lambda *arguments: self.apply(old, *arguments), old.doc)


def around(clause: str) -> Callable[[Callable[..., object]], Around]:
    """Make a change of a rule from `function(old, router, what, choose)`."""
    return lambda function: Around(clause, function)


# -- replaced rules: mesh and backoff -----------------------------------------------------------------------


@rule("gs1.1/backoff.regraft")
def backing_off_in_whole_seconds(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
    """The end of the backoff is cut to whole seconds, so that up to a second of it is missing."""
    inside = r.now_ms // 1000 < r.ends_backoff_ms(g.part.topic, g.peer) // 1000
    return mesh.refuse_and_back_off(r, g, "gs1.1/backoff.regraft") if inside else None


@rule("gs1.1/backoff.both-ends")
def free_in_last_second(r: Router, topic: str, peer: Peer) -> bool | None:
    ends = r.ends_backoff_ms(topic, peer)
    if r.now_ms // 1000 < ends // 1000:
        return True
    swept = ends + BACKOFF_SWEEP_HEARTBEATS * r.parameters.heartbeat_interval_ms
    return None if ends and r.now_ms < swept else False


@rule("gs1.1/backoff.regraft")
def refused_without_extension(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT inside the backoff is pruned, and the backoff stays as it was."""
    inside = r.now_ms < r.ends_backoff_ms(g.part.topic, g.peer)
    return mesh.refuse(r, g, "gs1.1/backoff.regraft") if inside else None


@around("gs1.1/backoff.announce")
def cut_with_bare_prune(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The PRUNEs of the heartbeat announce no backoff."""
    return _bare(old.step(r, None, choose))


def _bare(step: Step[object] | None) -> Step[Router] | None:
    if step is None:
        return None
    permits = tuple(
        evolve(p, output=Sent(p.output.peer, Prune(p.output.part.topic)))
        if isinstance(p.output, Sent) and isinstance(p.output.part, Prune)
        else p
        for p in step.permits
    )
    return Step(cast("Router", step.router), permits)


@rule("gs1.0/heartbeat.cut")
def cut_at_d_high(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The mesh is cut at D_high already, not above it."""

    def cut(r: Router, topic: str) -> Step[Router] | None:
        return mesh._cut(r, topic, choose) if len(r.mesh[topic]) >= r.parameters.d_high else None

    return mesh.each_topic(r, cut)


def without_leaks(heartbeat: bool, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """A heartbeat whose control lists are shared: each grafted peer is told all that those before it were.

    Sorted by length, each peer's own part is what its list adds to the one before; where the lists do not
    grow in that way, nothing is read into them.
    """
    control: dict[Peer, Counter[Output]] = {}
    for o in outputs:
        if isinstance(o, Sent) and isinstance(o.part, Graft | Prune | IHave):
            control.setdefault(o.peer, Counter())[Sent(0, o.part)] += 1
    grafted = {o.peer for o in outputs if isinstance(o, Sent) and isinstance(o.part, Graft)}
    if not heartbeat:
        return outputs
    outputs = _without_stale_gossip(outputs, grafted)
    chain = sorted(grafted, key=lambda p: (control[p].total(), p))
    own: dict[Peer, Counter[Output]] = {}
    before: Counter[Output] = Counter()
    for peer in chain:
        if before - control[peer]:
            return outputs
        own[peer] = control[peer] - before
        before = control[peer]
    kept = []
    for o in outputs:
        if isinstance(o, Sent) and o.peer in own and isinstance(o.part, Graft | Prune | IHave):
            left = own[o.peer]
            if not left[Sent(0, o.part)]:
                continue
            left[Sent(0, o.part)] -= 1
        kept.append(o)
    return tuple(kept)


def _without_stale_gossip(outputs: tuple[Output, ...], grafted: set[Peer]) -> tuple[Output, ...]:
    """Who is pruned is told the gossip of the peer before it, where there is none for itself. Which of them
    it was can not be told, so none of it is read."""
    pruned = {o.peer for o in outputs if isinstance(o, Sent) and isinstance(o.part, Prune)} - grafted
    return tuple(
        o for o in outputs if not (isinstance(o, Sent) and o.peer in pruned and isinstance(o.part, IHave))
    )


@rule("gs1.1/threshold.graylist")
def prune_graylisted(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
    """Of a graylisted peer only the GRAFT is refused; the rest of its RPCs is taken."""
    low = r.score(g.peer) < r.parameters.graylist_threshold and not r.is_explicit(g.peer)
    return mesh.refuse(r, g, "gs1.1/threshold.graylist") if low else None


# -- replaced rules: messages -------------------------------------------------------------------------------


@rule("gs1.0/relay.seen")
def wait_unmarked(r: Router, m: From[Message], choose: Choose) -> Step[Router] | None:
    """A copy that comes while another one is validated is taken for a first copy too."""
    waiting = r.waiting.get(m.part.id)
    if waiting is None:
        return None
    also = evolve(waiting, also=(*waiting.also, m.peer))
    told = run(evolve(r, waiting={**r.waiting, m.part.id: also}), "announce", m, choose)
    return told


@rule("gs1.1/validation.accept")
def accept_each_copy(r: Router, v: tuple[Waiting, str], choose: Choose) -> Step[Router] | None:
    """Every copy that came meanwhile is delivered and forwarded."""
    waiting, judgement = v
    if judgement != "accept":
        return None
    found: Step[Router] = Step(r)
    for forwarder in (waiting.forwarder, *waiting.also):
        m = From(forwarder, waiting.message)
        told = found.then(run(found.router, "announce", m, choose))
        found = told.then(run(told.router, "accepted", m, choose))
    return found


@around("gs1.0/relay.seen")
def request_while_validating(old: Rule, r: Router, g: From[IHave], choose: Choose) -> Step[Router]:
    """What is being validated is requested again."""
    again = [i for i in dict.fromkeys(g.part.ids) if i in r.waiting]
    step = cast("Step[Router]", old.step(r, g, choose))
    return step.plus(*(Permit(Sent(g.peer, IWant((i,))), False, "gs1.0/relay.seen") for i in again))


@around("gs1.0/publish.mesh")
def publish_sparing_low(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """Graylisted members of the mesh get no own messages."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    if step is None:
        return None
    low = {p for p in r.mesh_of(m.topic) if r.score(p) < r.parameters.graylist_threshold}
    spared = {p for p in low if not r.is_explicit(p)}
    kept = tuple(p for p in step.permits if not (isinstance(p.output, Sent) and p.output.peer in spared))
    return Step(step.router, kept)


@around("gs1.0/publish.fanout")
def fanout_sparing_low(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """And for the fanout, where they take a place all the same."""
    pool = r.protocol.set_of("fanout_candidates", r, m.topic, choose).all | r.fanout_of(m.topic).all
    low = frozenset(p for p in pool if r.score(p) < r.parameters.graylist_threshold)
    if low:
        kept, d = r.fanout_of(m.topic), r.parameters.d
        rest = pool - low
        most = min(d, len(rest))
        hidden = PartialSet(kept.must - low, rest - kept.must, max(0, min(d, len(pool)) - len(low)), most)
        r = evolve(r, fanout={**r.fanout, m.topic: Fanout(hidden, r.now_ms)})
        if not rest:
            return Step(r)
    return cast("Step[Router]", old.step(r, m, choose))


@around("gs1.0/relay.mesh")
def relay_where_announced(old: Rule, r: Router, m: From[Message]) -> Targets:
    """Nothing is relayed in a topic that no peer has announced, to whoever is in its mesh."""
    if not r.members(m.part.topic):
        return Targets(frozenset(), messages.connected_explicit(r))
    base = old.apply(r, m)
    return base if isinstance(base, Targets) else Targets()


@around("gs1.0/relay.mesh")
def cut_where_announced(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Nor is the mesh of such a topic cut."""
    silent = {t: members for t, members in r.mesh.items() if not r.members(t)}
    rest = evolve(r, mesh={t: members for t, members in r.mesh.items() if t not in silent})
    step = cast("Step[Router] | None", old.step(rest, None, choose))
    if step is None:
        return None
    return Step(evolve(step.router, mesh={**step.router.mesh, **silent}), step.permits)


@around("gs1.0/publish.mesh")
def publish_where_announced(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """The same for own messages."""
    if m.topic not in r.topics or r.members(m.topic):
        return cast("Step[Router] | None", old.step(r, m, choose))
    return Step(r)


@rule("gs1.1/score.application")
def no_application_score(r: Router, peer: Peer) -> int:
    """The application's score does not count at the publish and gossip thresholds."""
    return 0


@around("gs1.0/publish.fanout")
def publish_to_topped_up_fanout(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """A fanout below D is filled at each publish, not by the heartbeat alone."""
    kept = r.fanout_of(m.topic)
    pool = r.protocol.set_of("fanout_candidates", r, m.topic, choose)
    if kept.all and kept.least < r.parameters.d:
        d = r.parameters.d
        wider = PartialSet(
            kept.must,
            (kept.may | pool.all) - kept.must,
            min(d, len(kept.must | pool.must)),
            max(kept.most, min(d, len(kept.all | pool.all))),
        )
        r = evolve(r, fanout={**r.fanout, m.topic: Fanout(wider, r.now_ms)})
    found = old.step(r, m, choose)
    return cast("Step[Router]", found)


# -- replaced rules: gossip ---------------------------------------------------------------------------------


@rule("gs1.1/gossip.adaptive")
def spared_in_backoff(r: Router, topic: str, peer: Peer) -> bool | None:
    """Peers in backoff get no gossip."""
    return cast("bool | None", mesh.backing_off.apply(r, topic, peer))


@around("pubsub/id.supplied")
def gossip_by_origin_id(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The message cache goes by author and seqno where another id function is configured."""
    if r.parameters.message_id == "origin":
        return cast("Step[Router] | None", old.step(r, None, choose))
    renamed = evolve(
        r,
        cached={f"{i}@origin": m for i, m in r.cached.items()},
        windows=tuple(tuple(f"{i}@origin" for i in window) for window in r.windows),
    )
    step = old.step(renamed, None, choose)
    return Step(r, step.permits) if step is not None else None


@rule("pubsub/id.supplied")
def serve_by_origin_id(r: Router, g: From[IWant], choose: Choose) -> Step[Router] | None:
    """An IWANT by the configured id finds nothing in the cache."""
    if r.parameters.message_id == "origin":
        return None
    return Step(r)


@around("gs1.0/rpc.control-fields")
def request_by_decoded_id(old: Rule, r: Router, g: From[IHave], choose: Choose) -> Step[Router]:
    """Ids that look like hexadecimal text are decoded, and so never recognised."""
    if r.parameters.message_id != "hex":
        return cast("Step[Router]", old.step(r, g, choose))
    heard = r.heard.get(g.peer, Heard())
    r = evolve(r, heard={**r.heard, g.peer: evolve(heard, ihaves=heard.ihaves + 1)})
    asked = (Sent(g.peer, IWant((f"{i}@content",))) for i in dict.fromkeys(g.part.ids))
    return Step(r, tuple(Permit(o, False, "gs1.0/rpc.control-fields", "now") for o in asked))


@rule("gs1.0/rpc.control-fields")
def serve_by_decoded_id(r: Router, g: From[IWant], choose: Choose) -> Step[Router] | None:
    """An IWANT by such an id finds nothing."""
    return Step(r) if r.parameters.message_id == "hex" else None


def _spelled(message_id: str, r: Router, spelling: str) -> str:
    """How an id of the message cache looks on the wire, where the cache goes by author and seqno."""
    plain = message_id if r.parameters.message_id == "origin" else f"{message_id}@origin"
    return f"{plain}@{spelling}"


def _gossip_spelled(spelling: str) -> Around:
    def gossip_respelled(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
        renamed = evolve(
            r,
            cached={_spelled(i, r, spelling): m for i, m in r.cached.items()},
            windows=tuple(tuple(_spelled(i, r, spelling) for i in window) for window in r.windows),
        )
        step = cast("Step[Router] | None", old.step(renamed, None, choose))
        return Step(r, step.permits) if step is not None else None

    return Around("pubsub/id.supplied", gossip_respelled)


@rule("pubsub/id.supplied")
def request_in_hex(r: Router, g: From[IHave], choose: Choose) -> Step[Router]:
    """Unseen ids are requested in hexadecimal digits, which nobody else knows for ids."""
    ids = [i for i in dict.fromkeys(g.part.ids) if i not in r.seen]
    asked = (Sent(g.peer, IWant((f"{i}@hexed",))) for i in ids)
    return Step(r, tuple(Permit(o, False, "pubsub/id.supplied", "now") for o in asked))


@rule("pubsub/id.supplied")
def request_all(r: Router, g: From[IHave], choose: Choose) -> Step[Router]:
    """No id is recognised as seen, because ids are kept as text; all are requested."""
    asked = (Sent(g.peer, IWant((i,))) for i in dict.fromkeys(g.part.ids))
    return Step(r, tuple(Permit(o, False, "pubsub/id.supplied", "now") for o in asked))


REPLACED: tuple[tuple[str, str, str, Callable[[Protocol], Protocol]], ...] = (
    (
        "unknown-topic-graft-pruned",
        "gs1.1/graft.unknown-topic",
        "A GRAFT for a topic that the router is not in is answered with PRUNE.",
        lambda p: p.with_rule("unknown_topic", mesh.prune_unsubscribed),
    ),
    (
        "backoff-in-whole-seconds",
        "gs1.1/backoff.regraft",
        "The end of a backoff is cut to whole seconds.",
        lambda p: _all(
            p, ("while_backing_off", backing_off_in_whole_seconds), ("backing_off", free_in_last_second)
        ),
    ),
    (
        "refusal-does-not-extend",
        "gs1.1/backoff.regraft",
        "A GRAFT inside the backoff is refused, and the backoff is not extended.",
        lambda p: p.with_rule("while_backing_off", refused_without_extension),
    ),
    (
        "heartbeat-prunes-bare",
        "gs1.1/backoff.announce",
        "The PRUNEs of the heartbeat announce no backoff.",
        lambda p: _all(p, ("cut_to_d", cut_with_bare_prune), ("drop_negative", cut_with_bare_prune)),
    ),
    (
        "cut-at-d-high",
        "gs1.0/heartbeat.cut",
        "The mesh is cut at D_high, not above it.",
        lambda p: p.with_rule("cut_to_d", cut_at_d_high),
    ),
    (
        "control-lists-shared",
        "gs1.0/join.graft-each",
        "The heartbeat's control lists are shared between peers: one is told what was meant for another.",
        lambda p: evolve(p, lens=without_leaks, features=p.features | {"gossip-count-hidden"}),
    ),
    (
        "seen-after-validation",
        "gs1.0/relay.seen",
        "A message is marked seen only when its validation is over, so that copies that come meanwhile are "
        "delivered and forwarded again.",
        lambda p: _all(
            p.with_first("message", wait_unmarked),
            ("accepted_by_validator", accept_each_copy),
            ("request_unseen", request_while_validating),
        ),
    ),
    (
        "relay-needs-a-subscriber",
        "gs1.0/relay.mesh",
        "A mesh whose topic no peer has announced gets no messages, and is not cut.",
        lambda p: _all(
            p,
            ("mesh_floodsub_and_explicit", relay_where_announced),
            ("publish_to_mesh", publish_where_announced),
            ("cut_to_d", cut_where_announced),
        ),
    ),
    (
        "gates-ignore-application-score",
        "gs1.1/score.application",
        "The publish and gossip thresholds are held against the topic scores alone.",
        lambda p: _all(
            evolve(p, handlers={**p.handlers, "gate": total(no_application_score)}),
            ("publish_to_mesh", publish_sparing_low),
            ("publish_to_fanout", fanout_sparing_low),
        ),
    ),
    (
        "graylist-refuses-grafts-only",
        "gs1.1/threshold.graylist",
        "RPCs of graylisted peers are taken; only their GRAFTs are refused.",
        lambda p: p.without_rule("ignore_graylisted").with_first("graft", prune_graylisted),
    ),
    (
        "control-before-payload",
        "gs1.0/rpc.payload-first",
        "The control part of an RPC is processed before its payload.",
        lambda p: _payload_last(p),
    ),
    (
        "fanout-filled-at-publish",
        "gs1.0/publish.fanout",
        "A fanout below D is filled at each publish.",
        lambda p: _all(p, ("publish_to_fanout", publish_to_topped_up_fanout)),
    ),
    (
        "no-gossip-in-backoff",
        "gs1.1/gossip.adaptive",
        "Peers in backoff get no gossip.",
        lambda p: _excluding(p, "gossip_candidates", spared_in_backoff),
    ),
    (
        "iwant-unbounded",
        "gs1.1/iwant.retransmission",
        "IWANT for one message is answered without bound.",
        lambda p: p.with_rule("serve_within_bound", gossip.serve),
    ),
    (
        "ids-sent-as-hex",
        "pubsub/id.supplied",
        "IHAVE and IWANT carry message ids in hexadecimal digits.",
        lambda p: _all(
            p, ("gossip_adaptively", _gossip_spelled("hexed")), ("request_unseen", request_in_hex)
        ),
    ),
    (
        "ids-sent-as-text",
        "pubsub/id.supplied",
        "IHAVE carries message ids as the text of a Python tuple, and no id in one is recognised as seen.",
        lambda p: _all(p, ("gossip_adaptively", _gossip_spelled("text")), ("request_unseen", request_all)),
    ),
    (
        "hex-ids-decoded",
        "gs1.0/rpc.control-fields",
        "Message ids that look like hexadecimal text are decoded to other ids in IHAVE and IWANT.",
        lambda p: _all(
            p.with_first("iwant", serve_by_decoded_id),
            ("request_unseen", request_by_decoded_id),
        ),
    ),
    (
        "cache-by-origin-id",
        "pubsub/id.supplied",
        "The message cache goes by author and seqno where another id function is configured.",
        lambda p: _all(
            p.with_first("iwant", serve_by_origin_id),
            ("gossip_adaptively", gossip_by_origin_id),
        ),
    ),
)


def _all(protocol: Protocol, *replaced: tuple[str, Rule | Around]) -> Protocol:
    """Several rules that one edit replaces; those that another quirk has dropped already are left out."""
    present = {each.name: each for _, each in protocol.rules()}
    if not any(name in present for name, _ in replaced):
        raise SpecError(f"{protocol.name} has none of the rules {[name for name, _ in replaced]}")
    for name, other in replaced:
        if name in present:
            new = other.of(present[name]) if isinstance(other, Around) else other
            protocol = protocol.with_rule(name, new)
    return protocol


def _payload_last(protocol: Protocol) -> Protocol:
    rules = protocol["intake"].rules
    payload = tuple(r for r in rules if r.name == "read_messages")
    if not payload or payload == rules[-1:]:
        raise SpecError(f"{protocol.name} has its payload last already")
    order = (*(r for r in rules if r.name != "read_messages"), *payload)
    return evolve(protocol, handlers={**protocol.handlers, "intake": Phases(order)})


def _excluding(protocol: Protocol, handler: str, exclusion: Rule) -> Protocol:
    old = protocol[handler]
    assert isinstance(old, Without)
    changed = Without(old.base, (*old.exclusions, exclusion))
    return evolve(protocol, handlers={**protocol.handlers, handler: changed})


def quirks_of(protocol: Protocol) -> tuple[Quirk, ...]:
    """Every one-edit change by which a departure from `protocol` can be explained, the smallest first."""
    found = [Quirk(x.name, "reading", x.clause, x.says, x.edit) for x in READINGS.values()]
    found += [
        Quirk(name, "reading" if name in OPEN else "replaced", clause, says, edit)
        for name, clause, says, edit in REPLACED
    ]
    named = _distinct(r for _, r in protocol.rules())
    found += [_dropped(each) for each in named if each.name not in NO_CAUSE]
    return tuple(q for q in found if fits(q, protocol))


OPEN = frozenset({"control-before-payload", "fanout-filled-at-publish"})
"""Replaced rules that the texts leave room for. When payload counts as processed, if validation takes its
time, is disputed; and that a fanout is filled by the heartbeat does not forbid to fill it earlier."""

NO_CAUSE = frozenset(
    {
        "take",
        "read_subscriptions",
        "read_messages",
        "read_ihaves",
        "read_iwants",
        "read_grafts",
        "read_prunes",
        "read_idontwants",
        "remember_own",
        "send_own",
        "accept_message",
        "application",
        "explicit_peers",
        "cache",
        "deliver",
        "forward",
    }
)
"""Rules without which a router does nothing of a whole kind: dropped, they would account for too much."""


def _dropped(each: Rule) -> Quirk:
    says = f"As if {each.name.replace('_', ' ')} were not there."
    return Quirk(f"without:{each.name}", "dropped", each.clause, says, lambda p: p.without_rule(each.name))


def _distinct(rules: Iterable[Rule]) -> Iterable[Rule]:
    return {each.name: each for each in rules}.values()


def fits(quirk: Quirk, protocol: Protocol) -> bool:
    """Whether the edit can be made to this protocol: an older version lacks some rules."""
    try:
        quirk.edit(protocol)
    except (SpecError, KeyError):
        return False
    return True


def quirk_named(name: str, protocol: Protocol) -> Quirk:
    """The quirk of that name. Raises SpecError listing those that fit."""
    for quirk in quirks_of(protocol):
        if quirk.name == name:
            return quirk
    raise SpecError(
        f"{protocol.name} has no quirk {name!r}; there are {[q.name for q in quirks_of(protocol)]}"
    )


def as_built(protocol: Protocol, quirks: Iterable[Quirk]) -> Protocol:
    """The protocol with all of `quirks` in force, in order; one that no longer fits is left out."""
    for quirk in quirks:
        if fits(quirk, protocol):
            protocol = quirk.edit(protocol)
    return evolve(protocol, name=protocol.name)
