"""A router that is stepped by hand, from a pipe."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.file import load
from quidnunc.properties.claims.catalogue import claim_on
from tests.conftest import Command, Ran

REGRAFT = """\
join t1
connect a /meshsub/1.2.0
a: subscribe t1
advance 500ms
a: prune t1 backoff=60
a: graft t1
"""
LEAVING = """\
join t1
connect a /meshsub/1.2.0
a: subscribe t1
advance 500ms
leave t1
"""


class Game:
    """`quidnunc play`, with lines on its input."""

    def __init__(self, quidnunc: Command, patch: pytest.MonkeyPatch) -> None:
        self.quidnunc, self.patch = quidnunc, patch

    def __call__(self, text: str, *words: object, protocol: str = "gossipsub-1.2") -> Ran:
        self.patch.setattr("sys.stdin", io.StringIO(text))
        return self.quidnunc("play", protocol, *words)


@pytest.fixture
def game(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> Game:
    return Game(quidnunc, monkeypatch)


def test_each_output_has_its_clause_and_a_question_mark_its_sentence(game: Game) -> None:
    ran = game(REGRAFT + "?\nstate\n")
    assert ran.code == 0, ran.out
    assert "\n  a: graft t1                              gs1.0/heartbeat.fill\n" in ran.out
    assert "\n  a: prune t1 backoff=60                   gs1.1/backoff.regraft\n" in ran.out
    assert 'gs1.1/backoff.regraft (gossipsub-1.1): "Both the pruning and the pruned peer' in ran.out
    assert "backoff of a in t1: 60s" in ran.out
    assert "> a: prune t1 backoff=60\n  nothing is sent: gs1.0/prune.remove, " in ran.out


def test_a_router_is_judged(game: Game) -> None:
    text = f"{LEAVING}advance 1s\n"
    ran = game(f"{text}join t2\n?\nundo\nlist\n", "--against", "ours:leave-silently")
    owed = "= a: prune t1 backoff=10                   owed by the next heartbeat, gs1.0/leave.prune-each\n"
    assert owed in ran.out.partition("> leave t1\n")[2].partition("> advance 1s\n")[0]
    assert "- a: prune t1 backoff=10                   missing, gs1.0/leave.prune-each\n" in ran.out
    assert "the router departs here; `?` says from what" in ran.out
    assert "line 7: the run is over; `undo` takes the last event back" in ran.out
    assert ran.out.endswith(f"undone: advance 1s\n> list\n{LEAVING}")
    assert ran.code == 2, "the departure is undone, and a line was refused"
    assert game(text, "--against", "ours:leave-silently").code == 1
    assert "- a: prune t1 backoff=60 " in game(REGRAFT, "--against", "ours:regraft-taken").out, "due at once"
    assert game(text, "--against", "ours").code == 0


def test_what_came_once_too_often_is_shown_once_as_such(game: Game) -> None:
    text = "join t1\nconnect a /floodsub/1.0.0\na: subscribe t1\na: message m1 t1\n"
    ran = game(text, "--against", "ours:deliver-twice")
    assert ran.out.count("\n  deliver m1 t1 ") == ran.out.count("\n+ deliver m1 t1 ") == 1, ran.out


def test_nonsense_is_refused_with_its_line_and_changes_nothing(game: Game) -> None:
    ran = game("connect a /meshsub/1.2.0\nfrob\nb: graft t1\na: graaft t1\nconnect a /meshsub/1.2.0\nlist\n")
    assert "line 2: expected an event" in ran.out and "line 4: expected a part" in ran.out
    assert "line 3: cannot happen here: b has not connected" in ran.out
    assert "line 5: cannot happen here: a is connected already" in ran.out
    assert ran.out.endswith("> list\nconnect a /meshsub/1.2.0\n") and ran.code == 2
    refused = game("undo\nsave x.case\nsave\nadvance 7200s\n? gs1.1/backoff.regrat\n").out
    for said in ("nothing to undo", "nothing to save", "expected `save FILE.case`", "at most 3600s"):
        assert said in refused
    assert "(did you mean gs1.1/backoff.regraft?)" in refused


def test_what_no_state_would_allow_says_so(game: Game) -> None:
    ran = game("connect a /meshsub/1.3.0\nconnect a /meshsub/12.0\nsubmit x1\nfeedback t1 a useful\nlist\n")
    offered = "expected a stream protocol (/meshsub/1.2.0, /meshsub/1.1.0, /meshsub/1.0.0, /floodsub/1.0.0)"
    assert f"line 1: {offered}, got '/meshsub/1.3.0'" in ran.out
    assert f"line 2: {offered}, got '/meshsub/12.0' (did you mean /meshsub/1.2.0?)" in ran.out
    assert "line 3: cannot happen here: it is no event of gossipsub-1.2, but of a mempool" in ran.out
    assert "line 4: cannot happen here: it is no event of gossipsub-1.2, but of partial messages" in ran.out
    assert ran.out.endswith("> list\nno events yet\n") and ran.code == 2
    assert "no event of flood, but of pubsub" in game("join t1\n", protocol="flood").out


def test_a_step_that_is_undone_leaves_no_trace(game: Game) -> None:
    once, twice = game(REGRAFT).out, game(REGRAFT + "undo\na: graft t1\n").out
    assert twice == once + "> undo\nundone: a: graft t1\n" + once[once.index("> a: graft t1") :]


def test_a_game_is_saved_as_a_case(game: Game, quidnunc: Command, tmp_path: Path) -> None:
    path = tmp_path / "held.case"
    ran = game(f"{REGRAFT}save {tmp_path}/early.case\nadvance 1s\nsave {path}\nsave {path}\n")
    assert ran.out.count("owed by then is not checked") == 1, "of the one that ends before a heartbeat"
    assert f"wrote {path}" in ran.out and f"{path} exists already" in ran.out
    case = load(path)
    claim = claim_on(case.clause, protocol_named(case.protocol))
    assert (case.status, case.against, case.claim) == ("suite", "any", claim.id if claim else "")
    assert quidnunc("replay", path).code == 0
    assert quidnunc("replay", path, "--against", "ours:regraft-taken").code == 1
    departing = tmp_path / "departs.case"
    game(f"{REGRAFT}advance 1s\nsave {departing}\n", "--against", "ours:regraft-taken", "--set", "D=4")
    case = load(departing)
    assert (case.status, case.against, case.clause) == (
        "open",
        "ours:regraft-taken 1",
        "gs1.1/backoff.regraft",
    )
    assert "D=4" in departing.read_text("utf-8") and "same" in quidnunc("replay", departing).out


def test_a_mempool_is_played(game: Game) -> None:
    ran = game("connect a,b mempool\na: tx x1\nb: tx x1\nstate\nq\nnever read\n", protocol="dog")
    assert "\n  b: havetx x1                             dog/havetx.to-sender\n" in ran.out
    assert "pool: x1" in ran.out and "never read" not in ran.out and ran.code == 0


def test_wrong_usage(game: Game) -> None:
    assert "did you mean gossipsub-1.2?" in game("", protocol="gosipsub-1.2").err
    assert "--set: expected D: a whole number, got 'frog'" in game("", "--set", "D=frog").err
    assert game("", "--json").code == 2


def test_a_wrong_choice_is_told_as_in_a_headline(game: Game) -> None:
    text = "join t1\nconnect a..d /meshsub/1.2.0\na..d: subscribe t1\nadvance 500ms\n"
    ran = game(text, "--against", "ours:fill-never")
    said = "+ the router chooses no peers to graft, where at least 4 are due  not allowed, "
    assert f"{said}gs1.0/heartbeat.fill\n" in ran.out
