"""The bitmap application on one router whose neighbours are played: bitlists, combinations, refusals."""

from __future__ import annotations

import pytest

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import FrameDecoder, frame
from quidnunc.model.events import MESHSUB_1_3
from tests.helpers.bitmap_app import BitmapApp, PeerPartsView, bitlist, bitlist_read, is_part, make_part
from tests.helpers.partial_network import GROUP, TOPIC, parameters

LENGTH = 4
PARTS = [(k, make_part(GROUP, k, b"part %d" % k)) for k in range(LENGTH)]
READINGS = pytest.mark.parametrize(
    "reading", ["partial-messages", "partial-messages-jvm", "partial-messages-go"]
)


class Beside:
    """A router with the application, and one neighbour, peer 1, in its mesh."""

    def __init__(
        self,
        reading: str,
        *,
        requests: bool = True,
        peer_requests: bool = True,
        named: bool = True,
        **app: bool,
    ) -> None:
        self.router = GossipsubRouter(parameters(), protocol=reading)
        self.app = BitmapApp(self.router.partial, TOPIC, length=LENGTH, requests=requests, **app)
        self.router.join(TOPIC, requests=requests, supports=True)
        self.router.connect(1, MESHSUB_1_3, outbound=True)
        hello = wire.RPC()
        hello.control.extensions.partialMessages = named
        self.say(hello)
        flags = wire.RPC()
        flags.subscriptions.add(
            subscribe=True, topicid=TOPIC, requestsPartial=peer_requests, supportsSendingPartial=True
        )
        flags.control.graft.add(topicID=TOPIC)
        self.say(flags)

    def say(self, rpc: wire.RPC) -> list[wire.RPC]:
        self.router.receive(1, frame(rpc.SerializeToString()))
        return self.heard()

    def heard(self) -> list[wire.RPC]:
        self.router.outbox.flush()
        frames = self.router.take().frames
        decoder = FrameDecoder()
        return [wire.RPC.FromString(p) for _, data in frames for p in decoder.feed(data)[0]]

    def partial(
        self, *, payload: int | None = None, has: int | None = None, wants: int = 0
    ) -> list[wire.RPC]:
        """The neighbour sends these parts (bits), and says what it has and wants; either may be left out."""
        rpc = wire.RPC()
        rpc.partial.topicID, rpc.partial.groupID = TOPIC, GROUP
        if payload is not None:
            body = b"".join(part for k, part in PARTS if payload >> k & 1)
            rpc.partial.partialMessage = bitlist(payload, LENGTH) + body
        if has is not None:
            rpc.partial.partsMetadata = bitlist(has, LENGTH) + bitlist(wants, LENGTH)
        return self.say(rpc)

    def give(self, *indices: int) -> list[wire.RPC]:
        self.app.add(GROUP, [PARTS[k] for k in indices])
        self.app.publish(GROUP)
        return self.heard()

    def bits(self) -> int:
        return self.app.held[GROUP].bits() if GROUP in self.app.held else 0


def payloads(rpcs: list[wire.RPC]) -> list[int]:
    """Which parts each partial message carries."""
    return [
        bitlist_read(r.partial.partialMessage[:1])[0] for r in rpcs if r.partial.HasField("partialMessage")
    ]


def told(rpcs: list[wire.RPC]) -> list[tuple[int, int]]:
    """(has, wants) of each metadata."""
    found = [r.partial.partsMetadata for r in rpcs if r.partial.HasField("partsMetadata")]
    return [(bitlist_read(m[:1])[0], bitlist_read(m[1:])[0]) for m in found]


class TestBytes:
    @pytest.mark.parametrize(
        ("bits", "length"), [(0, 0), (0, 1), (1, 1), (0b101, 7), (0xFF, 8), (1 << 63, 64)]
    )
    def test_bitlists_round_trip(self, bits: int, length: int) -> None:
        data = bitlist(bits, length)
        assert len(data) == length // 8 + 1
        assert bitlist_read(data) == (bits, length)

    def test_as_ssz_has_them(self) -> None:
        assert bitlist(0b0101, 4) == b"\x15"
        assert bitlist(0, 8) == b"\x00\x01"

    @pytest.mark.parametrize("data", [b"", b"\x00", b"\x01\x00", b"\xff" * 600])
    def test_what_is_none(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="no bitlist"):
            bitlist_read(data)

    def test_too_many_bits(self) -> None:
        with pytest.raises(ValueError, match="a bitlist of 2 bits cannot hold 3"):
            bitlist(0b100, 2)

    def test_parts_are_of_one_group_and_place(self) -> None:
        assert is_part(GROUP, 2, PARTS[2][1])
        assert not is_part(GROUP, 1, PARTS[2][1])
        assert not is_part(b"other", 2, PARTS[2][1])

    def test_views_are_kept_as_bytes(self) -> None:
        view = PeerPartsView(has=0b0011, wants=0b1000, told=0b0001, heard=True)
        assert PeerPartsView.decoded(view.encoded(LENGTH), LENGTH) == view
        assert PeerPartsView.decoded(PeerPartsView().encoded(LENGTH), LENGTH) == PeerPartsView()
        assert PeerPartsView.decoded(None, LENGTH) == PeerPartsView()


