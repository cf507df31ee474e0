"""What is made of the answers of solvers."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

pytest.importorskip("z3", reason="pip install '.[prove]'")
from quidnunc.properties.solver.questions import answer_of_z3


@frozen
class UnsureSolver:
    reason: str

    def check(self) -> str:
        return "unknown"

    def reason_unknown(self) -> str:
        return self.reason


def test_an_interrupt_is_no_answer() -> None:
    """z3 hears Ctrl-C itself, and Python does not: a question would be lost, and the proof go on."""
    ctrl_c: Any = UnsureSolver("interrupted from keyboard")
    with pytest.raises(KeyboardInterrupt):
        answer_of_z3(ctrl_c)
    late: Any = UnsureSolver("timeout")
    assert answer_of_z3(late) == "unknown"
