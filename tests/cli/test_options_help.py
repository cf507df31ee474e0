"""The commands as a person meets them: in groups, quick to answer, and short where a name is wrong."""

from __future__ import annotations

import math
import resource
import subprocess
import sys

import pytest

from quidnunc.__main__ import COMMANDS, GROUPS
from quidnunc.options.regress import WALKS
from quidnunc.options.shared import PROTOCOL_NAMES
from quidnunc.properties.regress import compare
from tests.conftest import Command
from tests.test_imports import LAZY

MAX_ERROR_CHARACTERS = 500
LOADED = """
import sys
from quidnunc.__main__ import main
try:
    main({words})
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""


def loaded_by(*words: str) -> set[str]:
    """The modules that are loaded once the command line is parsed, in a process of its own."""
    script = LOADED.format(words=list(words))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {*done.stderr.split()}


def test_every_command_is_in_one_group(quidnunc: Command) -> None:
    assert len(GROUPS) == 4
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS) and len(listed) == len({*listed})
    shown = quidnunc("--help").out
    for title, names in GROUPS.items():
        assert f"\n{title}:\n" in shown
        assert all(f"  {name:10}{COMMANDS[name]['summary']}\n" in shown for name in names)
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_loads_nothing_heavy(name: str) -> None:
    """What takes a second to load is not needed to say how a command is used."""
    loaded = loaded_by(*filter(None, [name]), "--help")
    assert not {module.split(".")[0] for module in loaded} & {*LAZY, "cryptography"}
    assert f"quidnunc.commands.{name}" not in loaded and "quidnunc.properties.judge" not in loaded
    assert "quidnunc.model.machine" not in loaded or name == "explore"


def cpu_seconds_of(*command: str) -> float:
    """What a process takes of the processor, from its start to its end: the first quick one of three tries,
    or the least."""
    tries = [math.inf]
    while len(tries) < 4 and min(tries) > 0.5:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        tries.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(tries)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_there_at_once(name: str) -> None:
    """Half a second on an idle machine; a busy one takes up to twice as long over the same work."""
    assert cpu_seconds_of(sys.executable, "-m", "quidnunc", *filter(None, [name]), "--help") < 1


def test_the_names_of_protocols_are_those_there_are() -> None:
    from quidnunc.model.machine import PROTOCOLS

    assert tuple(PROTOCOLS) == PROTOCOL_NAMES


def test_what_is_loaded_is_seen() -> None:
    assert "quidnunc.commands.routers" in loaded_by("routers")


def test_the_package_loads_nothing() -> None:
    script = "import quidnunc, sys; print(*[m for m in sys.modules if m.startswith('quidnunc')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["quidnunc"]
    assert cpu_seconds_of(sys.executable, "-c", "import quidnunc") < 0.6


@pytest.mark.parametrize(
    "command",
    [
        "chek",
        "check gossipsub-12 --against ours",
        "check dog --against ours:havetx-one",
        "check dog --against nobody",
        "explain mesh.membrs",
        "explore mesh-lnk",
        "prove mesh-lnk",
        "routers build py-libp2q",
        "suite gossipsub",
        "regress dog dog+nosuch",
    ],
)
def test_an_error_is_short(quidnunc: Command, command: str) -> None:
    ran = quidnunc(*command.split())
    assert ran.code == 2 and 0 < len(ran.err) < MAX_ERROR_CHARACTERS


def test_the_default_that_help_tells_is_the_default() -> None:
    assert WALKS == compare.WALKS


def test_explore_takes_as_many_peers_as_its_network_needs(quidnunc: Command) -> None:
    pytest.importorskip("z3", reason="explore needs z3")
    ran = quidnunc("explore", "dog-cut-off", "--peers", 2, "--engine", "python")
    assert ran.code == 2 and "needs 4 or 5 peers" in ran.err
    ran = quidnunc("explore", "mesh-link", "--engine", "python", "--trace", "bidirectional")
    assert ran.code == 1 and "--peers 2 " in ran.out and "--trace mesh-link.bidirectional" in ran.out
    from quidnunc.__main__ import parser_of
    from quidnunc.commands.explore import network_asked

    options = parser_of("explore").parse_args(["explore", "dog-cut-off", "--engine", "python"])
    assert network_asked(options).peers == options.peers == 4


def test_doctor_says_what_it_tested_and_what_not(quidnunc: Command) -> None:
    ran = quidnunc("doctor", "ours", "--protocol", "floodsub")
    assert "\ntested: that the driver answers" in ran.out and "\nnot tested: " in ran.out
    (told,) = quidnunc("doctor", "ours", "--protocol", "floodsub", "--json").data["protocols"]
    assert told["not_played"] == {} and "not played" not in ran.out


def test_doctor_counts_what_it_did_not_play(monkeypatch: pytest.MonkeyPatch, quidnunc: Command) -> None:
    monkeypatch.setattr("quidnunc.commands.doctor.fitted_parameters", lambda case, hello: (None, ("clock",)))
    ran = quidnunc("doctor", "ours", "--protocol", "floodsub")
    assert ran.code == 3 and "cases; needed: clock" in ran.out and ": 0 of " in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check dog", "check: the following arguments are required: --against"),
        ("check dog --against ours --runs x", "check: --runs: invalid int value: 'x'"),
        (
            "check dog --against ours --runs 5 --budget 3s",
            "check: --budget: not allowed with argument --runs",
        ),
    ],
)
def test_a_wrong_argument_is_one_line_with_the_next_step(quidnunc: Command, words: str, said: str) -> None:
    """Mutant: argparse prints the usage of all options first."""
    ran = quidnunc(*words.split())
    assert ran.code == 2 and not ran.out
    assert ran.err == f"quidnunc: {said}; `quidnunc check --help` lists what it takes\n"
