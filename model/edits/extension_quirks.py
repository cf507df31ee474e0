"""Edits of extensions and of the flags of partial messages that no operator makes."""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, around, in_turn, replacing_present
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Closed, Feedback, Sent
from quidnunc.model.permits import Permit, Step, must_send
from quidnunc.model.pubsub.extensions import own_extensions
from quidnunc.model.pubsub.partial.feedback import (
    count_invalid_part,
    deliver_useful_part,
    penalise_invalid_part,
)
from quidnunc.model.pubsub.partial.groups import group_time
from quidnunc.model.pubsub.partial.metadata import named_it, we_send_none
from quidnunc.model.pubsub.router import PartialFlags, ReceivedPart, Router
from quidnunc.model.pubsub.step import gone, run
from quidnunc.model.rpc import (
    PARTIAL_EXTENSION,
    TEST_EXTENSION,
    Extensions,
    Message,
    Part,
    Partial,
    Peer,
    Subscribe,
    TestExtension,
    Unsubscribe,
)
from quidnunc.model.rules import Exclusion, Protocol, Rule, rule
from quidnunc.model.values import evolve


@around("gs1.3/extensions.once")
def announce_with_extensions(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Who is told of a topic is told of the extensions, too."""
    step = cast("Step[Router]", old.step(r, topic, choose))
    own = own_extensions(r)
    told = [
        p.output.peer
        for p in step.permits
        if isinstance(p.output, Sent) and isinstance(p.output.part, Subscribe | Unsubscribe)
    ]
    knowing = [peer for peer in told if r.peers[peer].knows_extensions] if own else []
    return Step(
        step.router, (*step.permits, *must_send(knowing, Extensions(own, late=True), "gs1.3/extensions.once"))
    )


@around("pm/subscription.latest")
def keep_first_flags(old: Rule, r: Router, s: ReceivedPart[Subscribe], choose: Choose) -> Step[Router] | None:
    """Those of a topic stay as they were noted, until the peer leaves it."""
    known = r.peers[s.peer].flags.get(s.part.topic)
    # The second of two rules adds to what the first has noted of the same subscription.
    noted_now = PartialFlags(s.part.requests, s.part.supports)
    return cast("Step[Router] | None", old.step(r, s, choose)) if known in (None, noted_now) else Step(r)


@around("pm-jvm/group.time-to-live")
def live_longer_by_messages(
    old: Rule, r: Router, p: ReceivedPart[Partial], choose: Choose
) -> Step[Router] | None:
    """A message of a peer gives its group all of its time again."""
    step = cast("Step[Router] | None", old.step(r, p, choose))
    key = (p.part.topic, p.part.group)
    if step is None or key not in step.router.groups:
        return step
    group = evolve(step.router.groups[key], heartbeats_left=group_time(r))
    return Step(evolve(step.router, groups={**step.router.groups, key: group}), step.permits)


@rule("pm-go/group.least-time")
def as_configured(r: Router, _: None) -> int:
    """However few heartbeats that are."""
    return r.parameters.group_ttl_heartbeats


@around("pm/application.forwarded")
def hand_over_unless_judged(
    old: Rule, r: Router, p: ReceivedPart[Partial], choose: Choose
) -> Step[Router] | None:
    """Where validators judge messages, parts wait for a verdict that never comes."""
    waits = r.parameters.validation == "manual"
    return Step(r) if waits else cast("Step[Router] | None", old.step(r, p, choose))


@around("gs1.3/extensions.unknown-ignored")
def close_at_unknown(
    old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """Who names an extension that no document has is closed, and may be sent what was due before."""
    step = cast("Step[Router] | None", old.step(r, rpc, choose)) or Step(r)
    named = {name for part in rpc.part if isinstance(part, Extensions) for name in part.names}
    if named <= {TEST_EXTENSION, PARTIAL_EXTENSION}:
        return step
    closed = Permit(Closed(rpc.peer), True, "gs1.3/extensions.unknown-ignored", "now")
    after = run(step.router, "disconnect", rpc.peer, choose)
    free = (evolve(p, must=False) if getattr(p.output, "peer", None) == rpc.peer else p for p in step.permits)
    return Step(gone(after.router, rpc.peer), (*free, closed, *after.permits))


@rule("pm/receive.full-accepted")
def refuse_full(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Where parts were requested, full messages are dropped."""
    return Step(r) if r.own_flags(m.part.topic).requests else None


def _refusing_full(protocol: Protocol) -> Protocol:
    if "suppressed" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no partial messages")
    return protocol.with_first("message", refuse_full)


TESTED = "sent-test"
"""In `Neighbour.perhaps`, which begins anew with each connection: it was sent TestExtension."""


@around("gs1.3/test.exchanged")
def send_test_unasked(
    old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """With its first RPC that is read every peer is sent TestExtension, whatever it names."""
    step = cast("Step[Router] | None", old.step(r, rpc, choose)) or Step(r)
    peer, test = step.router.peers[rpc.peer], Sent(rpc.peer, TestExtension())
    kept = tuple(p for p in step.permits if p.output != test)
    if TESTED in peer.perhaps:
        return Step(step.router, kept)
    peers = {**step.router.peers, rpc.peer: evolve(peer, perhaps=peer.perhaps | {TESTED})}
    return Step(evolve(step.router, peers=peers), (*kept, Permit(test, True, "gs1.3/test.exchanged")))


@rule("pm/send.full-unsupported")
def has_surely_not_named_it(r: Router, topic: str, peer: Peer) -> bool:
    """What a peer names too late, or below 1.3, does not count."""
    return named_it(r, peer) is not True


def _withholding_from_named(protocol: Protocol) -> Protocol:
    """Full messages, but no gossip, are withheld from requesters that have named the extension, whether
    or not the router sends parts; and from no other."""
    held = protocol.handlers.get("suppressed")
    if not isinstance(held, Exclusion) or we_send_none not in held.exclusions:
        raise SpecError(f"{protocol.name} withholds no full messages")
    kept = Exclusion(held.base, (has_surely_not_named_it,))
    return evolve(protocol, handlers={**protocol.handlers, "suppressed": kept})


def _has_extensions(protocol: Protocol) -> Protocol:
    if "name_extensions" not in {rule.name for _, rule in protocol.rules()}:
        raise SpecError(f"{protocol.name} has no extensions")
    return protocol


@around("pm-go/score.feedback")
def misbehave_with_invalid_part(old: Rule, r: Router, told: Feedback, choose: Choose) -> Step[Router] | None:
    """An invalid part is misbehaviour, as in the JVM design."""
    return cast("Step[Router] | None", penalise_invalid_part.step(r, told, choose))


@around("pm-jvm/score.feedback")
def deliver_with_parts(old: Rule, r: Router, told: Feedback, choose: Choose) -> Step[Router] | None:
    """Parts are counted as messages are, as the Go router does."""
    rules = (deliver_useful_part, count_invalid_part)
    steps = (cast("Step[Router] | None", each.step(r, told, choose)) for each in rules)
    return next((each for each in steps if each is not None), None)


EXTENSION_QUIRKS: tuple[Edit, ...] = (
    Edit(
        "extensions-with-each-topic",
        "replaced",
        "gs1.3/extensions.once",
        "Names its extensions again with each topic that it joins or leaves.",
        in_turn(
            _has_extensions,
            replacing_present(
                announce_join=announce_with_extensions, announce_leave=announce_with_extensions
            ),
        ),
    ),
    Edit(
        "test-sent-to-all",
        "replaced",
        "gs1.3/test.exchanged",
        "Sends TestExtension to every peer after the peer's first RPC, even if the peer has not named it.",
        in_turn(_has_extensions, replacing_present(read_extensions=send_test_unasked)),
    ),
    Edit(
        "requesters-get-no-full-messages",
        "replaced",
        "pm/send.full-unsupported",
        "Withholds full messages, but no IHAVE, from requesters that have named the extension, although it "
        "sends no parts.",
        _withholding_from_named,
    ),
    Edit(
        "unknown-extension-closes",
        "replaced",
        "gs1.3/extensions.unknown-ignored",
        "Closes the connection of a peer that names an extension unknown to the router.",
        in_turn(_has_extensions, replacing_present(take=close_at_unknown)),
    ),
    Edit(
        "full-messages-refused",
        "replaced",
        "pm/receive.full-accepted",
        "Drops full messages in topics in which it has requested partial ones.",
        _refusing_full,
    ),
    Edit(
        "keeps-first-flags",
        "replaced",
        "pm/subscription.latest",
        "Keeps the partial message flags of a peer's first subscription to a topic.",
        replacing_present(note_flags=keep_first_flags, coerce_support=keep_first_flags),
    ),
    Edit(
        "group-kept-by-peers",
        "replaced",
        "pm-jvm/group.time-to-live",
        "Gives a group of partial messages its whole time to live again with each message of a peer.",
        replacing_present(hand_over=live_longer_by_messages),
    ),
    Edit(
        "groups-live-as-configured",
        "replaced",
        "pm-go/group.least-time",
        "Drops groups after the configured time, even where that is less than three heartbeats.",
        replacing_present(three_at_least=as_configured),
    ),
    Edit(
        "parts-wait-for-verdict",
        "replaced",
        "pm/application.forwarded",
        "Hands no partial messages to an application whose validator judges full messages.",
        replacing_present(hand_over=hand_over_unless_judged, hand_over_and_count=hand_over_unless_judged),
    ),
    Edit(
        "invalid-parts-misbehave",
        "replaced",
        "pm-go/score.feedback",
        "Counts a part that the application calls invalid as misbehaviour, not as an invalid message.",
        replacing_present(count_invalid_part=misbehave_with_invalid_part),
    ),
    Edit(
        "parts-count-as-messages",
        "replaced",
        "pm-jvm/score.feedback",
        "Counts a part that the application calls useful as a delivery, and an invalid one as an "
        "invalid message.",
        replacing_present(penalise_invalid_part=deliver_with_parts),
    ),
)
"""Each is tried as the cause of a departure."""
