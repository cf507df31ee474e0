"""How errors say what to do next."""

from __future__ import annotations

import re
from pathlib import Path

from quidnunc.model.errors import install_words

ROOT = Path(__file__).parents[2]
SHIPPED = ("cli", "impl", "model", "pipeline", "properties")


def test_no_message_says_to_install_from_an_index_that_has_no_release() -> None:
    """The text of an issue and the errors for extras said so, and it fails."""
    assert install_words("prove") == "pip install '.[prove]' in a clone of quidnunc"
    assert install_words() == "pip install . in a clone of quidnunc"
    wrong = re.compile(r"pip install '?quidnunc")
    texts = [p for top in SHIPPED for p in (ROOT / top).rglob("*.*") if p.suffix in (".py", ".toml", ".j2")]
    assert texts and not [path for path in texts if wrong.search(path.read_text("utf-8"))]
