"""What follows from changes in behaviour: cases, routers as built, refinement, networks, own protocols."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.choices import Choose
from quidnunc.model.errors import SpecError
from quidnunc.model.own import with_control
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.rpc import Control, ControlField
from quidnunc.model.rules import phases, rule
from quidnunc.properties.regress.as_built import as_built_named, routers_as_built
from quidnunc.properties.regress.code_equality import same_function
from quidnunc.properties.regress.compare import behaviour
from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.mixed import DeliveryCount, MixedNetworks, run_mixed_networks
from quidnunc.properties.regress.outcomes import against_refinement, newly_failing, outcomes_of_suite
from quidnunc.properties.regress.pair import DIRECTIONS
from quidnunc.properties.regress.sides import base_of, side_named

ROOT = Path(__file__).parents[3]
DRAFT, R1 = side_named("gossipsub-1.2-draft"), side_named("gossipsub-1.2")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository is the working directory."""
    monkeypatch.chdir(ROOT)


def test_cases_of_the_suite_that_change_their_outcome() -> None:
    outcomes = {o.rule for o in outcomes_of_suite(side_named("gossipsub-1.0"), side_named("gossipsub-1.1"))}
    assert "prune_unsubscribed" in outcomes
    assert not outcomes_of_suite(R1, R1)


def test_a_router_that_is_built_to_the_old_text_newly_fails() -> None:
    found = behaviour(DRAFT, R1, walks=4).separations
    routers = {"as the draft": DRAFT.protocol, "as r1": R1.protocol}
    failing = newly_failing(found, DRAFT, R1, routers)
    assert {n.router for n in failing} == {"as the draft"}
    assert "relay/who_said_idontwant" in {n.change for n in failing}
    assert not against_refinement(found)


def test_who_allows_more_does_not_refine() -> None:
    found = behaviour(R1, DRAFT, walks=4).separations
    against = against_refinement(found)
    assert against is not None and against.separation.found.parting.exceeds and not against.waits
    # What is demanded and was forbidden is no refinement, either.
    answered = behaviour(
        side_named("gossipsub-1.1"), side_named("gossipsub-1.0"), only="graft/prune_unsubscribed"
    )
    assert {s.direction for s in answered.separations} & set(DIRECTIONS[1:])
    assert against_refinement(answered.separations) is not None


def test_what_is_left_out_is_no_refinement_although_it_may_wait_for_the_heartbeat() -> None:
    silent = side_named("gossipsub-1.2+without:from_explicit_peer")
    found = behaviour(R1, silent, walks=4).separations
    # At the event itself both may be silent.
    assert found and not any(s.found.parting.exceeds for s in found)
    against = against_refinement(found)
    assert against is not None and against.waits and str(against).endswith("events and a heartbeat")


def test_a_router_as_built_is_a_side(here: None) -> None:
    built = side_named("py-libp2p:as-built")
    assert {c.key for c in changes_between(R1, built)} >= {"lens/lens", "heartbeat/expire"}
    assert built.base == "gossipsub-1.2"
    older = as_built_named("gossipsub-1.1/py-libp2p:as-built")
    assert older.name == "gossipsub-1.1"
    assert set(routers_as_built(R1.protocol)) == {"py-libp2p"}
    assert not routers_as_built(side_named("dog").protocol)
    with pytest.raises(SpecError, match="update-expect` writes it"):
        side_named("nobody:as-built")


# -- networks -----------------------------------------------------------------------------------------------


def test_networks_of_both_keep_delivering_and_lose_what_one_side_keeps() -> None:
    same = run_mixed_networks(R1, DRAFT)
    assert same.keeps_delivering and same.both.runs > 20
    assert same.both.delivered == same.both.runs and not same.both.lost
    silent = evolve(R1, name="silent", protocol=R1.protocol.without_rule("forward"))
    broken = run_mixed_networks(R1, silent)
    assert broken.both.delivered < broken.both.runs and "NEW" in broken.both.lost


def test_what_does_not_go_with_the_parameters_of_the_networks_is_run_with_the_defaults() -> None:
    crowded = run_mixed_networks(R1, side_named("gossipsub-1.2+d=8"))
    assert crowded.keeps_delivering and crowded.both.delivered == crowded.both.runs > 20


