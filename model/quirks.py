"""Quirks: known one-edit departures of routers, by which the root cause of a failure is named.

A departure is explained by the smallest edit of the protocol under which model and router agree again: a
reading (`quidnunc.model.readings`), a dropped rule, or one of the replaced rules below, which were seen in
the field. A quirk turns nothing green; it keeps one failure from hiding the next, and makes a router, as
built, a difference to the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from attrs import field, frozen

from quidnunc.model import gossip, mesh
from quidnunc.model import quirk_rules as seen
from quidnunc.model.errors import SpecError, alike
from quidnunc.model.readings import READINGS
from quidnunc.model.rules import Phases, Protocol, Rule, Without, total
from quidnunc.model.values import evolve

QuirkKind: TypeAlias = Literal["reading", "dropped", "replaced"]


@frozen
class Quirk:
    """One edit of a protocol: what it is called, which clause it breaks, and the edit."""

    name: str
    kind: QuirkKind
    clause: str
    says: str
    edit: Callable[[Protocol], Protocol] = field(eq=False)


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
            p,
            ("while_backing_off", seen.backing_off_in_whole_seconds),
            ("backing_off", seen.free_in_last_second),
        ),
    ),
    (
        "fanout-ttl-in-whole-seconds",
        "gs1.0/fanout.expire",
        "The age of a fanout is cut to whole seconds, so that it lives up to a second longer.",
        lambda p: p.with_rule("expire", seen.expire_in_whole_seconds),
    ),
    (
        "deserted-fanout-kept",
        "gs1.0/fanout.expire",
        "A fanout whose topic nobody is in any more does not expire.",
        lambda p: _all(p, ("expire", seen.expire_where_announced)),
    ),
    (
        "refusal-does-not-extend",
        "gs1.1/backoff.regraft",
        "A GRAFT inside the backoff is refused, and the backoff is not extended.",
        lambda p: p.with_rule("while_backing_off", seen.refused_without_extension),
    ),
    (
        "heartbeat-prunes-bare",
        "gs1.1/backoff.announce",
        "The PRUNEs of the heartbeat announce no backoff.",
        lambda p: _all(
            p, ("cut_to_d", seen.cut_with_bare_prune), ("drop_negative", seen.cut_with_bare_prune)
        ),
    ),
    (
        "cut-at-d-high",
        "gs1.0/heartbeat.cut",
        "The mesh is cut at D_high, not above it.",
        lambda p: p.with_rule("cut_to_d", seen.cut_at_d_high),
    ),
    (
        "control-lists-shared",
        "gs1.0/join.graft-each",
        "The heartbeat's control lists are shared between peers: one is told what was meant for another.",
        lambda p: evolve(p, lens=seen.without_leaks, features=p.features | {"gossip-count-hidden"}),
    ),
    (
        "seen-after-validation",
        "gs1.0/relay.seen",
        "A message is marked seen only when its validation is over, so that copies that come meanwhile are "
        "delivered and forwarded again.",
        lambda p: _all(
            p.with_first("message", seen.wait_unmarked),
            ("accepted_by_validator", seen.accept_each_copy),
            ("request_unseen", seen.request_while_validating),
        ),
    ),
    (
        "relay-needs-a-subscriber",
        "gs1.0/relay.mesh",
        "A mesh whose topic no peer has announced gets no messages, and is not cut.",
        lambda p: _all(
            p,
            ("mesh_floodsub_and_explicit", seen.relay_where_announced),
            ("publish_to_mesh", seen.publish_where_announced),
            ("publish_to_fanout", seen.publish_where_announced),
            ("cut_to_d", seen.cut_where_announced),
        ),
    ),
    (
        "gates-ignore-application-score",
        "gs1.1/score.application",
        "The publish and gossip thresholds are held against the topic scores alone.",
        lambda p: _all(
            evolve(
                p,
                handlers={**p.handlers, "gate": total(seen.no_application_score)},
                features=p.features | {"graylisted-spared"},
            ),
            ("publish_to_mesh", seen.publish_sparing_low),
            ("publish_to_fanout", seen.fanout_sparing_low),
        ),
    ),
    (
        "graylist-refuses-grafts-only",
        "gs1.1/threshold.graylist",
        "RPCs of graylisted peers are taken; only their GRAFTs are refused.",
        lambda p: p.without_rule("ignore_graylisted").with_first("graft", seen.prune_graylisted),
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
        lambda p: _all(p, ("publish_to_fanout", seen.publish_to_topped_up_fanout)),
    ),
    (
        "no-gossip-in-backoff",
        "gs1.1/gossip.adaptive",
        "Peers in backoff get no gossip.",
        lambda p: _excluding(p, "gossip_candidates", seen.spared_in_backoff),
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
            p, ("gossip_adaptively", seen.gossip_spelled("hexed")), ("request_unseen", seen.request_in_hex)
        ),
    ),
    (
        "ids-sent-as-text",
        "pubsub/id.supplied",
        "IHAVE carries message ids as the text of a Python tuple, and no id in one is recognised as seen.",
        lambda p: _all(
            p, ("gossip_adaptively", seen.gossip_spelled("text")), ("request_unseen", seen.request_all)
        ),
    ),
    (
        "hex-ids-decoded",
        "gs1.0/rpc.control-fields",
        "Message ids that look like hexadecimal text are decoded to other ids in IHAVE and IWANT.",
        lambda p: _all(
            p.with_first("iwant", seen.serve_by_decoded_id),
            ("request_unseen", seen.request_by_decoded_id),
        ),
    ),
    (
        "cache-by-origin-id",
        "pubsub/id.supplied",
        "The message cache goes by author and seqno where another id function is configured.",
        lambda p: _all(
            p.with_first("iwant", seen.serve_by_origin_id),
            ("gossip_adaptively", seen.gossip_by_origin_id),
        ),
    ),
)


def _all(protocol: Protocol, *replaced: tuple[str, Rule | seen.Around]) -> Protocol:
    """Several rules that one edit replaces; those that another quirk has dropped already are left out."""
    present = {each.name: each for _, each in protocol.rules()}
    if not any(name in present for name, _ in replaced):
        raise SpecError(f"{protocol.name} has none of the rules {[name for name, _ in replaced]}")
    for name, other in replaced:
        if name in present:
            new = other.of(present[name]) if isinstance(other, seen.Around) else other
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
        "enter_topic",
        "quit_topic",
        "read_subscriptions",
        "read_messages",
        "read_ihaves",
        "read_iwants",
        "read_grafts",
        "read_prunes",
        "read_idontwants",
        "read_extensions",
        "note_extension",
        "note_flags",
        "read_partials",
        "hand_over",
        "hand_over_and_count",
        "open_group",
        "open_unsaid",
        "send_decided",
        "decided_peer",
        "requesters",
        "requesters_of_parts",
        "diverted_peers",
        "gossip_with_parts",
        "remember_own",
        "send_own",
        "accept_message",
        "application",
        "explicit_peers",
        "cache",
        "deliver",
        "forward",
        "learn_route",
    }
)
"""Rules without which a router does nothing of a whole kind: dropped, they would account for too much.
`learn_route` is nothing that a router does: it narrows what we know of one."""

TAKES_WITH_IT = {"serve_within_bound": "gs1.0/iwant.serve"}
"""Rules that bear the clause of a bound and serve as well: dropped, it is the service that is not there."""


def _dropped(each: Rule) -> Quirk:
    says = f"As if {each.name.replace('_', ' ')} were not there."
    clause = TAKES_WITH_IT.get(each.name, each.clause)
    return Quirk(f"without:{each.name}", "dropped", clause, says, lambda p: p.without_rule(each.name))


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
    """The quirk of that name. Raises SpecError naming those whose names are near."""
    for quirk in quirks_of(protocol):
        if quirk.name == name:
            return quirk
    near = alike(name, (q.name for q in quirks_of(protocol)))
    hint = f"; did you mean {', '.join(near)}?" if near else ", nor one of a name like it"
    raise SpecError(f"{protocol.name} has no quirk {name!r}{hint}")


def as_built(protocol: Protocol, quirks: Iterable[Quirk]) -> Protocol:
    """The protocol with all of `quirks` in force, in order; one that no longer fits is left out."""
    for quirk in quirks:
        if fits(quirk, protocol):
            protocol = quirk.edit(protocol)
    return evolve(protocol, name=protocol.name)
