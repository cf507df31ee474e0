"""Keys follow from the integer alone, and verification takes any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quidnunc.impl.wire.keys import key_in_id, peer_id, peer_of, public_key, sign, verify

# The public key of the all-zero seed, which any Ed25519 library confirms.
ZERO = bytes.fromhex("3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29")


def test_peer_0_has_the_key_of_the_zero_seed() -> None:
    assert public_key(0) == b"\x08\x01\x12\x20" + ZERO
    assert peer_id(0) == b"\x00\x24\x08\x01\x12\x20" + ZERO


def test_the_seed_is_little_endian() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(b"\x02\x01" + bytes(30))
    assert peer_id(258)[6:] == private.public_key().public_bytes_raw()


def test_ids_lead_back_to_peers_and_keys() -> None:
    assert peer_of(peer_id(7)) == 7
    assert peer_of(b"nobody") is None
    assert key_in_id(peer_id(7)) == public_key(7)
    assert key_in_id(b"\x12\x20" + bytes(32)) is None
    assert key_in_id(peer_id(7) + b"x") is None


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_a_signature_verifies_for_its_key_and_data_alone(size: int) -> None:
    data = bytes(size)
    signature = sign(3, data)
    assert verify(public_key(3), data, signature)
    assert verify(public_key(3), data, signature), "again, from the cache"
    assert not verify(public_key(4), data, signature)
    assert not verify(public_key(3), data + b"x", signature)
    assert not verify(public_key(3), data, signature[:-1] + bytes([signature[-1] ^ 1]))


@settings(max_examples=50, deadline=None)
@given(key=st.binary(max_size=40), data=st.binary(max_size=9), signature=st.binary(max_size=70))
def test_verify_takes_any_bytes(key: bytes, data: bytes, signature: bytes) -> None:
    assert verify(key, data, signature) is False
    assert verify(public_key(1), data, signature.ljust(64, b"0")[:64]) is False


@pytest.mark.parametrize("peer", [-1, 1 << 32])
def test_integers_without_a_key(peer: int) -> None:
    with pytest.raises(ValueError, match="has no key"):
        peer_id(peer)
