"""The skeletons of drivers run under `doctor` as they are written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quidnunc.impl.skeletons import SKELETONS, write_skeleton

TOOLS = {"go": "go", "js": "node", "python": sys.executable, "rust": "cargo"}


def quidnunc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ran(folder, sys.executable, "-m", "quidnunc", *words)


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("language", SKELETONS)
def test_writes_without_the_toolchain(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    written = quidnunc(tmp_path, "routers", "new", "--language", language, "mine", "--json")
    assert written.returncode == 0, written.stderr
    names = json.loads(written.stdout)["written"]
    assert all((tmp_path / name).stat().st_size for name in names)
    assert SKELETONS[language].router in (tmp_path / "mine" / "README.md").read_text()
    assert not [name for name in names if name.endswith(".txt")]
    schema = json.loads((tmp_path / "mine" / "seam.schema.json").read_text())
    assert schema["$defs"]["pubsub_parameters"]["properties"]["d"]["unit"] == "peers"


@pytest.mark.parametrize("language", SKELETONS)
def test_runs_under_doctor(language: str, tmp_path: Path) -> None:
    if shutil.which(TOOLS[language]) is None:
        pytest.skip(f"{language}: {TOOLS[language]} is not installed; it needs {SKELETONS[language].needs}")
    folder, skeleton = tmp_path / "mine", SKELETONS[language]
    write_skeleton(language, folder)
    if language == "rust":
        assert ran(folder, "cargo", "metadata", "--no-deps", "--format-version=1").returncode == 0
        if ran(folder, "cargo", "fetch").returncode:
            pytest.skip("rust: cargo cannot fetch serde_json")
    if skeleton.build:
        built = ran(folder, *skeleton.build.split())
        assert built.returncode == 0, built.stderr
    examined = quidnunc(folder, "doctor", skeleton.router, "--json")
    # 3: it announces no more than it needs, so that some claims have no control yet.
    assert examined.returncode == 3, examined.stdout + examined.stderr
    [floodsub] = json.loads(examined.stdout)["protocols"]
    assert (floodsub["protocol"], floodsub["name"]) == ("floodsub", "my-router")
    controls = {claim["control"] for claim in floodsub["claims"]}
    assert "holds" in controls


def test_does_not_write_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "driver.mjs").write_text("mine")
    with pytest.raises(ValueError, match="not an empty folder"):
        write_skeleton("js", tmp_path)
    assert (tmp_path / "driver.mjs").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "mine"), "name a language"),
        (("new", "--language", "cobol", "mine"), "no skeleton in 'cobol'"),
        (("build", "--language", "go", "mine"), "--language goes with `new`"),
    ],
)
def test_says_what_is_missing(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = quidnunc(tmp_path, "routers", *words)
    assert done.returncode == 2
    assert said in done.stderr
