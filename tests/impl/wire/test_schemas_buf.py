"""buf beside our own comparison of schemas; what it says is tried where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from quidnunc.impl.seam import AdapterError
from quidnunc.impl.wire import schemas_buf
from quidnunc.impl.wire.schemas import WireSchema, schema_changes
from quidnunc.impl.wire.schemas_buf import buf_program, opinion
from quidnunc.model.rpc import ControlField

NEEDS_BUF = pytest.mark.skipif(buf_program() is None, reason="buf is not installed: pip install '.[wire]'")
PUBSUB = ("gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2-draft", "gossipsub-1.2", "gossipsub-1.3")
PAIRS = (
    *zip(PUBSUB, PUBSUB[1:], strict=False),
    ("gossipsub-1.3", "partial-messages"),
    ("partial-messages-jvm", "partial-messages-go"),
    ("flood", "dog"),
    ("dog-go", "dog"),
    ("cat-classic", "cat"),
)


@NEEDS_BUF
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_buf_objects_where_ours_finds_a_field_that_is_gone_or_changed(old: str, new: str) -> None:
    changes, found = schema_changes(old, new), opinion(old, new)
    assert found is not None
    assert bool(found.to_new) == any(c.old for c in changes)
    assert bool(found.to_old) == any(c.new for c in changes)


@NEEDS_BUF
def test_a_field_that_takes_another_number_breaks_both_ways() -> None:
    old, new = (WireSchema("gossipsub-1.2", (ControlField("note", number),)) for number in (70, 71))
    found = opinion(old, new)
    assert found is not None
    assert any('"70"' in b.says for b in found.to_new) and any('"71"' in b.says for b in found.to_old)
    assert opinion(old, old) == schemas_buf.BufOpinion((), ())


@NEEDS_BUF
def test_where_no_message_is_common_it_is_not_asked() -> None:
    assert opinion("flood", "cat") is None


def test_without_buf_there_is_no_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas_buf, "buf_program", lambda: None)
    assert opinion("gossipsub-1.2-draft", "gossipsub-1.2") is None


@pytest.mark.parametrize(
    ("script", "said"),
    [("import sys; sys.exit('no such flag')", "no such flag"), ("print('[]')", "one JSON object a line")],
)
def test_a_buf_that_cannot_be_asked_is_an_error(
    script: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "buf"
    program.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(schemas_buf, "buf_program", lambda: str(program))
    with pytest.raises(AdapterError, match=said):
        opinion("gossipsub-1.2-draft", "gossipsub-1.2")
