"""Files of strangers against the readers: a line that names file, place and limit, at once."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from quidnunc.model.errors import CaseError
from quidnunc.properties.bounded import printable
from quidnunc.properties.cases.file import load
from quidnunc.properties.params.file import ParamsError, read_file
from quidnunc.properties.regress.expect import load_declared
from quidnunc.properties.search.verdicts import load_expectations
from tests.conftest import Command

CASE = """why

format: 2
claim: join.fills
clause: gs1.0/join.graft-each
protocols: gossipsub-1.2
against: ours
status: fixed
seed: {seed}

join t2
connect a..c /meshsub/1.2.0
----

{body}
----
"""
BODIES = {
    "advance 100000000000s": "case:15: expected at most 86400 s in all the events",
    f"advance {'9' * 5000}ms": "case:15: expected a duration of at most 15 digits (1500ms or 3s), got",
    "a: message m1 t2 size=10000000000": "case:15: expected messages of at most 67108864 bytes",
    "a..c: 10000x message m1 t2 by a size=3000": "case:15: expected messages of at most 67108864 bytes",
    "a: 10001x subscribe t2": "case:15: expected at most 10000 repeats",
    "a..zzz: subscribe t2": "case:15: expected at most 1000 peers",
    f"publish m1 t2 size={'9' * 20}": "case:15: expected messages of at most 67108864 bytes",
    "a: " + "[" * 40_000: "case:15: ",
}
DEEP = {
    "brackets": "a = " + "[" * 40_000,
    "tables": "[" + "a." * 20_000 + "b]\nc = 1",
    "names": "a." * 20_000 + "b = 1",
    "digits": "a = " + "9" * 5000,
}


@pytest.mark.parametrize("body", BODIES)
def test_a_case_asks_for_no_more_than_a_machine_has(body: str, tmp_path: Path) -> None:
    path = tmp_path / "a.case"
    path.write_text(CASE.format(body=body, seed=1))
    said = refused(load, path)
    assert f"a.{BODIES[body]}" in said


def test_a_seed_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.case").write_text(CASE.format(body="advance 1s", seed="9" * 5000))
    assert "a.case:9: " in refused(load, tmp_path / "a.case")


@pytest.mark.parametrize("reader", [load_expectations, load_declared])
@pytest.mark.parametrize("name", DEEP)
def test_deep_toml_is_refused(reader: object, name: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(DEEP[name])
    assert "x.toml: not TOML: " in refused(reader, tmp_path / "x.toml")


def test_a_long_word_takes_no_more_than_its_length(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("# " + "x" * 500_000)
    began = time.process_time()
    assert load_expectations(tmp_path / "x.toml") == ()
    assert time.process_time() - began < 1


PARAMETERS = {
    "x.yaml": ("[" * 40_000, "line 1: brackets nested deeper than 100"),
    "x.json": ("{" + ",".join(f'"a{n}":1' for n in range(50_000)) + ',"a49999":1}', "a49999: expected once"),
    "x.toml": ("a." * 20_000 + "b = 1", "expected TOML: line 1: a name of more than 100 parts"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_without_end_are_refused(name: str, tmp_path: Path) -> None:
    text, expected = PARAMETERS[name]
    (tmp_path / name).write_text(text)
    assert refused(read_file, tmp_path / name).endswith(expected)


def test_parameters_from_a_fifo_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    assert refused(read_file, tmp_path / "x.toml").endswith("is no regular file")


@pytest.mark.parametrize("reader", [load, load_expectations, load_declared])
def test_what_has_no_end_is_not_read(reader: object, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        assert f"{path}: " in refused(reader, path)
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(1 << 40)
    assert "are read" in refused(reader, tmp_path / "large")


def refused(reader: object, path: Path) -> str:
    """The one line that is said, within the limits on what reading takes."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises((CaseError, ParamsError)) as found:
            reader(path)  # type: ignore[operator]
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 1
    said = str(found.value)
    assert "\n" not in said and len(said) < 600, said[:1000]
    return said


@pytest.mark.parametrize("field", ["against", "quirk", "as built"])
def test_a_replay_quotes_little(field: str, tmp_path: Path, quidnunc: Command) -> None:
    text = CASE.format(body="advance 1s", seed=1).replace("against: ours\n", "")
    fields = {"against": "ours", field: "x" * 5000}
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    (tmp_path / "a.case").write_text(text.replace("seed:", f"{lines}seed:"))
    ran = quidnunc("replay", tmp_path / "a.case")
    assert ran.code == 2 and f"{'x' * 100}" in ran.err
    assert max(map(len, ran.err.splitlines())) < 1200


def test_a_long_reason_is_cut_short(tmp_path: Path, quidnunc: Command) -> None:
    (tmp_path / "a.case").write_text(CASE.format(body="advance 1s", seed=1).replace("why", "why " * 1500))
    ran = quidnunc("replay", tmp_path / "a.case")
    assert ran.code == 0 and "why" in ran.out and max(map(len, ran.out.splitlines())) < 600


def test_a_command_says_one_line(tmp_path: Path, quidnunc: Command) -> None:
    (tmp_path / "x.toml").write_text(DEEP["brackets"])
    ran = quidnunc("check", "flood", "--against", "ours", "--runs", "1", "--expect", tmp_path / "x.toml")
    assert (ran.code, "bug in quidnunc" in ran.err, ran.err.count("\n")) == (2, False, 1), ran.err[-500:]


def test_a_reason_does_not_speak_to_the_terminal(tmp_path: Path, quidnunc: Command) -> None:
    text = CASE.format(body="advance 1s", seed=1).replace("why", "why \x1b[31mred")
    (tmp_path / "a.case").write_text(text)
    ran = quidnunc("replay", tmp_path / "a.case")
    assert ran.code == 0 and r"why \x1b[31mred" in ran.out and "\x1b" not in ran.out + ran.err


def test_half_a_surrogate_pair_is_refused_with_its_line(tmp_path: Path, quidnunc: Command) -> None:
    (tmp_path / "a.case").write_text(CASE.format(body='join "t\\ud800"', seed=1))
    ran = quidnunc("replay", tmp_path / "a.case")
    assert ran.code == 2 and "half of a surrogate pair" in ran.err and "a.case:" in ran.err, ran.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error file=x::pwn", "| ::error file=x::pwn"),
        ("  ::warning::x", "|   ::warning::x"),
        ("a ##[group]b", "a # #[group]b"),
        ("##vso[task.setvariable]", "# #vso[task.setvariable]"),
        ("a::b ## c [d]", "a::b ## c [d]"),
        ("\x1b[31m", "\\x1b[31m"),
    ],
)
def test_what_a_file_says_is_no_command(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_reason_is_no_command_to_the_service_that_runs_a_replay(quidnunc: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.case"
    path.write_text(CASE.format(body="advance 1s", seed=1).replace("why", "::error file=x::pwn", 1))
    ran = quidnunc("replay", path)
    said = ran.out + ran.err
    assert "| ::error file=x::pwn" in said
    assert not any(line.lstrip().startswith("::") for line in said.splitlines())