def test_a_mixture_is_blamed_for_what_neither_loses_alone() -> None:
    whole, lossy = DeliveryCount(4, 4), DeliveryCount(4, 3, "line")
    assert not MixedNetworks(whole, whole, lossy).keeps_delivering
    assert MixedNetworks(whole, lossy, lossy).keeps_delivering


# -- somebody's own -----------------------------------------------------------------------------------------


@rule("own/note")
def note(r: Router, c: ReceivedPart[Control], choose: Choose) -> Step[Router] | None:
    return Step(evolve(r, kept={**r.kept, "noted": c.part.ids}))


def test_a_control_message_that_is_taken_is_refused() -> None:
    made = with_control(R1.protocol, ControlField("note", 70), "own/field", phases(note))
    assert "note" in made.handlers and made.messages[0].number == 70
    assert base_of(made.extended("noting")) == "gossipsub-1.2"
    for field in (ControlField("graft", 71), ControlField("other", 70)):
        with pytest.raises(SpecError, match="already"):
            with_control(made, field, "own/field", phases(note))
    with pytest.raises(SpecError, match="no control messages"):
        with_control(side_named("dog").protocol, ControlField("note", 70), "own/field", phases(note))
    for name, number in (("Note", 70), ("note", 6), ("note", 19_500), ("a b", 70)):
        with pytest.raises(ValueError):
            ControlField(name, number)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; sys.exit(0)", r"does not load: SystemExit: 0 \(.*:4\)"),
        ("def f(:", "does not load: SyntaxError"),
        ("1 / 0", r"does not load: ZeroDivisionError: division by zero \(.*:4\)"),
        ("CLAIMS = 5", "a tuple of claims was expected"),
        ("PARAMETERS = [1]", "a mapping from names to values was expected"),
        ("PARAMETERS = {'prune_backoff_s': 'ten'}", "to 'ten', and a value of type int was expected"),
        ("PARAMETERS = {'d': True}", "to True, and a value of type int was expected"),
        ("PARAMETERS = {'prune_backoff_s': -1}", "prune_backoff_s must be 0 or more, got -1"),
        ("PARAMETERS = {'nosuch': 1}", "names 'nosuch'"),
        ("ControlField('choke', 64, carries='bytes')", "carries 'topics' or 'ids', got 'bytes'"),
        ("ControlField('choke', 19500)", "to 536870911, and none of 19000 to 19999"),
    ],
)
def test_a_module_that_is_wrong_is_told_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"wrong_{tmp_path.name}"
    head = "from quidnunc.model.machine import protocol_named\nfrom quidnunc.model.rpc import ControlField\n"
    own = f"FORK = protocol_named('gossipsub-1.2')\n{text}\n"
    Path(f"{name}.py").write_text(head + own, encoding="utf-8")
    with pytest.raises(SpecError, match=said):
        side_named(f"python:{name}:FORK")


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ("+graylistd", "did you mean .*graylisted"),
        ("+d", "d is a parameter; write d=VALUE"),
        ("+", "expected an edit after each"),
        ("+zzzzzz", "nor one of a similar name"),
    ],
)
def test_an_edit_that_is_none_is_told_in_a_line(edits: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as told:
        side_named(f"gossipsub-1.2{edits}")
    assert len(str(told.value)) < 300


def loaded(text: str) -> dict[str, object]:
    """The names of a module of that text."""
    names: dict[str, object] = {}
    exec(compile(text, "module", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("def f(x): return x + 1", "\n\ndef f(x): return x + 1", True),
        ("def f(x): return x + 1", "def f(x): return x + 2", False),
        ("LIMIT = 3\ndef f(x): return x < LIMIT", "LIMIT = 4\ndef f(x): return x < LIMIT", False),
        ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return -x\ndef f(x): return g(x)", False),
        ("def f(x, y=1): return x", "def f(x, y=2): return x", False),
        ("def f(x): return [y for y in x if y]", "def f(x): return [y for y in x if not y]", False),
        ("def f(x): return f(x)", "def f(x): return f(x)", True),
    ],
)
def test_functions_are_compared_by_what_they_do(old: str, new: str, same: bool) -> None:
    one, other = loaded(old)["f"], loaded(new)["f"]
    assert one is not other and same_function(one, other) == same
