"""Which rules can grant an output, and that the others have nothing to soften."""

from __future__ import annotations

import pytest

from quidnunc.model.edit import softened
from quidnunc.model.edits.catalogue import edits_of
from quidnunc.model.errors import SpecError
from quidnunc.model.granting import may_grant
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.pubsub import idontwant, mesh

DOG = PROTOCOLS["dog"]


@pytest.mark.parametrize(
    "rule", [dog.while_blocked, dog.block_next, mesh.already_member], ids=lambda r: r.name
)
def test_a_rule_that_only_changes_the_state_grants_nothing(rule: object) -> None:
    """Mutant: every rule may grant something."""
    assert not may_grant(rule)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rule",
    [dog.tell_sender, dog.answer_duplicate, dog.of_committed, idontwant.tell_mesh, mesh.from_explicit_peer],
    ids=lambda r: r.name,
)
def test_a_rule_that_sends_itself_or_by_another_may_grant(rule: object) -> None:
    """Mutant: only the rule's own code is read, and not that of a function or a handler that it calls."""
    assert may_grant(rule)  # type: ignore[arg-type]


def test_what_grants_nothing_has_no_softened_edit() -> None:
    """It would do nothing. Mutant: `softened` takes every rule that makes steps."""
    names = {edit.name for edit in edits_of(DOG)}
    assert "sends-havetx-while-havetx-is-blocked" in names
    assert "sometimes-sends-havetx-while-havetx-is-blocked" not in names
    assert "sometimes-sends-havetx-while-havetx-may-be-blocked" in names
    with pytest.raises(SpecError, match="grants no output"):
        softened(DOG, "while_blocked")
