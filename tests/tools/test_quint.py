"""Runs of our Quint text agree with the model after every step, and notice what is planted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.protocols import MEMPOOL
from quidnunc.model.parameters import DogParameters
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import HaveTx, Tx
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties.statements.dog.revisions import quint_protocol, quint_revision
from tools.quint import __main__ as quint_main
from tools.quint.__main__ import QuintError
from tools.quint.replay import TRACES, QuintStep, QuintTraceError, decoded, read_trace, replay_trace
from tools.quint.situations import SITUATIONS

PATHS = sorted(TRACES.glob("*.itf.json"))
STEPS = {path.name.split(".")[0]: read_trace(path) for path in PATHS}


def test_there_is_a_trace_of_every_situation() -> None:
    assert set(STEPS) == set(SITUATIONS)
    assert len(STEPS) >= 20


@pytest.mark.parametrize("name", STEPS)
def test_model_and_quint_agree_after_every_step(name: str) -> None:
    replay = replay_trace(STEPS[name])
    assert replay.departs is None
    assert replay.steps == len(STEPS[name]) - 1 > 0


@pytest.mark.parametrize("name", STEPS)
def test_a_trace_shows_its_situation_in_its_last_step(name: str) -> None:
    before, last = STEPS[name][-2:]
    assert SITUATIONS[name](before, last)


# -- planted edits of the model -----------------------------------------------------------------------------


@rule("dog/havetx.first-sender")
def disable_last(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    last = n.senders(h.part.id)[-1]
    known = n.disabled_to(h.peer).must | {last}
    return Step(n.with_disabled_to(h.peer, PartialSet.of(known)))


@rule("dog/controller.unblock")
def above_only(n: Node, lost: int | None, choose: Choose) -> Step[Node] | None:
    return Step(evolve(n, blocked=False)) if dog.redundancy(n) > dog.bounds(n)[1] else None


@rule("dog/havetx.then-blocked")
def never_blocked(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return Step(n)


Edit = Callable[[Protocol], Protocol]

PLANTED: dict[str, tuple[Edit, str]] = {
    "the last sender's route": (lambda p: p.with_rule("disable_first", disable_last), "disabled"),
    "unblocked above the bound only": (lambda p: p.with_rule("too_much", above_only), "blocked"),
    "not blocked by its answer": (lambda p: p.with_rule("block_next", never_blocked), "blocked"),
    "routes do not filter": (lambda p: p.without_rule("cut_off"), "inbox"),
    "a user's duplicate does not count": (
        lambda p: p.without_rule("count_user_duplicate"),
        "duplicates",
    ),
    "routes of the lost are kept": (lambda p: p.without_rule("forget_routes"), "disabled"),
    "no adjustment at a loss": (lambda p: p.without_rule("adjust_at_loss"), "first_time"),
    "counters are kept": (lambda p: p.without_rule("count_anew"), "first_time"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_edit_is_noticed(name: str) -> None:
    edit, field = PLANTED[name]
    departed = [replay_trace(each, quint_revision(edit(quint_protocol()))).departs for each in STEPS.values()]
    fields = {each.field for each in departed if each is not None}
    assert field in fields


def test_the_repairs_of_our_own_reading_are_noticed() -> None:
    """Where `dog` is not the published text, traces part from it: nothing is agreed by looking away."""
    # With a band that floating point rounds away the bounds of `dog` are both 1, as they are in integers.
    ours = evolve(quint_revision(MEMPOOL["dog"]), parameters=DogParameters(delta_percent=1e-15))
    departed = {
        name: each for name, steps in STEPS.items() if (each := replay_trace(steps, ours).departs) is not None
    }
    assert {"route-of-a-leaver", "lost-is-asked"} <= departed.keys() != STEPS.keys()
    assert "disabled of" in str(departed["route-of-a-leaver"])
    assert "cannot take" in str(departed["lost-is-asked"]) or "inbox" in str(departed["lost-is-asked"])


# -- planted edits of a trace -------------------------------------------------------------------------------


def changed(steps: tuple[QuintStep, ...], **fields: object) -> tuple[QuintStep, ...]:
    """The trace with these fields of node A altered in its last state."""
    last = steps[-1]
    nodes = {**last.nodes, "A": evolve(last.nodes["A"], **fields)}
    return (*steps[:-1], evolve(last, nodes=nodes))


@pytest.mark.parametrize(
    "fields",
    [
        {"blocked": None},
        {"duplicates": 99},
        {"first_time": 99},
        {"offered": 99},
        {"disabled": frozenset({("A", "A")})},
        {"pool": ("t9",)},
        {"cache": frozenset({"t9"})},
        {"senders": {"t9": ("A",)}},
        {"inbox": (("A", Tx("t9")),)},
        {"peers": frozenset({"Z"})},
    ],
    ids=lambda f: next(iter(f)),
)
def test_every_field_is_compared(fields: dict[str, object]) -> None:
    steps = STEPS["route-disabled"]
    found = replay_trace(changed(steps, **fields)).departs
    assert found is not None
    assert (found.step, found.node, found.field) == (len(steps) - 1, "A", next(iter(fields)))


def test_values_of_the_format_are_read() -> None:
    text = '{"a": {"#bigint": "7"}, "b": {"#set": [{"#tup": ["x", "y"]}]}, "c": {"#map": [["k", [true]]]}}'
    assert decoded(json.loads(text)) == {"a": 7, "b": frozenset({("x", "y")}), "c": {"k": (True,)}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"states": [{}]}', '{"states": [{"x::nodes": 1}]}'])
def test_another_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.itf.json"
    path.write_text(text)
    with pytest.raises(QuintTraceError, match=r"other\.itf\.json"):
        read_trace(path)


def test_without_quint_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("QUINT", str(tmp_path / "quint"))
    with pytest.raises(QuintError, match="antlr4ts"):
        quint_main.quint_command()
    assert quint_main.main(["--regenerate"]) == 4
    assert "npm install" in capsys.readouterr().err


def test_a_command_that_takes_too_long_is_a_problem_of_quint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quint_main, "TIMEOUT_S", 0.1)
    with pytest.raises(QuintError, match=r"^sleep 5 was stopped after 0\.1 s"):
        quint_main._outcome(["sleep", "5"])


def test_the_help_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        quint_main.main(["--help"])
    assert "\n    python -m tools.quint --regenerate " in capsys.readouterr().out


def test_the_command_replays_what_is_committed(capsys: pytest.CaptureFixture[str]) -> None:
    assert quint_main.main([]) == 0
    assert f"{len(PATHS)} traces, 0 depart" in capsys.readouterr().out


def test_a_folder_without_traces_is_no_success(tmp_path: Path) -> None:
    assert quint_main.main(["--traces", str(tmp_path)]) == 1
