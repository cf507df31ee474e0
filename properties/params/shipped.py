"""Parameters of known networks, as files that come with the kit."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "known"
SUFFIXES = (".yaml", ".toml", ".json")


def shipped_files() -> dict[str, Path]:
    """Name -> file."""
    found = {path.stem: path for path in FOLDER.iterdir() if path.suffix in SUFFIXES}
    return dict(sorted(found.items()))
