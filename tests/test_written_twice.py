"""Defaults, field numbers and DOG's switches, written here once more from the documents.

Model and routers share names and shapes, and the defaults of `quidnunc.model.parameters`. A misreading in
what they share shows in no run of the one beside the other. So each value stands here with the words that it
was read from, and is compared with both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from quidnunc.impl.ours.dog_variants import VARIANTS as TURNED_IN_ROUTER
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.mempool_codec import MempoolCodec, tx_bytes, tx_key
from quidnunc.model.mempool.dog.variants import SWITCHES, TURNED
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import (
    CONTROL_SHAPES,
    Extensions,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    IWant,
    Part,
    Partial,
    Prune,
    ResetRoute,
    Subscribe,
    TestExtension,
    Tx,
    Unsubscribe,
)

V10 = "gossipsub v1.0, Parameters"
V11 = "gossipsub v1.1, Overview of New Parameters"
ADR = "ADR-119"

# -- defaults ----------------------------------------------------------------------------------------------

DEFAULTS: tuple[tuple[str, object, str, str], ...] = (
    ("d", 6, V10, "`D` | The desired outbound degree of the network | 6"),
    ("d_low", 4, V10, "`D_low` | Lower bound for outbound degree | 4"),
    ("d_high", 12, V10, "`D_high` | Upper bound for outbound degree | 12"),
    ("d_lazy", 6, V10, "`D_lazy` | (Optional) the outbound degree for gossip emission | `D`"),
    ("heartbeat_interval_ms", 1000, V10, "`heartbeat_interval` | Time between heartbeats | 1 second"),
    ("fanout_ttl_ms", 60_000, V10, "`fanout_ttl` | Time-to-live for each topic's fanout state | 60 seconds"),
    ("mcache_len", 5, V10, "`mcache_len` | Number of history windows in message cache | 5"),
    ("mcache_gossip", 3, V10, "`mcache_gossip` | Number of history windows to use when emitting gossip | 3"),
    ("seen_ttl_ms", 120_000, V10, "`seen_ttl` | Expiry time for cache of seen message ids | 2 minutes"),
    ("prune_backoff_s", 60, V11, "`PruneBackoff` ... 1 minute"),
    ("unsubscribe_backoff_s", 10, V11, "`UnsubscribeBackoff` ... 10 seconds"),
    ("flood_publish", True, V11, "`FloodPublish` ... true"),
    ("gossip_factor", 0.25, V11, "`GossipFactor` ... 0.25"),
    ("d_score", 4, V11, "`D_score` ... 4 or 5 for a `D` of 6"),
    ("d_out", 2, V11, "`D_out` ... 2 for a `D` of 6"),
)
"""Parameter, its default in the unit of its name, the document, and the words."""

DOG_DEFAULTS: tuple[tuple[str, object, str], ...] = (
    ("dog", True, "mempool.dog_protocol_enabled: bool: [...] true by default"),
    ("target_redundancy", 1.0, "mempool.dog_target_redundancy: float: Set to 1"),
    ("delta_percent", 10.0, "TargetRedundancyDeltaPercent: float: Set to 0.1 (10%)"),
    ("adjust_interval_ms", 1000, "mempool.dog_adjust_interval: time.Duration: Set to 1s by default"),
)
"""Parameter, its default, and the words of ADR-119."""


@pytest.mark.parametrize(("name", "value", "document", "words"), DEFAULTS, ids=lambda v: str(v)[:24])
def test_defaults_of_gossipsub(name: str, value: object, document: str, words: str) -> None:
    assert getattr(Parameters(), name) == value, f"{document}: {words}"


@pytest.mark.parametrize(("name", "value", "words"), DOG_DEFAULTS, ids=lambda v: str(v)[:24])
def test_defaults_of_dog(name: str, value: object, words: str) -> None:
    assert getattr(DogParameters(), name) == value, f"{ADR}: {words}"


# -- field numbers -----------------------------------------------------------------------------------------

T = b"t1"


def field(number: int, content: bytes | int) -> bytes:
    """One field of protobuf: its tag, and a number or what has a length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + varint(rest) if rest else bytes((low,))


