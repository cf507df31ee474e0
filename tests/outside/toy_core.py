"""A floodsub router in one page, by somebody who has never seen the kit: bytes in, bytes out."""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

FROM, DATA, SEQNO, TOPIC, SIGNATURE, KEY = 1, 2, 3, 4, 5, 6


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """(number, value) of each field of a protobuf message that has varints and bytes alone."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        value = number()
        if tag & 7 == 2:
            at += value
            value = data[at - value : at]
        yield tag >> 3, value


def private_key(peer):
    return Ed25519PrivateKey.from_private_bytes(peer.to_bytes(4, "little") + bytes(28))


def peer_id(peer):
    return b"\x00\x24\x08\x01\x12\x20" + private_key(peer).public_key().public_bytes_raw()


def signed_part(message):
    return b"libp2p-pubsub:" + b"".join(field(k, v) for k, v in sorted(message.items()) if k < SIGNATURE)


def is_good(message):
    author = message.get(FROM, b"")
    if len(author) != 38 or not author.startswith(b"\x00\x24") or len(message.get(SEQNO, b"")) != 8:
        return False
    if message.get(KEY, author[2:]) != author[2:]:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(author[6:])
        key.verify(message.get(SIGNATURE, b""), signed_part(message))
    except (InvalidSignature, ValueError):
        return False
    return True


class Toy:
    """Requests in, (out, delivered) back: [(peer, RPC bytes)], [(topic, data)]."""

    def __init__(self, message_id):
        self.message_id = message_id
        self.peers = {}
        self.topics = set()
        self.seen = set()
        self.published = 0

    def connect(self, peer):
        self.peers[peer] = set()
        hello = b"".join(self.subscription(topic, True) for topic in sorted(self.topics))
        return ([(peer, hello)] if hello else []), []

    def disconnect(self, peer):
        del self.peers[peer]
        return [], []

    def subscription(self, topic, yes):
        return field(1, field(1, int(yes)) + field(2, topic.encode()))

    def join(self, topic):
        self.topics.add(topic)
        return [(peer, self.subscription(topic, True)) for peer in self.peers], []

    def leave(self, topic):
        self.topics.discard(topic)
        return [(peer, self.subscription(topic, False)) for peer in self.peers], []

    def publish(self, topic, data):
        self.published += 1
        seqno = self.published.to_bytes(8, "big")
        message = {FROM: peer_id(0), DATA: data, SEQNO: seqno, TOPIC: topic.encode()}
        message[SIGNATURE] = private_key(0).sign(signed_part(message))
        self.seen.add(self.id_of(message))
        data = b"".join(field(k, v) for k, v in sorted(message.items()))
        return [(peer, field(2, data)) for peer in self.members(topic)], []

    def rpc(self, peer, data):
        out, delivered = [], []
        for number, value in fields(data):
            if number == 1:
                said = dict(fields(value))
                change = self.peers[peer].add if said.get(1) else self.peers[peer].discard
                change(said.get(2, b"").decode())
        for number, value in fields(data):
            if number == 2:
                self.take(peer, value, out, delivered)
        return out, delivered

    def take(self, sender, data, out, delivered):
        message = dict(fields(data))
        topic = message.get(TOPIC, b"").decode()
        name = self.id_of(message)
        if topic not in self.topics or not is_good(message) or message[FROM] == peer_id(0):
            return
        if name in self.seen:
            return
        self.seen.add(name)
        delivered.append((topic, message.get(DATA, b"")))
        targets = self.members(topic)  # BUG: the forwarder gets its own message back.
        out += [(peer, field(2, data)) for peer in targets if peer_id(peer) != message[FROM]]

    def members(self, topic):
        return {peer for peer, topics in self.peers.items() if topic in topics}

    def id_of(self, message):
        if self.message_id == "origin":
            return message.get(FROM, b"") + message.get(SEQNO, b"")
        digest = hashlib.sha256(message.get(DATA, b""))
        return digest.digest() if self.message_id == "content" else digest.hexdigest().encode()
