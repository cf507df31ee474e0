"""The verdicts of docs/prove.md, as the kit reads them: `python -m tools.prove_verdicts --write`.

The page of `quidnunc spec` names the lines that rest on a sentence, and must say which of them are refuted.
To prove them anew takes minutes, so what the page has is recorded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, RECORD = ROOT / "docs" / "prove.md", ROOT / "properties" / "proofs" / "verdicts.toml"
_ROW = re.compile(
    r"^\| `(\S+)` \| [^|]* \| \**(proved|by definition|refuted|undetermined)\** \|", re.MULTILINE
)


def verdicts_of_page(page: str) -> Mapping[str, str]:
    """Line -> verdict, as the table of the page has them."""
    return dict(_ROW.findall(page))


def record_text(verdicts: Mapping[str, str]) -> str:
    """The record, by verdict, in the order of the page."""
    text = ["# Written by `python -m tools.prove_verdicts --write` from docs/prove.md: verdict -> lines.", ""]
    for verdict in dict.fromkeys(verdicts.values()):
        lines = [f'  "{line}",' for line, each in verdicts.items() if each == verdict]
        text += [f'"{verdict}" = [', *lines, "]"]
    return "\n".join(text) + "\n"


def main() -> int:
    text = record_text(verdicts_of_page(PAGE.read_text(encoding="utf-8")))
    if sys.argv[1:] == ["--write"]:
        RECORD.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
