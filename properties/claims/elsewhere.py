"""Claims that no search of one router decides: a test holds them, or a search of a network.

Each says by what. A test is named with its file in the repository, and has a planted error beside it under
which it must fail (tests/properties/claims/test_elsewhere.py); a network is one of `quidnunc explore`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

TESTS = "tests/properties/claims/test_elsewhere.py"
TESTS_OF_ROUTERS = "tests/properties/claims/test_elsewhere_routers.py"
TESTS_OF_PARTS = "tests/properties/claims/test_elsewhere_parts.py"


@frozen
class ConstructionClaim:
    """What holds of the construction: of parameters, of an application, of a network of our own."""

    id: str
    says: str
    clauses: tuple[str, ...]
    network: str = ""
    """The network of `quidnunc explore` whose claim it is; empty where a test holds it."""

    @property
    def test(self) -> str:
        """The function that holds it; empty where a network does."""
        return "" if self.network else f"test_{self.id.replace('.', '_').replace('-', '_')}"

    @property
    def by(self) -> str:
        """What decides it, as one would ask for it."""
        return f"quidnunc explore {self.network}" if self.network else f"{self._file}::{self.test}"

    @property
    def _file(self) -> str:
        return TESTS_OF_PARTS if self in APPLICATIONS else TESTS_OF_ROUTERS if self in ROUTERS else TESTS


def construction_claim(id: str, says: str, *clauses: str, network: str = "") -> ConstructionClaim:
    return ConstructionClaim(id, says, clauses, network)


NETWORKS: tuple[ConstructionClaim, ...] = (
    construction_claim(
        "mesh.mutual",
        "When no GRAFT or PRUNE is in flight between two routers, each holds the other or neither does.",
        "gs1.0/mesh.mutual",
        network="mesh-link",
    ),
    construction_claim(
        "backoff.waited-out",
        "Routers that let the backoff run out before they join again have mutual links at rest.",
        "gs1.1/backoff.resubscribe",
        network="mesh-link-backoff-waits",
    ),
    construction_claim(
        "network.in-order",
        "Between two nodes of a network of ours messages arrive once, and in the order of their sending.",
        "flood/rpc.reliable",
    ),
)

SETTINGS: tuple[ConstructionClaim, ...] = (
    construction_claim(
        "config.dog-or-limit",
        "A node that is to have DOG and a limit on peers is refused before it runs.",
        "dog/config.peer-limit",
        "peer-limit/config.not-with-dog",
    ),
    construction_claim(
        "config.metrics",
        "A node counts disabled routes, redundancy and repeated transactions as the model has them.",
        "dog/config.metrics",
    ),
    construction_claim(
        "config.mempool-defaults",
        "A node of default settings takes 5000 transactions and 64 MiB, of 1 MiB each, and knows 10000.",
        "flood/config.defaults",
    ),
    construction_claim(
        "config.outbound", "D_out is below D_low and at most half of D.", "gs1.1/outbound.config"
    ),
    construction_claim("config.thresholds", "The thresholds are in their order.", "gs1.1/threshold.order"),
    construction_claim(
        "config.bootstrapper",
        "A router whose degrees are 0 has no mesh, and names peers to those who graft it.",
        "gs1.1/config.bootstrapper",
    ),
)

READINGS: tuple[ConstructionClaim, ...] = (
    construction_claim(
        "idontwant.ignored",
        "A router that ignores IDONTWANT is in order where the text is read so, and in no other reading.",
        "gs1.2/idontwant.receiver-optional",
    ),
)

BYTES: tuple[ConstructionClaim, ...] = (
    construction_claim(
        "rpc.framing",
        "Each RPC on a stream follows its length as an unsigned varint, in whatever portions it comes.",
        "pubsub/rpc.framing",
    ),
    construction_claim(
        "cat.origin-field",
        "An announcement with the field of an earlier experiment is read as any other.",
        "cat-classic/receive.origin-field",
    ),
    construction_claim(
        "pool.removed",
        "What leaves the pool while a peer does not read is not sent to it when it reads again.",
        "flood/send.removed-skipped",
    ),
    construction_claim(
        "iwant.withdrawn",
        "An answer to IWANT that waits for a peer is taken back when the peer says IDONTWANT.",
        "gs1.2/iwant.queued-removed",
    ),
    construction_claim(
        "control.unsent",
        "A HaveTx that cannot be sent blocks no other, and a ResetRoute is not tried again.",
        "dog/havetx.send-failure",
        "dog/controller.reset-failure",
    ),
)

ROUTERS: tuple[ConstructionClaim, ...] = (
    construction_claim(
        "join.again",
        "To join a topic again changes nothing, and nobody is told.",
        "gs1.0/join.again",
    ),
    construction_claim(
        "explicit.reconnected",
        "Lost connections to explicit peers are dialled again, every five minutes for as long as it takes.",
        "gs1.1/explicit.reconnect",
    ),
    construction_claim(
        "validation.changed",
        "A validator that is added while the router runs decides from then on, until it is taken away.",
        "pubsub/validation.dynamic",
    ),
    construction_claim(
        "signing.key-beside-hash",
        "A message of an author whose id is a hash of its key is taken with the key, and not without it.",
        "pubsub/signing.key-attached",
    ),
    construction_claim(
        "signing.lax-sign",
        "LaxSign signs own messages, takes others' unsigned, and verifies a signature where there is one.",
        "pubsub/signing.lax-sign",
    ),
    construction_claim(
        "signing.lax-no-sign",
        "LaxNoSign signs nothing, passes stamped messages on, and verifies a signature where there is one.",
        "pubsub/signing.lax-no-sign",
    ),
    construction_claim(
        "signing.lax-warned",
        "Who chooses a lax policy is warned that it is deprecated, and nobody else is.",
        "pubsub/signing.lax-discouraged",
    ),
    construction_claim(
        "validation.local",
        "What a router notes for itself of messages that it refuses no peer is told.",
        "pubsub/validation.local-handling",
    ),
    construction_claim(
        "cat.evicted",
        "A transaction that was evicted for want of room is asked for again when it is announced.",
        "cat-classic/seen.evicted",
        "cat/seen.evicted",
    ),
    construction_claim(
        "cat.announced-again",
        "A node that announces again what it has is in order where the text is read so, and nowhere else.",
        "cat-classic/receive.announce-again",
    ),
    construction_claim(
        "cat.own-pushed",
        "A node that pushes a user's transaction is in order by the letter of the text, and not by the code.",
        "cat/submit.push",
    ),
)

APPLICATIONS: tuple[ConstructionClaim, ...] = (
    construction_claim(
        "parts.answered",
        "Metadata is answered with the parts that are wanted, and with no others.",
        "pm/metadata.answered",
    ),
    construction_claim("parts.replaced", "The last metadata of a peer counts.", "pm/metadata.replaces"),
    construction_claim(
        "parts.inferable", "Metadata that tells a peer nothing new is not sent.", "pm/metadata.inferable"
    ),
    construction_claim(
        "parts.group-id",
        "A group is named before its message is whole, and its parts are passed on.",
        "pm/group.independent",
    ),
    construction_claim(
        "parts.expected",
        "Who requests gets parts and metadata of those who support, and full messages of the others.",
        "pm/receive.expected",
    ),
    construction_claim(
        "parts.feedback-go",
        "Go: feedback that a part was useful raises a score as a delivery does; an invalid one lowers it.",
        "pm-go/score.feedback",
    ),
    construction_claim(
        "parts.feedback-jvm",
        "JVM: feedback that a part was invalid is misbehaviour, and other feedback counts for nothing.",
        "pm-jvm/score.feedback",
    ),
    construction_claim(
        "parts.feedback-unsaid",
        "Merged: feedback changes no score, because no rule says how it should.",
        "pm/score.silent",
    ),
    construction_claim(
        "parts.roll-out",
        "While nodes support parts and none requests them all is as before; who then requests gets parts.",
        "pm/config.roll-out",
    ),
)

_ALL = (*NETWORKS, *SETTINGS, *READINGS, *BYTES, *ROUTERS, *APPLICATIONS)
HELD: Mapping[str, ConstructionClaim] = {each.id: each for each in _ALL}
"""By id."""
