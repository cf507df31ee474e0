"""What routers say to each other, as values: the parts of an RPC.

One vocabulary serves the model, our routers' adapters, cases and reports. Bytes are made of it by
`quidnunc.impl.wire.codec` alone. Sources: libp2p pubsub README, gossipsub v1.0 to v1.3, partial messages;
ADR-119 (DOG).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs
from attrs import field, frozen

Peer: TypeAlias = int
"""A neighbour, from 1. Its Ed25519 seed is this integer, 32 bits little-endian, in 32 zero bytes."""

ROUTER: Peer = 0
"""The router under test itself, as the author of a message."""

RSA_AUTHOR: Peer = 2**31 + 2
SECP256K1_AUTHOR: Peer = 2**31 + 4
ECDSA_AUTHOR: Peer = 2**31 + 6
OTHER_AUTHORS: Mapping[Peer, str] = {RSA_AUTHOR: "rsa", SECP256K1_AUTHOR: "secp256k1", ECDSA_AUTHOR: "ecdsa"}
"""Authors of messages who are nobody's neighbour, and whose keys are of other types than Ed25519. A secp256k1
key is in the peer id, as an Ed25519 key is; of the others the id is a hash."""

Flaw: TypeAlias = Literal[
    "",
    "unsigned",
    "forged",
    "foreign-key",
    "other-key",
    "junk-key",
    "no-key",
    "no-author",
    "no-seqno",
    "stamped",
    "altered",
    "stale-seqno",
]
"""What is wrong with one copy of a message, measured by the signature policy in force.

`unsigned`: no signature; `forged`: a signature that does not verify; `foreign-key`: signature and key are
another peer's; `other-key`: the signature is the author's, the key another peer's; `junk-key`: the key is no
key; `no-key`: no key, although it is not in the author's id; `no-author`, `no-seqno`: that field is absent;
`stamped`: author, seqno or signature present under StrictNoSign; `altered`: differs in bytes from every
copy that was sent; `stale-seqno`: the router's own, with a sequence number that is not beyond those before
(both only ever observed, never sent).
"""


@frozen
class Message:
    """A pubsub message. Equal `id` means equal message id, by construction of the codec."""

    id: str
    topic: str
    author: Peer | None = None
    size: int = 0
    """Bytes of data; the codec pads to it. 0: as short as can be."""
    flaw: Flaw = ""
    key: bool = False
    """The author's key is in it although the author's peer id holds it."""


@frozen
class Subscribe:
    topic: str
    requests: bool = False
    """requestsPartial: partial messages are wanted in the place of full ones."""
    supports: bool = False
    """supportsSendingPartial."""


@frozen
class Unsubscribe:
    topic: str
    requests: bool = False
    supports: bool = False
    """The same two fields, which mean nothing here."""


@frozen
class IHave:
    topic: str
    ids: tuple[str, ...]


@frozen
class IWant:
    ids: tuple[str, ...]


@frozen
class Graft:
    topic: str


RecordKind: TypeAlias = Literal["", "signed", "forged", "foreign", "any"]
"""None; good ones; ones that do not verify; ones of other peers."""

UNSAID = -1
"""In a permit: the text does not say what the field holds, or whether it is there."""


@frozen
class Prune:
    topic: str
    backoff_s: int | None = None
    """The announced backoff in seconds; None where the field is absent, UNSAID in an open permit."""
    peers: tuple[Peer, ...] = ()
    """Peers offered in exchange (PX)."""
    records: RecordKind = ""
    """Of the signed records of those peers; `any` in a permit: some of those peers may be listed."""


@frozen
class IDontWant:
    ids: tuple[str, ...]


@frozen
class Control:
    """A control message that no specification here has: one of somebody's own protocol."""

    name: str
    ids: tuple[str, ...] = ()
    """Topics, message ids or what else its one field holds."""