def rpc_of(part: Part) -> bytes:
    """As our codec writes it: what a router is sent, and the model never sees."""
    return Codec(Parameters()).encode([part], sender=1)


def control(number: int, content: bytes) -> bytes:
    """`optional ControlMessage control = 3` of `message RPC`."""
    return field(3, field(number, content))


def id_of(symbol: str) -> bytes:
    """The bytes of an id, as a message of that name is called."""
    return Codec(Parameters()).id_bytes(symbol, sender=1)


BYTES: tuple[tuple[Part, Callable[[], bytes], str], ...] = (
    (
        Subscribe("t1"),
        lambda: field(1, field(1, 1) + field(2, T)),
        "pubsub: subscriptions = 1; bool subscribe = 1; string topicid = 2",
    ),
    (Unsubscribe("t1"), lambda: field(1, field(1, 0) + field(2, T)), "pubsub: the same, subscribe false"),
    (
        IHave("t1", ("m1",)),
        lambda: control(1, field(1, T) + field(2, id_of("m1"))),
        "v1.0: ihave = 1; string topicID = 1; repeated bytes messageIDs = 2",
    ),
    (
        IWant(("m1",)),
        lambda: control(2, field(1, id_of("m1"))),
        "v1.0: iwant = 2; repeated bytes messageIDs = 1",
    ),
    (Graft("t1"), lambda: control(3, field(1, T)), "v1.0: graft = 3; string topicID = 1"),
    (Prune("t1"), lambda: control(4, field(1, T)), "v1.0: prune = 4; string topicID = 1"),
    (Prune("t1", 60), lambda: control(4, field(1, T) + field(3, 60)), "v1.1: uint64 backoff = 3"),
    (
        IDontWant(("m1",)),
        lambda: control(5, field(1, id_of("m1"))),
        "v1.2: idontwant = 5; repeated bytes messageIDs = 1",
    ),
    (
        Extensions(("partial",)),
        lambda: control(6, field(10, 1)),
        "v1.3: extensions = 6; partialMessages = 10",
    ),
    (
        Extensions(("test",)),
        lambda: control(6, field(6492434, 1)),
        "v1.3: testExtension = 6492434 of ControlExtensions",
    ),
    (TestExtension(), lambda: field(6492434, b""), "v1.3: testExtension = 6492434 of RPC"),
)
"""A part, the RPC with it alone as the document's numbers make it, and the words."""


@pytest.mark.parametrize(("part", "written", "words"), BYTES, ids=lambda v: v if isinstance(v, str) else "")
def test_field_numbers_of_gossipsub(part: Part, written: Callable[[], bytes], words: str) -> None:
    assert rpc_of(part) == written(), words


def test_field_numbers_of_partial_messages() -> None:
    """partial = 10 of RPC; topicID = 1, groupID = 2, partialMessage = 3, partsMetadata = 4."""
    data = rpc_of(Partial("t1", "g1", "p1", "d1"))
    inner = data[len(varint(10 << 3 | 2)) + 1 :]
    assert data.startswith(varint(10 << 3 | 2)) and inner.startswith(field(1, T))
    tags = []
    while inner:
        tags.append(inner[0])
        inner = inner[2 + inner[1] :]
    assert tags == [number << 3 | 2 for number in (1, 2, 3, 4)]


def test_numbers_of_control_messages_in_the_model() -> None:
    """By which the model's neighbours put the parts of one RPC in order."""
    numbers = {shape.kind: shape.number for shape in CONTROL_SHAPES}
    assert numbers == {IHave: 1, IWant: 2, Graft: 3, Prune: 4, IDontWant: 5, Extensions: 6}


def test_field_numbers_of_dog() -> None:
    """ADR-119: "oneof sum { Txs txs = 1; HaveTx have_tx = 2; ResetRoute reset_route = 3; }", "bytes tx_key =
    1", and "The channel ID is 31", which the mempool's own channel, 0x30, shows to be hexadecimal."""
    codec, tx = MempoolCodec(), tx_bytes("x1t")
    assert codec.encode(Tx("x1t")) == (0x30, field(1, field(1, tx)))
    assert codec.encode(HaveTx("x1t")) == (0x31, field(2, field(1, tx_key(tx))))
    assert codec.encode(ResetRoute()) == (0x31, field(3, b""))


