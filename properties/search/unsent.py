"""What a router was allowed to send and never sent. A text that permits something seldom demands it: a router
whose IDONTWANTs are lost on the way breaks no sentence, and what the claims say of them holds of nothing."""

from __future__ import annotations

from collections.abc import Mapping

KINDS = {
    "Message": "messages",
    "Subscribe": "subscriptions",
    "Unsubscribe": "unsubscriptions",
    "IHave": "IHAVE",
    "IWant": "IWANT",
    "Graft": "GRAFT",
    "Prune": "PRUNE",
    "IDontWant": "IDONTWANT",
    "Tx": "transactions",
    "Partial": "partial messages",
    "Extensions": "what extensions it supports",
    "TestExtension": "the message of the test extension",
}
"""The kinds whose names in the model are not those of the field."""


def add_sent(to: dict[str, bool], more: Mapping[str, bool]) -> None:
    """Add what another run says: kind of what was allowed -> whether any was sent."""
    for kind, sent in more.items():
        to[kind] = to.get(kind, False) or sent


def never_sent(sent: Mapping[str, bool]) -> list[str]:
    """A line for each kind of which the router sent none."""
    kinds = sorted(kind for kind, any_sent in sent.items() if not any_sent)
    return [f"{KINDS.get(kind, kind)}: the router was allowed to send some, and sent none" for kind in kinds]