@READINGS
class TestTheFourCombinations:
    """Payload and metadata, each there or not, both ways."""

    def test_both_come_in_and_both_go_out(self, reading: str) -> None:
        beside = Beside(reading)
        beside.give(0)
        answer = beside.partial(payload=0b0010, has=0b0010, wants=0b1101)
        assert beside.bits() == 0b0011
        assert payloads(answer) == [0b0001]
        assert told(answer) == [(0b0011, 0b1100)]

    def test_metadata_alone(self, reading: str) -> None:
        beside = Beside(reading)
        assert told(beside.give(0)) == [(0b0001, 0b1110)]
        answer = beside.partial(has=0b1110, wants=0b0001)
        assert payloads(answer) == [0b0001] and told(answer) == []
        assert beside.bits() == 0b0001

    def test_payload_alone(self, reading: str) -> None:
        """It shows what its sender has; that it wants anything it has not said."""
        beside = Beside(reading)
        beside.give(0)
        answer = beside.partial(payload=0b1000)
        assert beside.bits() == 0b1001
        assert payloads(answer) == [] and told(answer) == [(0b1001, 0b0110)]

    def test_neither(self, reading: str) -> None:
        beside = Beside(reading)
        beside.give(0)
        assert beside.partial() == []
        assert (beside.bits(), beside.app.refused) == (0b0001, 0)

    def test_later_metadata_replaces_earlier(self, reading: str) -> None:
        beside = Beside(reading)
        beside.partial(has=0b1000, wants=0b0001)
        beside.partial(has=0b0000, wants=0b1000)
        assert payloads(beside.give(0, 3)) == [0b1000]


@READINGS
class TestTheRest:
    def test_before_the_handshake_nothing_is_read(self, reading: str) -> None:
        beside = Beside(reading, named=False)
        assert beside.partial(payload=0b0001, has=0b0001) == []
        assert beside.bits() == 0

    def test_support_without_request(self, reading: str) -> None:
        """It wants nothing, says what it has, and answers."""
        beside = Beside(reading, requests=False)
        assert told(beside.give(0, 1)) == [(0b0011, 0)]
        assert payloads(beside.partial(has=0, wants=0b1111)) == [0b0011]

    def test_who_does_not_request_is_sent_no_parts(self, reading: str) -> None:
        beside = Beside(reading, peer_requests=False)
        first = beside.give(0)
        answer = beside.partial(has=0, wants=0b1111)
        assert payloads(first + answer) == []

    def test_parts_can_be_pushed_before_anything_is_known(self, reading: str) -> None:
        beside = Beside(reading, eager=True)
        assert payloads(beside.give(0, 2)) == [0b0101]
        assert payloads(beside.give()) == []

    def test_what_is_no_good_is_refused(self, reading: str) -> None:
        beside = Beside(reading)
        rpc = wire.RPC()
        rpc.partial.topicID, rpc.partial.groupID = TOPIC, GROUP
        rpc.partial.partialMessage = bitlist(1, LENGTH) + bytes(20)
        beside.say(rpc)
        rpc.partial.partialMessage = b"\x00"
        beside.say(rpc)
        assert (beside.bits(), beside.app.refused) == (0, 2)

    def test_the_whole_is_told_once(self, reading: str) -> None:
        whole: list[bytes] = []
        beside = Beside(reading)
        beside.app.on_whole = lambda group, data: whole.append(data)
        beside.give(0, 1, 2)
        beside.partial(payload=0b1000)
        beside.partial(payload=0b1000)
        assert whole == [bytes((len(GROUP),)) + GROUP + b"".join(part for _, part in PARTS)]
