"""What tells one crash of a router from another."""

from __future__ import annotations

import re

from quidnunc.model.events import Crashed

NAME_MAX = 100
"""Characters of the name of a crash."""

_PLACED = re.compile(r"[A-Za-z_][\w.]* in [\w.<>:]+(?=:|$)")
_BYTES = re.compile(r"""\bb(['"])(\\.|(?!\1).)*\1""")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\b(?=[a-fA-F]*\d)[0-9a-fA-F]{8,}\b|\d+")


def crash_name(crash: Crashed) -> str:
    """`TYPE in PLACE`, where the router's words begin so; else their first line without numbers and bytes,
    which may be addresses or ids."""
    first = crash.text.partition("\n")[0]
    placed = _PLACED.match(first)
    return (placed[0] if placed else _NUMBER.sub("#", _BYTES.sub("#", first)))[:NAME_MAX].strip()
