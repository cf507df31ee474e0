"""Frames of a pubsub stream: an unsigned varint length, then that many bytes of protobuf."""

from __future__ import annotations

MAX_FRAME_BYTES = 4 << 20
"""The longest frame that our decoders take unless they are told otherwise. Ours; the README only advises that
a message stay near 1 MiB."""

MAX_VARINT_BYTES = 10
"""As many as 64 bits need."""


class FrameError(Exception):
    """The bytes are no frame that we take, so nothing after them on this stream can be read either."""


def varint(value: int) -> bytes:
    """`value` (0 or more) as an unsigned varint. Raises ValueError below 0."""
    if value < 0:
        raise ValueError(f"a length is 0 or more, got {value}")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SHORT = tuple(varint(length) for length in range(4096))
# Most RPCs are short, and a table spares them the loop.


def frame(payload: bytes) -> bytes:
    """`payload` with its length in front."""
    length = len(payload)
    return (_SHORT[length] if length < len(_SHORT) else varint(length)) + payload


class FrameDecoder:
    """Takes the bytes of one stream in chunks of any size and gives back whole payloads.

    Holds one unfinished frame at most, so a peer can make it keep `max_bytes` and the chunk in hand, no more.
    """

    def __init__(self, *, max_bytes: int = MAX_FRAME_BYTES) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, got {max_bytes}")
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._needed = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of the frame that is not complete yet."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> tuple[list[bytes], FrameError | None]:
        """The payloads that `chunk` completes, in order, and what is wrong with the bytes after them.

        The payloads in front of an error are good: their sender sent them before it went wrong. After an
        error the decoder is of no more use.
        """
        data = chunk
        if self._rest:
            self._rest += chunk
            # Joining only when the frame is complete keeps a frame that drips in from costing its square.
            if len(self._rest) < self._needed:
                return [], None
            data = bytes(self._rest)
            self._rest.clear()
        payloads: list[bytes] = []
        at, end = 0, len(data)
        while at < end:
            try:
                head = self._length(data, at)
            except FrameError as error:
                return payloads, error
            if head is None:
                self._needed = 0
                break
            length, start = head
            if start + length > end:
                self._needed = start + length - at
                break
            at = start + length
            payloads.append(data[start:at])
        self._rest += data[at:]
        return payloads, None

    def _length(self, data: bytes, at: int) -> tuple[int, int] | None:
        """(length, where the payload starts), or None where the varint is not complete."""
        length = data[at]
        if length < 0x80:
            return self._checked(length), at + 1
        length &= 0x7F
        for count, byte in enumerate(data[at + 1 : at + MAX_VARINT_BYTES], start=1):
            length |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                return self._checked(length), at + count + 1
        if len(data) - at >= MAX_VARINT_BYTES:
            raise FrameError(f"the length of a frame takes more than {MAX_VARINT_BYTES} bytes")
        return None

    def _checked(self, length: int) -> int:
        if length > self._max_bytes:
            raise FrameError(f"a frame of {length} bytes is announced; the limit is {self._max_bytes}")
        return length
