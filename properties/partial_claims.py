"""The claims on extensions and partial messages."""

from __future__ import annotations

from quidnunc.properties.claim_tables import Claim, claim

EXTENSIONS: tuple[Claim, ...] = (
    claim(
        "extensions.first",
        "Who has extensions names them in the first RPC on a stream of v1.3.",
        "gs1.3/extensions.first-rpc",
        "gs1.3/extensions.none-omitted",
    ),
    claim("extensions.once", "Extensions is sent once on a stream.", "gs1.3/extensions.once"),
    claim(
        "extensions.unknown-ignored",
        "Extensions that the router does not know change nothing.",
        "gs1.3/extensions.unknown-ignored",
    ),
    claim(
        "extensions.of-the-stream",
        "What a peer named in the first RPC on a stream counts on it, and nowhere else.",
        "gs1.3/extensions.described",
        "gs1.3/extensions.misuse",
    ),
    claim(
        "extensions.not-below",
        "On streams of v1.2 and older no Extensions is sent.",
        "gs1.3/extensions.not-below",
    ),
    claim(
        "extensions.test-exchanged",
        "One TestExtension is sent to exactly those that named the test extension, where the router has it.",
        "gs1.3/test.exchanged",
    ),
)
