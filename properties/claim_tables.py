"""The public names with which a protocol of your own states its claims (`docs/own-protocols.md`)."""

from __future__ import annotations

from quidnunc.properties.claims.claim import Claim, claim

__all__ = ["Claim", "claim"]
