"""Skeletons of drivers: programs that answer each request for a router that does nothing yet."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from attrs import frozen

from quidnunc.impl import seam

TEXT = ".txt"
"""Ending of a file that is written without it: what it holds is no module of this kit."""


@frozen
class Skeleton:
    """How the driver that one language's skeleton becomes is built and run."""

    files: tuple[str, ...]
    needs: str
    router: str
    """What `--against` takes, in the folder of the driver."""
    build: str = ""


SKELETONS = {
    "go": Skeleton(("go.mod", "main.go"), "Go 1.21", "exec:./driver", "go build -o driver ."),
    "js": Skeleton(("driver.mjs",), "Node.js 20", "exec:node driver.mjs"),
    "python": Skeleton(("driver.py.txt",), "Python 3.11 or newer with quidnunc", "python:driver:open_router"),
    "rust": Skeleton(
        ("Cargo.toml", "src/main.rs"),
        "Rust 1.70 with cargo",
        "exec:target/release/driver",
        "cargo build --release",
    ),
}

README = "README.md.txt"
SCHEMA = "seam.schema.json"
"""Beside the driver: who installed the kit with pip has no checkout to look into."""


def write_skeleton(language: str, folder: Path) -> tuple[Path, ...]:
    """Write the skeleton of a driver into a new or empty folder; return the files.

    Raises ValueError if there is no such language or the folder has something in it, and OSError if it cannot
    be written.
    """
    skeleton = SKELETONS.get(language)
    if skeleton is None:
        raise ValueError(f"no skeleton in {language!r}; there are {', '.join(SKELETONS)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is not an empty folder: name a new one")
    written = []
    for name in skeleton.files:
        path = folder / name.removesuffix(TEXT)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files(__name__).joinpath(language, name).read_bytes())
        written.append(path)
    lines = [skeleton.build] if skeleton.build else []
    lines += [f"quidnunc {command}" for command in commands_of(skeleton)]
    text = files(__name__).joinpath(README).read_text(encoding="utf-8")
    readme = folder / README.removesuffix(TEXT)
    readme.write_text(text.format(needs=skeleton.needs, commands="\n".join(lines)), encoding="utf-8")
    schema = folder / SCHEMA
    schema.write_bytes(files(seam).joinpath(SCHEMA).read_bytes())
    return (*written, readme, schema)


def commands_of(skeleton: Skeleton) -> tuple[str, str]:
    """What to ask of the kit, in the folder of the driver."""
    router = f"'{skeleton.router}'" if " " in skeleton.router else skeleton.router
    return f"doctor {router}", f"check floodsub --against {router}"
