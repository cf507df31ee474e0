"""What routers say to each other, as values: the parts of an RPC.

One vocabulary serves the model, our routers' adapters, cases and reports. Bytes are made of it by
`quidnunc.impl.codec` alone. Sources: libp2p pubsub README, gossipsub v1.0 to v1.3, partial messages; ADR-119
(DOG).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import frozen

Peer: TypeAlias = int
"""A neighbour, from 1. Its Ed25519 seed is this integer, 32 bits little-endian, in 32 zero bytes."""

ROUTER: Peer = 0
"""The router under test itself, as the author of a message."""

Flaw: TypeAlias = Literal[
    "", "unsigned", "forged", "foreign-key", "no-author", "no-seqno", "stamped", "altered", "stale-seqno"
]
"""What is wrong with one copy of a message, measured by the signature policy in force.

`unsigned`: no signature; `forged`: a signature that does not verify; `foreign-key`: the key is not the
author's; `no-author`, `no-seqno`: that field is absent; `stamped`: author, seqno or signature present under
StrictNoSign; `altered`: differs in bytes from every copy that was sent; `stale-seqno`: the router's own, with
a sequence number that is not beyond those before (both only ever observed, never sent).
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
    `repeated bytes ids = 1`. Raises ValueError for what can not be a field of `ControlMessage`."""

    name: str
    number: int
    carries: Literal["topics", "ids"] = "topics"
    """What neighbours that send it put into it."""

    def __attrs_post_init__(self) -> None:
        if not self.name.isidentifier() or not self.name.islower():
            raise ValueError(f"a control message is named in lower case letters, got {self.name!r}")
        if not TAKEN < self.number < 1 << 29 or 19_000 <= self.number < 20_000:
            raise ValueError(
                f"the field of {self.name!r} needs a number from {TAKEN + 1} to {(1 << 29) - 1}, and none of "
                f"19000 to 19999, which protobuf reserves; got {self.number}"
            )
        if self.carries not in ("topics", "ids"):
            raise ValueError(f"the field of {self.name!r} carries 'topics' or 'ids', got {self.carries!r}")


TAKEN = 6
"""Numbers of `ControlMessage` up to this one are those of the specifications."""

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
    """A message or an RPC that breaks the format. Only ever observed, and never permitted."""

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


CONTROL = (IHave, IWant, Graft, Prune, IDontWant, Extensions, Control)
"""The kinds of part that are control messages of gossipsub."""


def atoms(part: Part) -> tuple[Part, ...]:
    """`part` cut to one id each, so that how a router packs ids does not matter.

    An IHAVE, IWANT or IDONTWANT without ids stays as it is: that it was sent at all is an observation.
    """
    match part:
        case IHave(topic, ids) if ids:
            return tuple(IHave(topic, (i,)) for i in ids)
        case IWant(ids) if ids:
            return tuple(IWant((i,)) for i in ids)
        case IDontWant(ids) if ids:
            return tuple(IDontWant((i,)) for i in ids)
        case _:
            return (part,)
