"""Scenarios and sweeps of strangers: they start nothing, and read nothing outside their folder."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

import pytest

from quidnunc.pipeline.simulation.scenario.file import load_scenario
from quidnunc.pipeline.simulation.scenario.values import ScenarioError
from quidnunc.pipeline.sweep.file import load_sweep
from tests.conftest import Command

SECRET = "root:x:0:0 the secret line"


def routers(folder: Path) -> dict[str, str]:
    """Routers that would leave a trace of themselves."""
    (folder / "evil.py").write_text(f"open({str(folder / 'started')!r}, 'w')")
    return {"exec": f"exec:touch {folder / 'started'}", "python": "python:evil:open_it"}


@pytest.mark.parametrize("kind", ["exec", "python"])
@pytest.mark.parametrize(
    ("command", "text", "where"),
    [
        ("simulate", "topology: {{kind: none}}\nnodes: [{{}}, {{router: '{router}'}}]", "nodes.1.router"),
        ("sweep", "check: [{{protocol: flood, against: '{router}', runs: 5}}]", "check.0.against"),
        ("sweep", "simulate: {{scenario: {{nodes: [{{router: '{router}'}}]}}}}", "nodes.0.router"),
        (
            "sweep",
            "simulate: {{scenario: {{nodes: [{{}}]}}, vary: {{nodes.0.router: ['{router}']}}}}",
            "nodes.0.router",
        ),
    ],
)
def test_a_file_starts_nothing(
    command: str,
    text: str,
    where: str,
    kind: str,
    tmp_path: Path,
    quidnunc: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    path = tmp_path / "file.yaml"
    path.write_text(text.format(router=routers(tmp_path)[kind]))
    ran = quidnunc(command, path, "-o", tmp_path / "out")
    assert ran.code == 2 and f"{path}: {where}: no router is started" in ran.err and "--allow-exec" in ran.err
    assert not (tmp_path / "started").exists()
    # The user's own word lets it through: the driver is no driver, and breaks.
    trusted = quidnunc(command, path, "-o", tmp_path / "out", "--allow-exec")
    assert trusted.code != 0 and (tmp_path / "started").exists(), trusted.err


def test_set_is_the_users_own_word(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("nodes: [{}]")
    made = load_scenario(tmp_path / "s.yaml", {"nodes.0.router": "exec:true"})
    assert made.nodes[0].router == "exec:true"


@pytest.mark.parametrize("named", ["../outside.txt", "{outside}", "link"])
def test_no_file_outside_the_folder_is_read(named: str, tmp_path: Path, quidnunc: Command) -> None:
    outside, folder = tmp_path / "outside.txt", tmp_path / "in"
    folder.mkdir()
    outside.write_text(SECRET)
    (folder / "link").symlink_to(outside)
    named = named.format(outside=outside)
    for text in (
        f"nodes: [{{count: 2}}]\ntopology: {{kind: file, path: {named!r}}}",
        f"nodes: [{{count: 2}}]\nlinks: {{latency: {{kind: matrix, path: {named!r}}}}}",
    ):
        (folder / "s.yaml").write_text(text)
        ran = quidnunc("simulate", folder / "s.yaml", "-o", tmp_path / "run")
        assert ran.code == 2 and "is not in the folder of the file" in ran.err
        assert "secret" not in ran.err + ran.out
    (folder / "s.yaml").write_text(f"simulate: {{scenario: {named!r}}}")
    ran = quidnunc("sweep", folder / "s.yaml", "-o", tmp_path / "run")
    assert ran.code == 2 and "is not in the folder of the file" in ran.err and "secret" not in ran.err


def test_a_file_elsewhere_is_read_if_its_digest_is_known(tmp_path: Path) -> None:
    (tmp_path / "edges").write_text("0 1\n")
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "s.yaml"
    digest = hashlib.sha256(b"0 1\n").hexdigest()
    text = "nodes: [{count: 2}]\ntopology: {kind: file, path: ../edges, sha256: "
    path.write_text(f"{text}{digest}}}")
    assert load_scenario(path).topology.path == str((tmp_path / "edges").resolve())
    path.write_text(f"{text}{'f' * 64}}}")
    with pytest.raises(ScenarioError, match="has changed since"):
        load_scenario(path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "s.yaml").write_text("nodes: [{count: 2}]\ntopology: {kind: file, path: fifo}")
    for path, load in ((tmp_path / "fifo", load_scenario), (tmp_path / "s.yaml", load_scenario)):
        with pytest.raises(ScenarioError, match="fifo: is no regular file"):
            load(path)
    with pytest.raises(ScenarioError, match="/dev/zero: is no regular file"):
        load_sweep(Path("/dev/zero"))
    text = "nodes: [{count: 2}]\ntopology: {kind: file, path: /dev/zero, sha256: " + "f" * 64 + "}"
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(ScenarioError, match="/dev/zero: is no regular file"):
        load_scenario(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("simulate: {scenario: {nodes: [{}]}, seeds: 1000000000000}", "1000000000000 runs, at most 100000"),
        (
            "simulate: {scenario: {nodes: [{}]}, vary: {"
            + ", ".join(f"a{n}: [1, 2, 3, 4]" for n in range(30))
            + "}}",
            "runs, at most 100000",
        ),
        ("check: {protocol: flood, runs: 1000000000000}", "10000000000 batches, at most 100000"),
    ],
)
def test_a_sweep_without_end_is_refused_at_once(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(ScenarioError, match=said):
        load_sweep(tmp_path / "s.yaml")


NETWORK = "nodes: [{count: 2}]\ntopology: {degree: 1}\n"
ENDLESS = {
    "deep.yaml": ("nodes: " + "[" * 40_000, "brackets nested deeper than 100"),
    "deep.json": ("[" * 40_000, "brackets nested deeper than 100"),
    "object.json": ('{"nodes":' + "[" * 40_000, "cannot be read: nested too deep"),
    "digits.yaml": ("nodes: [{count: " + "9" * 5000 + "}]", "digits"),
    "digits.json": ('{"nodes": [{"count": ' + "9" * 5000 + "}]}", "digits"),
    "surrogate.json": ('{"nodes": [{"count": 2}], "name": "\\ud800"}', "name: "),
    "edges.yaml": ("nodes: [{count: 10000}]\ntopology: {kind: complete}", "49995000 edges, at most 1000000"),
    "bytes.yaml": (
        NETWORK + "traffic: [{count: 1000000, every_s: 0, size_bytes: 8000000}]",
        "at most 17179869184",
    ),
    "size.yaml": (NETWORK + "traffic: [{size_bytes: 10000000000}]", "at most 8388608"),
    "many.yaml": (NETWORK + "links: {loss: " + "[0,1]," * 50_000 + "}", "not YAML"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_scenario_asks_for_no_more_than_a_machine_has(name: str, tmp_path: Path, quidnunc: Command) -> None:
    text, said = ENDLESS[name]
    (tmp_path / name).write_text(text)
    began = time.process_time()
    ran = quidnunc("simulate", tmp_path / name, "-o", tmp_path / "run")
    assert (ran.code, said in ran.err) == (2, True), ran.err[-600:]
    assert time.process_time() - began < 4 and len(ran.err) < 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"seed: 0x{'f' * 6000}\nnodes: [{{count: 3}}]", "an integer of more than 1000 digits"),
        (f"seed: {'9' * 6000}\nnodes: [{{count: 3}}]", "Exceeds the limit"),
        ('nodes: [{count: 3}]\ntopology: {kind: file, path: "a\\0b"}', "a text with a zero byte"),
        ('seed: !!timestamp "zz"\nnodes: [{count: 2}]', "a value is not what its tag says"),
        ('seed: !!float "zz"\nnodes: [{count: 2}]', "could not convert"),
    ],
)
def test_values_that_python_cannot_make_are_an_error_of_the_file(
    text: str, said: str, tmp_path: Path, quidnunc: Command
) -> None:
    name = tmp_path / "stranger.yaml"
    name.write_text(text)
    for command in ("simulate", "sweep"):
        ran = quidnunc(command, name, "-o", tmp_path / "out")
        assert ran.code == 2 and "bug in quidnunc" not in ran.err, ran.err
        assert f"{name}: " in ran.err and said in ran.err and "sys." not in ran.err, ran.err
