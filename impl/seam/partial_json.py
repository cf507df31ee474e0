"""Partial messages at the seam as JSON values: the application's decisions, and its callbacks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from quidnunc.impl.seam import AdapterError, PartialCall, PartialDecision
from quidnunc.model.events import FeedbackKind

Bytes = Callable[[object, str], bytes]
"""Reads base64; the second argument names the place for an error."""
KINDS = ("offer", "gossip", "hand")
FEEDBACK: tuple[FeedbackKind, ...] = ("useful", "invalid", "ignored")
MAX_DECISIONS = 100_000


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def decision_json(d: PartialDecision) -> dict[str, object]:
    """Only what is not the default."""
    said = {"payload": d.payload, "metadata": d.metadata, "next": d.next_state}
    found: dict[str, object] = {"peer": d.peer, **{k: _text(v) for k, v in said.items() if v is not None}}
    return {**found, "error": True} if d.error else found


def decisions_of(value: object, read: Bytes) -> list[PartialDecision]:
    """Raises AdapterError for a value of another shape."""
    if not isinstance(value, list) or len(value) > MAX_DECISIONS:
        raise AdapterError(f"publish_partial.decisions: need at most {MAX_DECISIONS} in a list")
    return [_decision(each, read) for each in value]


def _decision(value: object, read: Bytes) -> PartialDecision:
    where = "publish_partial.decisions"
    given = _fields(value, where, {"peer", "payload", "metadata", "next", "error"})
    return PartialDecision(
        peer=_peer(given, where),
        payload=_maybe(given, "payload", where, read),
        metadata=_maybe(given, "metadata", where, read),
        next_state=_maybe(given, "next", where, read),
        error=_flag(given, "error", where),
    )


def call_json(call: PartialCall) -> dict[str, object]:
    """Only what is not the default."""
    said = {"state": call.state, "payload": call.payload, "metadata": call.metadata}
    found = {"kind": call.kind, "topic": call.topic, "group": _text(call.group), "peer": call.peer}
    found |= {k: _text(v) for k, v in said.items() if v is not None}
    return {**found, "requests": True} if call.requests else found


def call_of(value: object, read: Bytes) -> PartialCall:
    """Raises AdapterError for a value of another shape."""
    where = "reply.partial"
    fields = {"kind", "topic", "group", "peer", "state", "requests", "payload", "metadata"}
    given = _fields(value, where, fields)
    kind, topic = given.get("kind"), given.get("topic")
    if kind not in KINDS or not isinstance(topic, str):
        raise AdapterError(f"{where}: need kind ({', '.join(KINDS)}) and topic, got {kind!r} and {topic!r}")
    return PartialCall(
        kind=cast("Any", kind),
        topic=topic,
        group=read(given.get("group"), f"{where} group"),
        peer=_peer(given, where),
        state=_maybe(given, "state", where, read),
        requests=_flag(given, "requests", where),
        payload=_maybe(given, "payload", where, read),
        metadata=_maybe(given, "metadata", where, read),
    )


def feedback_kind(value: object) -> FeedbackKind:
    if value not in FEEDBACK:
        raise AdapterError(f"feedback.kind: need one of {', '.join(FEEDBACK)}, got {value!r}")
    return value


def decisions_json(decisions: Sequence[PartialDecision]) -> list[dict[str, object]]:
    return [decision_json(d) for d in decisions]


def _fields(value: object, where: str, known: set[str]) -> Mapping[str, object]:
    if not isinstance(value, dict) or not set(value) <= known:
        raise AdapterError(f"{where}: need an object with {', '.join(sorted(known))}, got {str(value)[:80]}")
    return value


def _peer(given: Mapping[str, object], where: str) -> int:
    peer = given.get("peer")
    if not isinstance(peer, int) or isinstance(peer, bool) or peer < 1:
        raise AdapterError(f"{where}: need peer as a number of 1 or more, got {peer!r}")
    return peer


def _maybe(given: Mapping[str, object], name: str, where: str, read: Bytes) -> bytes | None:
    return read(given[name], f"{where} {name}") if name in given else None


def _flag(given: Mapping[str, object], name: str, where: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise AdapterError(f"{where}: need {name} as true or false, got {value!r}")
    return value
