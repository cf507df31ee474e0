"""Keys of other types than Ed25519, one author of each: RSA, secp256k1, ECDSA on P-256.

Peer id specification: RSA signs by PKCS #1 v1.5, the others by ECDSA in DER, all over SHA-256. Signatures are
the same every time.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from quidnunc.model.rpc import ECDSA_AUTHOR, RSA_AUTHOR, SECP256K1_AUTHOR, Peer

RSA, ED25519, SECP256K1, ECDSA = range(4)
"""Types in the protobuf PublicKey of libp2p."""

_ORDERS = {
    SECP256K1_AUTHOR: 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    ECDSA_AUTHOR: 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
}
"""Of the group of the curve."""

_PRIMES = (
    # Of a key that is everybody's. 2,048 bits, since routers refuse shorter ones.
    "fa60684bd7da6493501ec038db8120257b7145d6f0ed37521bbba9b12884076d5b2cec875b2c995ab13e5406d7"
    "93706a39c25afe42f15ec4d1d8c7f71f26b9dd75435cabdf10dbea084af270b0f76efc061e98813b8b5e0a96e7"
    "e3874a9e188499345d0334cecf3e4645f48969d2ca801f7fb332654eaca38d041d89985d9e53",
    "f85e34e6fb98df2be1630d74057d0bbc83ea310c38d7249c1b4336a7c7aaf583e2a399c9a3529a787f89e8bce0"
    "a8b1a31723964e1fad6d35fe8ade27d8bd80274dd34030751c6a31212096651ef881a13c01d1525de035cacaed"
    "aa74adf74d8a42e0ff6e632ccd7f5aa7c0cbea6f5a9cd5044d2cd838ca1e42263783e0e6e697",
)


MAX_KEY_BYTES = 1 << 14
"""Of a key that is looked at; one of RSA with 8,192 bits has a tenth."""


@lru_cache(maxsize=1)
def _rsa() -> rsa.RSAPrivateKey:
    p, q = (int(prime, 16) for prime in _PRIMES)
    public = rsa.RSAPublicNumbers(65537, p * q)
    d = pow(public.e, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    return numbers.private_key()


def _curve(author: Peer) -> ec.EllipticCurve:
    return ec.SECP256K1() if author == SECP256K1_AUTHOR else ec.SECP256R1()


@lru_cache(maxsize=2)
def _secret(author: Peer) -> int:
    return int.from_bytes(sha256(str(author).encode()).digest(), "big") % _ORDERS[author]


@lru_cache(maxsize=4)
def public_key(author: Peer) -> bytes:
    """The protobuf PublicKey of an author whose key is not Ed25519."""
    if author == RSA_AUTHOR:
        return _protobuf(RSA, _der(_rsa().public_key()))
    public = ec.derive_private_key(_secret(author), _curve(author)).public_key()
    if author == ECDSA_AUTHOR:
        return _protobuf(ECDSA, _der(public))
    return _protobuf(SECP256K1, public.public_bytes(Encoding.X962, PublicFormat.CompressedPoint))


def _der(public: Any) -> bytes:
    encoded: bytes = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encoded


def _protobuf(kind: int, data: bytes) -> bytes:
    size = len(data)
    length = bytes((size,)) if size < 0x80 else bytes((size & 0x7F | 0x80, size >> 7))
    return bytes((0x08, kind, 0x12)) + length + data


def key_parts(key: bytes) -> tuple[int, bytes] | None:
    """Type and data of a protobuf PublicKey; None for bytes that are none."""
    if not 4 <= len(key) <= MAX_KEY_BYTES or key[0] != 0x08 or key[1] > ECDSA or key[2] != 0x12:
        return None
    head = 4 if key[3] < 0x80 else 5
    data = key[head:]
    return (key[1], data) if _protobuf(key[1], data) == key else None


def sign(author: Peer, data: bytes) -> bytes:
    """The signature of an author whose key is not Ed25519."""
    if author == RSA_AUTHOR:
        return _rsa().sign(data, padding.PKCS1v15(), SHA256())
    order, secret = _ORDERS[author], _secret(author)
    digest = int.from_bytes(sha256(data).digest(), "big")
    once = int.from_bytes(sha256(f"{secret} {digest}".encode()).digest(), "big") % order
    point = ec.derive_private_key(once, _curve(author)).public_key().public_numbers()
    r = point.x % order
    s = pow(once, -1, order) * (digest + r * secret) % order
    # Of the two that verify, the lower one: some libraries take no other.
    return encode_dss_signature(r, min(s, order - s))


def verify(key: bytes, data: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of the protobuf PublicKey `key` under `data`. Any bytes may be given."""
    parts = key_parts(key)
    try:
        if parts is None:
            return False
        if parts[0] == SECP256K1:
            point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), parts[1])
            point.verify(signature, data, ec.ECDSA(SHA256()))
            return True
        public = load_der_public_key(parts[1])
        if parts[0] == RSA and isinstance(public, rsa.RSAPublicKey):
            public.verify(signature, data, padding.PKCS1v15(), SHA256())
            return True
        if parts[0] == ECDSA and isinstance(public, ec.EllipticCurvePublicKey):
            public.verify(signature, data, ec.ECDSA(SHA256()))
            return True
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return False