@frozen
class ControlField:
    """The field of such a message: `repeated CONTROL NAME = NUMBER` of `ControlMessage`, which holds
    `repeated bytes ids = 1`. Raises ValueError for what cannot be a field of `ControlMessage`."""

    name: str
    number: int
    carries: Literal["topics", "ids"] = "topics"
    """What neighbours that send it put into it."""

    def __attrs_post_init__(self) -> None:
        if not self.name.isidentifier() or not self.name.islower():
            raise ValueError(f"a control message needs a name in lower case, got {self.name!r}")
        if not TAKEN < self.number < 1 << 29 or 19_000 <= self.number < 20_000:
            raise ValueError(
                f"the field of {self.name!r} needs a number from {TAKEN + 1} to {(1 << 29) - 1}, and none of "
                f"19000 to 19999, which protobuf reserves; got {self.number}"
            )
        if self.carries not in ("topics", "ids"):
            raise ValueError(f"the field of {self.name!r} carries 'topics' or 'ids', got {self.carries!r}")


INVALID_TX = "bad"
"""The application of the harness refuses a transaction whose name, or whose bytes, begin so."""


def account_of(tx: str) -> tuple[str, int]:
    """The signer of a transaction, and its place among the signer's: `s1n2` is the third one of `s1`, and
    `s1n2b` another for that place. What is not named so is the first of a signer of its own."""
    head, _, tail = tx[1:].partition("n")
    digits = tail.rstrip("abcdefghijklmnopqrstuvwxyz")
    if tx[:1] == "s" and head.isdigit() and digits.isdigit() and len(tail) < 12:
        return f"s{head}", int(digits)
    return tx, 0


def says_more(tx: str) -> bool:
    """Whether the name of a transaction tells its signer, or that it is refused: another would not do."""
    return tx.startswith(INVALID_TX) or account_of(tx) != (tx, 0)


@frozen
class Tx:
    """One transaction, in a Txs message of CometBFT's mempool channel 0x30."""

    id: str


@frozen
class HaveTx:
    """DOG: "I had this one already" (control channel 0x31)."""

    id: str


@frozen
class ResetRoute:
    """DOG: "let one more route to me be used again" (control channel 0x31)."""


@frozen
class SeenTx:
    """CAT: "I have this one" (channel 0x31)."""

    id: str


@frozen
class WantTx:
    """CAT: "send me that one" (channel 0x31, in newer versions 0x32)."""

    id: str


Fault: TypeAlias = Literal["bytes", "channel", "key", "signer"]
"""What is wrong with a message: its bytes are none of the protocol, it is on a channel where it does not
belong, its key is no hash, or it names no signer, or another one than its transaction has. Of these an RPC of
pubsub has the first alone."""


@frozen
class Stray:
    """A message or an RPC that breaks the format. Only ever observed, and never permitted but by an edit."""

    fault: Fault


TEST_EXTENSION = "test"
PARTIAL_EXTENSION = "partial"
"""Names of extensions that the kit knows. One that it does not know is `x` and its field number."""


@frozen
class Extensions:
    """The extensions control message (gossipsub v1.3): what its sender supports."""

    names: tuple[str, ...] = ()
    late: bool = False
    """Only ever observed: it was not in the first RPC on its stream."""


@frozen
class TestExtension:
    """The one message of the test extension."""

    # Not a test, for all that its name says.
    __test__ = False


@frozen
class Partial:
    """One message of the partial messages extension; what it carries is the application's."""

    topic: str
    group: str
    payload: str | None = None
    """partialMessage: encoded parts. None where the field is absent."""
    metadata: str | None = None
    """partsMetadata: what the sender has and wants. None where the field is absent."""


Part: TypeAlias = (
    Subscribe
    | Unsubscribe
    | Message
    | IHave
    | IWant
    | Graft
    | Prune
    | IDontWant
    | Extensions
    | TestExtension
    | Partial
    | Tx
    | HaveTx
    | ResetRoute
    | SeenTx
    | WantTx
    | Stray
    | Control
)


# -- the table of parts -------------------------------------------------------------------------------------

# fmt: off
FieldKind: TypeAlias = Literal[
    "topic", "group", "ids", "tx", "names", "control", "words", "fault", "message",
    "flag", "late", "backoff", "peers", "records", "opaque",
]
# fmt: on
"""What a field of a part holds. Each notation (text of cases, traces, wire) has one way for each kind."""


