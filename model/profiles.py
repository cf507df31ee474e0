"""What routers are documented to make of the open places of the texts.

A profile lists readings only, each with where its router shows that it is meant so: an entry of its change
log, a comment, or code that says it in so many words. What its own project calls a defect, or what breaks a
sentence that is plain, is in no profile: that is a finding. So rust-libp2p's refusal of outbound peers at
D_high (libp2p/rust-libp2p#6184) is in none, nor the cut of go-libp2p-pubsub at D_high
(libp2p/go-libp2p-pubsub#589).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen


@frozen
class Profile:
    """The documented readings of one router; of every place that it does not name, the kit's own."""

    name: str
    readings: Mapping[str, str]
    """Reading -> where it is documented."""


PROFILES: Mapping[str, Profile] = {
    each.name: each
    for each in (
        Profile(
            "go-libp2p-pubsub",
            {
                "graylisted-subscriptions-count": "pubsub.go, handleIncomingRPC: the subscriptions are read "
                "before the router is asked whether it accepts from the peer",
                "idontwant-stops-iwant-answers": "gossipsub.go, handleIWant: its comment says so",
                "unsubscribed-stays-in-mesh": "pubsub.go, handleIncomingRPC: who unsubscribes leaves the "
                "topic; the mesh it leaves by PRUNE or by disconnecting",
            },
        ),
        Profile(
            "rust-libp2p",
            {
                "idontwant-stops-iwant-answers": "change log of 0.49.0, libp2p/rust-libp2p#5901",
                "empty-mesh-passed-over": "change log of 0.48.0, libp2p/rust-libp2p#5578: publishing reaches "
                "at least mesh_n peers",
                "prune-of-unknown-topic-backs-off": "its handling of PRUNE keeps the backoff of any topic",
                "graft-on-subscribe": "its handling of subscriptions grafts where the mesh is short",
            },
        ),
        Profile(
            "js-libp2p",
            {
                "unsubscribed-stays-in-mesh": "its handling of subscriptions leaves the mesh as it is",
                "graft-on-subscribe": "its handling of subscriptions grafts where the mesh is short",
            },
        ),
        Profile(
            "nim-libp2p",
            {"stranger-prune-ignored": "its handling of PRUNE looks at members of the mesh alone"},
        ),
        Profile(
            "jvm-libp2p",
            {"prune-of-unknown-topic-backs-off": "its handling of PRUNE keeps the backoff of any topic"},
        ),
        Profile("py-libp2p", {}),
    )
}
"""By the name of the router. That of py-libp2p is empty: its documents say nothing of these places."""
