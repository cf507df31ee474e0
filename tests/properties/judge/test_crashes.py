"""A crash is named by what failed and where, so that two are told apart."""

from __future__ import annotations

import pytest

from quidnunc.model.events import Crashed
from quidnunc.properties.judge.crashes import crash_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("KeyError in my_router.mesh.join: 't1'", "KeyError in my_router.mesh.join"),
        ("KeyError in my_router.mesh.join", "KeyError in my_router.mesh.join"),
        ("DecodeError in a.b.<lambda>: x", "DecodeError in a.b.<lambda>"),
        ("panic: index 12 out of 3 at 0xfe12\nmore", "panic: index # out of # at #"),
        ("Segmentation fault in the mesh", "Segmentation fault in the mesh"),
        (r"KeyError: b'\x00$\x08 \'x\' 2'", "KeyError: #"),
        ('KeyError: b"it\'s" and t1', "KeyError: # and t#"),
        ("no message 0a1f22c4d9e00b7f", "no message #"),
        ("deadbeef defaced", "deadbeef defaced"),
        ("x" * 500, "x" * 100),
    ],
)
def test_a_crash_is_named_by_type_and_place_or_by_its_first_line(text: str, name: str) -> None:
    assert crash_name(Crashed(text)) == name