@frozen(eq=False)
class PartShape:
    """One kind of part: its class, what its fields hold, and the version that it came with.

    Text of cases, traces, the codec, the schemas of versions and the acts of neighbours are driven by this.
    Raises ValueError where `holds` does not fit the fields of the class.
    """

    kind: type[Any]
    holds: tuple[FieldKind, ...] = ()
    """For each field of the class, in their order."""
    since: str = ""
    """The first version of pubsub that has it (`quidnunc.model.versions`); empty: it is none of pubsub's."""
    number: int = 0
    """Of its field in `ControlMessage`; 0: it is no control message."""
    later: Mapping[str, str] = field(factory=dict)
    """Field -> the version that added it, where that is a later one."""

    def __attrs_post_init__(self) -> None:
        if len(self.names) != len(self.holds):
            raise ValueError(f"{self.kind.__name__} has {len(self.names)} fields, and {self.holds} of kinds")

    @property
    def word(self) -> str:
        """Its name in the text of cases, on the wire and among the handlers of a protocol."""
        return self.kind.__name__.lower()

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of the class, in their order."""
        return tuple(each.name for each in attrs.fields(self.kind))

    @property
    def fields(self) -> tuple[tuple[str, FieldKind], ...]:
        """(name, what it holds), in their order."""
        return tuple(zip(self.names, self.holds, strict=True))

    def sample(self, topic: str, message_id: str) -> Part:
        """A part of this kind about a topic and a message, with all else left out."""
        values = {"topic": topic, "ids": (message_id,)}
        part: Part = self.kind(**{name: values[kind] for name, kind in self.fields if kind in values})
        return part


_FLAGS = {"requests": "partial-messages", "supports": "partial-messages"}

PARTS: tuple[PartShape, ...] = (
    PartShape(Subscribe, ("topic", "flag", "flag"), "floodsub", later=_FLAGS),
    PartShape(Unsubscribe, ("topic", "flag", "flag"), "floodsub", later=_FLAGS),
    PartShape(Message, ("message",) * 6, "floodsub"),
    PartShape(IHave, ("topic", "ids"), "gossipsub-1.0", number=1),
    PartShape(IWant, ("ids",), "gossipsub-1.0", number=2),
    PartShape(Graft, ("topic",), "gossipsub-1.0", number=3),
    PartShape(
        Prune,
        ("topic", "backoff", "peers", "records"),
        "gossipsub-1.0",
        number=4,
        later={"backoff_s": "gossipsub-1.1", "peers": "gossipsub-1.1"},
    ),
    PartShape(IDontWant, ("ids",), "gossipsub-1.2-draft", number=5),
    PartShape(Extensions, ("names", "late"), "gossipsub-1.3", number=6),
    PartShape(TestExtension, (), "gossipsub-1.3"),
    PartShape(Partial, ("topic", "group", "opaque", "opaque"), "partial-messages"),
    PartShape(Tx, ("tx",)),
    PartShape(HaveTx, ("tx",)),
    PartShape(ResetRoute),
    PartShape(SeenTx, ("tx",)),
    PartShape(WantTx, ("tx",)),
    PartShape(Stray, ("fault",)),
    PartShape(Control, ("control", "words")),
)
"""Every kind of part, in the order in which they are listed to a reader. To add one: its class above, `Part`,
and a row here."""

SHAPE_OF: Mapping[type[Any], PartShape] = {shape.kind: shape for shape in PARTS}

CONTROL_SHAPES: tuple[PartShape, ...] = tuple(sorted((s for s in PARTS if s.number), key=lambda s: s.number))
"""The control messages of gossipsub, in the order of their field numbers, in which an RPC is read."""

CONTROL: tuple[type[Any], ...] = (*(shape.kind for shape in CONTROL_SHAPES), Control)
"""The kinds of part that are control messages of gossipsub."""

TAKEN = max(shape.number for shape in PARTS)
"""Numbers of `ControlMessage` up to this one are those of the specifications."""

_IDS: Mapping[type[Any], str] = {s.kind: name for s in PARTS for name, kind in s.fields if kind == "ids"}
"""Kind of part -> its field of message ids."""


def ids_named(part: Part) -> tuple[str, ...]:
    """The messages that a control message names. A message itself names none."""
    name = _IDS.get(type(part))
    named: tuple[str, ...] = () if name is None else getattr(part, name)
    return named


def atoms(part: Part) -> tuple[Part, ...]:
    """`part` cut to one id each, so that how a router packs ids does not matter.

    An IHAVE, IWANT or IDONTWANT without ids stays as it is: that it was sent at all is an observation.
    """
    rest: Any = part
    cut = tuple(attrs.evolve(rest, **{_IDS[type(part)]: (each,)}) for each in ids_named(part))
    return cut or (part,)
