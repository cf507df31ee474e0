"""What ships: every module and data file of the four folders, at its place in the package."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml

from quidnunc import __version__
from tests.helpers.wheels import FOLDERS, PROJECT, built_archive, built_wheel, wheel_of

ROOT = Path(__file__).parents[1]


def shipped_files(folder: Path) -> Iterator[Path]:
    """Files of a folder as they stand in the tree, without what Python writes there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel of the tree as it stands."""
    with zipfile.ZipFile(built_wheel(tmp_path_factory.mktemp("wheel"))) as opened:
        yield opened


def test_the_list_of_packages_is_the_tree() -> None:
    found = set()
    for package, folder in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            inner = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join((package, *inner)))
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_folder_with_modules_is_a_package() -> None:
    for folder in FOLDERS.values():
        for module in (ROOT / folder).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), f"{module.parent} has modules and no __init__.py"


def test_no_folder_hides_the_installed_package() -> None:
    assert not (ROOT / "quidnunc").exists()


@pytest.mark.parametrize("package", FOLDERS)
def test_every_file_is_in_the_wheel(wheel: zipfile.ZipFile, package: str) -> None:
    inside = set(wheel.namelist())
    folder = ROOT / FOLDERS[package]
    place = package.replace(".", "/")
    missing = [
        str(path.relative_to(ROOT))
        for path in shipped_files(folder)
        if f"{place}/{path.relative_to(folder).as_posix()}" not in inside
    ]
    assert not missing, "not in the wheel (package-data, packages of pyproject.toml)"


def test_the_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    expected = {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in FOLDERS.items()
        for path in shipped_files(ROOT / folder)
    }
    foreign = [n for n in wheel.namelist() if n not in expected and ".dist-info/" not in n]
    assert not foreign


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    said = message_from_bytes(wheel.read(name))
    assert said["License-Expression"] == "MIT OR Apache-2.0"
    assert sorted(said.get_all("License-File", [])) == ["LICENSE-APACHE", "LICENSE-MIT"]
    assert said.get_all("Provides-Extra") and "py-libp2p" in said.get_all("Provides-Extra", [])
    core = [r for r in said.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert not any("libp2p" in r or "==" in r for r in core), "the kit's own dependencies are few and loose"


def test_entry_points_resolve(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    assert "quidnunc = quidnunc.__main__:main" in text
    assert "quidnunc = quidnunc.pytest_plugin" in text
    for module in ("quidnunc/__main__.py", "quidnunc/pytest_plugin.py", "quidnunc/py.typed"):
        assert module in wheel.namelist()


def test_version_is_said_once(wheel: zipfile.ZipFile) -> None:
    """By the package; what cannot read it repeats it."""
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    assert message_from_bytes(wheel.read(name))["Version"] == __version__
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
    assert [*cited["license"]] == PROJECT["project"]["license"].split(" OR ")
    assert f"## {__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_source_archive_builds_the_same_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    archive = built_archive(tmp_path)
    with tarfile.open(archive) as opened:
        # Python has the filter since 3.11.4.
        opened.extractall(
            tmp_path / "unpacked", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )
    (source,) = (tmp_path / "unpacked").iterdir()
    for name in ("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "docs/SECURITY.md", "LICENSE-MIT"):
        assert (source / name).exists(), name
    with zipfile.ZipFile(wheel_of(source, tmp_path)) as again:
        assert sorted(again.namelist()) == sorted(wheel.namelist())


def test_the_container_has_what_the_wheel_is_made_of() -> None:
    copied = re.findall(r"^COPY (.+) /source/\S*$", (ROOT / "Containerfile").read_text("utf-8"), re.MULTILINE)
    named = {name for line in copied for name in line.split()}
    folders = {folder.split("/")[0] for folder in FOLDERS.values()}
    assert named == {*folders, "pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"}
    assert all((ROOT / name).exists() for name in named)