# -- DOG's switches ----------------------------------------------------------------------------------------

RESETS = "Entries for a particular peer are reset if a peer sends a ResetRoute message"
STRICT = "if redundancy > redundancyUpperBound enableRouteDisabling()"
TO_ALL = "If a transaction was received via RPC, it is gossiped to all connected peers."
IF_HIGH = "send HaveTx messages if the redundancy is too high"

READ: Mapping[str, tuple[tuple[str, bool, str], ...]] = {
    "dog-adr": (
        ("resets-all", True, RESETS),
        ("strict-upper-bound", True, STRICT),
        ("own-never-filtered", True, TO_ALL),
        ("starts-blocked", False, "If true, do not send HaveTx messages. blockHaveTx atomic.Bool"),
        ("low-blocks", False, "if redundancy < r.redundancyLowerBound: peer.send(Reset)"),
        ("in-band-blocks", False, "It is unblocked by the redundancy control mechanism"),
        ("some-sender-cut", False, "it will pick the first one that has sent it and disable that route"),
        ("integers", False, "lowerBound float64 upperBound float64"),
        ("told-without-dog", False, "nodes not having DOG enabled will not receive the new messages"),
    ),
    "dog-adr-prose": (
        ("resets-all", True, RESETS),
        ("strict-upper-bound", True, STRICT),
        ("own-never-filtered", True, TO_ALL),
        ("starts-blocked", True, IF_HIGH),
        ("low-blocks", True, IF_HIGH),
        ("in-band-blocks", True, IF_HIGH),
    ),
    "dog-quint": (
        ("integers", True, "bounds, counters and their ratio are of type int"),
        ("stale-routes", True, "HaveTx disables the route from the first sender, connected or not"),
        ("lost-may-be-asked", True, "the peer to ask is chosen among the peers before the loss"),
        ("joiner-gets-later", True, "one index into the pool for all peers, which never goes back"),
        ("one-inbox", True, "a ResetRoute is only read where a route is disabled, and stays otherwise"),
        ("resets-all", False, "one of the routes to the sender is chosen"),
        ("starts-blocked", False, "HaveTx is not blocked at the start"),
        ("strict-upper-bound", False, "redundancy >= upper bound"),
    ),
    "dog-go": (
        ("some-sender-cut", True, "the sender is the first that the range over a sync.Map gives"),
        ("some-sender-filters", True, "the same, each time that a transaction is to be sent"),
        ("reset-may-be-lost", True, "the peer set still holds the lost peer, to which a send fails"),
        ("user-duplicates-uncounted", True, "a duplicate without a sender is not counted"),
        ("committed-answered", True, "a duplicate of what is cached is answered, in the pool or not"),
        ("invalid-forgotten", True, "an invalid transaction leaves the cache"),
        ("full-pool-first", True, "whether the pool is full is asked before the cache is"),
        ("told-without-dog", True, "HaveTx and ResetRoute go to every peer; who has DOG off ignores them"),
        ("resets-all", False, "one random route to the sender is enabled"),
        ("strict-upper-bound", False, "redundancy >= upper bound"),
        ("starts-blocked", False, "blockHaveTx is false, the zero value of atomic.Bool"),
    ),
}
"""Variant -> (switch, whether it is turned, and the words of ADR-119 or what Quint or Go code does)."""
ROWS = [(variant, *row) for variant, rows in READ.items() for row in rows]


@pytest.mark.parametrize(("variant", "switch", "turned", "words"), ROWS, ids=lambda v: str(v)[:24])
def test_switches_of_dog(variant: str, switch: str, turned: bool, words: str) -> None:
    assert switch in SWITCHES
    assert (switch in TURNED[variant]) == turned, f"the model; {variant}: {words}"
    assert (switch in TURNED_IN_ROUTER[variant]) == turned, f"our router; {variant}: {words}"


@pytest.mark.parametrize("variant", READ)
def test_each_switch_that_is_turned_has_its_words(variant: str) -> None:
    named = {switch for switch, turned, _ in READ[variant] if turned}
    assert set(TURNED[variant]) == named == set(TURNED_IN_ROUTER[variant])
