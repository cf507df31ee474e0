"""The search: what it finds, that it is the same for the same seed, and that one finding hides no other."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from quidnunc.impl.seam import Config
from quidnunc.model.edit import Edit, around, edited, replacing_present
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import FLOODSUB, Advance, Connect, Event, Join, Leave, Output, Receive, Score
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IDontWant, IHave, IWant, Message, Prune, Subscribe
from quidnunc.model.rules import Protocol, Rule
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.cases.file import parse
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.oracle import EventJudgement, Oracle, faults
from quidnunc.properties.judge.play import ModelSubject, Subject, act_of, judged_by, messages_in, play
from quidnunc.properties.search.machine import (
    NO_FINDING,
    FindingSearch,
    ReplayableFinding,
    SearchRun,
    fixed_by,
    next_run,
    search,
)
from quidnunc.properties.search.worker import _root as root_of
from quidnunc.properties.search.worker import answer_of, explain_again, hello_of, opener_of, still_refuted
from tests.helpers.pubsub_run import T, of
from tests.helpers.puppet import EVERYTHING, MODEL, hunt

SPEC = protocol_named("gossipsub-1.2")


@frozen
class Script:
    """Neighbours that do what is written."""

    events: list[Event]

    def act(self, state: object, digits: object) -> list[Event]:
        return self.events

    def take_undeclared(self) -> list[Message]:
        return []


FIVE = (
    "sends-message-to-author",
    "starts-no-backoff-for-mesh-when-it-leaves-topic",
    "unknown-topic-graft-pruned",
    "cut-at-d-high",
    "keeps-mesh-members-whose-score-is-negative",
)


def test_several_planted_edits_are_all_found_in_one_search() -> None:
    """One after the other: each comes into force when it is found, so that none hides the next."""
    built = edited(SPEC, [edit_named(name, SPEC) for name in FIVE])
    found = search(hunt("gossipsub-1.2", built, stop=lambda h: len(h.found) >= len(FIVE)), runs=150, seed=3)
    assert {cause for _, cause in found.found} == set(FIVE)
    assert {q.name for q in found.quirks} == set(FIVE)
    assert found.unrepeated == 0


def test_an_edit_takes_over_only_where_it_accounts_for_all() -> None:
    """What either of the two accounts for is filed under one; the other is filed by a run that needs it."""
    both = ("stranger-prune-ignored", "refusal-does-not-extend")
    built = edited(SPEC, [edit_named(name, SPEC) for name in both])
    found = search(hunt("gossipsub-1.2", built), runs=160, seed=3)
    assert {cause for _, cause in found.found} == set(both)
    assert all(len(f.also) < f.repeats for f in found.found.values())


def test_after_it_is_found_a_quirk_is_not_found_again() -> None:
    built = edit_named("sends-message-to-author", SPEC).change(SPEC)
    found = search(hunt("gossipsub-1.2", built), runs=40, seed=3)
    assert [key for key in found.found] == [("floodsub/relay.not-to-author", "sends-message-to-author")]
    assert found.departed == 1


def test_what_the_text_leaves_open_is_no_failure_because_a_run_refuted_a_reading() -> None:
    """Mutant: the next best explanation takes over, a rule that comes too late, and the router fails."""
    built = edit_named("control-before-payload", SPEC).change(SPEC)
    refuted = hunt("gossipsub-1.2", built, stop=lambda h: bool(h.found))
    refuted.withdrawn.append("control-before-payload")
    found = search(refuted, runs=60, seed=3)
    assert {cause for _, cause in found.found} == {"control-before-payload"}
    assert found.quirks == [], "what was refuted excuses nothing"


def test_what_comes_of_a_message_that_is_taken_under_another_id_is_not_filed() -> None:
    """Without a sequence number it is another message, which the model does not have: that the good copy is
    delivered as well is no finding. Mutant: the run goes on."""
    edit = edit_named("flawed-overlooks-no-seqno", SPEC)
    good = Message("m1", "t1", 1)
    events = [Join("t1"), Connect((1,)), Receive((1,), (evolve(good, flaw="no-seqno"),))]
    search = hunt("gossipsub-1.2", edit.change(SPEC))
    run = SearchRun(search, seed=0)
    run.start()
    run.neighbours = Script([*events, Receive((1,), (good,))])
    run.act()
    assert [departure.kind for departure in run.departures] == ["unexpected"]
    search.quirks.append(edit)
    run = SearchRun(search, seed=0)
    run.start()
    run.neighbours = Script([*events, Receive((1,), (good,))])
    run.act()
    assert run.over and not run.departures and run.events == events[:2]


def table(found: FindingSearch) -> tuple[object, ...]:
    """All that a campaign keeps of a search."""
    findings = {k: (f.finding.events, f.finding.departure, f.in_force) for k, f in found.found.items()}
    return found.runs, found.steps, dict(found.applied), findings


@pytest.mark.parametrize(("name", "against"), [("gossipsub-1.1", "ours"), ("dog", "ours")])
def test_the_same_seed_gives_the_same_runs(name: str, against: str) -> None:
    def run(seed: int) -> tuple[object, ...]:
        return table(
            search(FindingSearch(name, opener_of(against), hello_of(against, name)), runs=15, seed=seed)
        )

    assert run(4) == run(4)
    assert run(4) != run(5)


def test_the_same_findings_too() -> None:
    built = edited(SPEC, [edit_named(name, SPEC) for name in FIVE[:2]])
    one, other = (search(hunt("gossipsub-1.2", built), runs=12, seed=6) for _ in range(2))
    assert one.found
    assert table(one) == table(other)


def test_counting_minimises_nothing() -> None:
    built = edit_named("sends-message-back-to-peer-it-came-from", SPEC).change(SPEC)
    counting = hunt("gossipsub-1.2", built)
    counting.counting = True
    search(counting, runs=15, seed=1)
    assert counting.departed > 3
    assert not counting.found


def test_it_stops_when_it_is_told_to() -> None:
    stopped = search(
        hunt("floodsub", protocol_named("floodsub"), stop=lambda h: h.runs >= 7), runs=60, seed=1
    )
    assert stopped.runs == 7
    late = hunt("floodsub", protocol_named("floodsub"))
    late.out_of_time = lambda: True
    assert search(late, runs=30, seed=1).runs == 0


@pytest.mark.parametrize("runs", [1, 5, 40])
def test_time_that_runs_out_is_no_fault_of_the_driver(runs: int) -> None:
    """To Hypothesis a run is flaky that is cut off where an earlier one with its beginning was not."""
    late = hunt("floodsub", protocol_named("floodsub"))
    late.out_of_time = lambda: late.runs >= runs
    assert search(late, runs=1000, seed=1).runs == runs and late.ended


def test_an_error_of_the_kit_is_told_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    late = hunt("floodsub", protocol_named("floodsub"))
    late.out_of_time = lambda: late.runs >= 2
    end = SearchRun.end

    def broken(run: SearchRun) -> None:
        end(run)
        if late.ended:
            raise ZeroDivisionError

    monkeypatch.setattr(SearchRun, "end", broken)
    with pytest.raises(ZeroDivisionError):
        search(late, runs=1000, seed=1)


def test_every_run_closes_its_router() -> None:
    opened: list[Subject] = []
    closed: list[Subject] = []
    inner = opener_of("ours")

    def opener(config: Config) -> Subject:
        subject = inner(config)
        opened.append(subject)
        close = subject.driver.close  # type: ignore[attr-defined]

        def noting() -> None:
            closed.append(subject)
            close()

        subject.driver.close = noting  # type: ignore[attr-defined]
        return subject

    search(FindingSearch("floodsub", opener, hello_of("ours", "floodsub")), runs=10, seed=1)
    assert len(opened) >= 10
    assert len(opened) == len(closed)


def test_parameters_that_a_router_sets_itself_are_not_asked_of_it() -> None:
    fixed = evolve(MODEL, fixed={"prune_backoff_s": 7, "heartbeat_delay_ms": 300})
    assert fixed_by(fixed, Parameters()) == Parameters(prune_backoff_s=7, heartbeat_delay_ms=300)
    seen: list[Parameters] = []
    made = hunt("gossipsub-1.2", SPEC)
    inner = made.opener

    def opener(config: Config) -> Subject:
        assert config.parameters is not None
        seen.append(config.parameters)
        return inner(config)

    search(FindingSearch("gossipsub-1.2", opener, fixed), runs=12, seed=1)
    assert {(p.prune_backoff_s, p.heartbeat_delay_ms) for p in seen} == {(7, 300)}


def test_what_the_driver_lacks_does_not_happen() -> None:
    able = hunt("gossipsub-1.2", SPEC)
    unable = FindingSearch("gossipsub-1.2", able.opener, evolve(MODEL, capabilities=frozenset()))
    search(able, runs=60, seed=2)
    search(unable, runs=60, seed=2)
    for clause in ("gs1.1/threshold.negative-pruned", "gs1.1/explicit.no-mesh", "gs1.1/publish.flood"):
        assert able.applied[clause], clause
        assert not unable.applied[clause], clause
    assert EVERYTHING == MODEL.capabilities


SEARCHES = """
import json, sys
from quidnunc.properties.search.machine import FindingSearch, search
from quidnunc.properties.search.worker import _root as root_of
from quidnunc.properties.search.worker import explain_again, hello_of, opener_of
CONSTANTS = {constants}
asked = FindingSearch("gossipsub-1.2", opener_of("ours"), hello_of("ours", "gossipsub-1.2"))
found = search(asked, runs=12, seed=9)
json.dump([found.runs, found.steps, sorted(found.applied.items())], sys.stdout)
"""


def test_nothing_of_the_installation_goes_into_a_run(tmp_path: Path) -> None:
    """Hypothesis draws constants of whatever sources are not installed; a run takes nothing of them."""
    tables = []
    for constants in ("()", "(770077, 990099, 1234567890123, 42424242, 3133731337)"):
        script = tmp_path / "script.py"
        script.write_text(SEARCHES.format(constants=constants), encoding="utf-8")
        environment = {**os.environ, "PYTHONHASHSEED": str(len(constants))}
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, env=environment, timeout=120, check=True
        )
        tables.append(json.loads(done.stdout))
    assert tables[0] == tables[1]
    assert tables[0][0] == 12


def test_an_id_that_is_named_before_its_message_is_the_same_id() -> None:
    """A subject is told of every message when it is named, be it by an IDONTWANT long before it is sent."""
    declared: set[str] = set()
    named: set[str] = set()
    inner = opener_of("ours")

    def opener(config: Config) -> Subject:
        subject = inner(config)
        declare, do = subject.declare, subject.do

        class Noting:
            hello = subject.hello

            def declare(self, messages: Sequence[Message]) -> None:
                declared.update(m.id for m in messages)
                declare(messages)

            def do(self, event: Event) -> tuple[Output, ...]:
                if isinstance(event, Receive):
                    kinds = (IHave, IWant, IDontWant)
                    ids = {i for p in event.parts if isinstance(p, kinds) for i in p.ids}
                    assert ids <= declared
                    named.update(ids)
                return do(event)

            def close(self) -> None:
                subject.close()

        return Noting()

    search(FindingSearch("gossipsub-1.2", opener, hello_of("ours", "gossipsub-1.2")), runs=40, seed=3)
    assert len(named) > 20


def test_nothing_of_a_search_outlives_it() -> None:
    """The engine keeps the class of every machine for as long as the process lives."""
    hunt = FindingSearch("dog", opener_of("ours"), hello_of("ours", "dog"))
    search(hunt, runs=2, seed=1)
    next_run(hunt, seed=1)
    gone = weakref.ref(hunt)
    del hunt
    gc.collect()
    assert gone() is None


def test_a_run_without_the_engine_is_the_one_within_it() -> None:
    hello = hello_of("ours", "dog")
    within, without = (FindingSearch("dog", opener_of("ours"), hello) for _ in range(2))
    played: list[list[Any]] = [[], []]
    for one, steps in zip((within, without), played, strict=True):
        one.record = lambda kind, run, parameters, seed, into=steps: into.extend(run)
    search(within, runs=5, seed=7)
    for _ in range(5):
        next_run(without, seed=7)
    assert played[0] and played[0] == played[1]


CHECK_OF_OURS = {"protocol": "gossipsub-1.2", "against": "ours", "profile": "spec"}
REFUSES_NOBODY, BARE = "accepts-graft-from-inbound-peer-at-d-high", "heartbeat-prunes-bare"
SMALL = Parameters(d=2, d_low=1, d_high=3, d_score=1, d_out=0)


def found_at_once() -> tuple[str, FindingSearch]:
    """A run in which two faults show in one heartbeat, as a case, and a search of the router with both."""
    built = edited(SPEC, [edit_named(name, SPEC) for name in (REFUSES_NOBODY, BARE)])
    grafts = (event for peer in range(1, 6) for event in (Connect((peer,)), of(peer, Subscribe(T), Graft(T))))
    events = (Join(T), *grafts, Advance(1000))
    first = hunt("gossipsub-1.2", built)
    run = play(events, first.opener(first.config(SMALL, 0)), SPEC, SMALL)
    finding = Finding(events, tuple(run.moments), last_departures(run)[0], ())
    root = root_of(CHECK_OF_OURS, ReplayableFinding(finding, SMALL, 0), first.hello, None)
    assert root["kind"] == "unexplained"
    return root["case"], hunt("gossipsub-1.2", built)


def test_what_two_faults_made_is_explained_once_one_of_them_is_known() -> None:
    """Neither edit alone accounts for the run; with the other one in force, one does."""
    case, early = found_at_once()
    explain_again("", case, early)
    assert REFUSES_NOBODY not in early.in_force
    late = found_at_once()[1]
    late.quirks.append(edit_named(BARE, SPEC))
    explain_again("", case, late)
    assert [cause for _, cause in late.found] == [REFUSES_NOBODY]
    assert late.in_force == (BARE, REFUSES_NOBODY)


@pytest.mark.parametrize("known", [(), (BARE,)])
def test_an_operators_edit_gives_way_to_one_that_holds_as_well(known: tuple[str, ...]) -> None:
    """Where nothing else is found the explanation stays in force."""
    case, search = found_at_once()
    operators = "inbound-while-full-d-high-as-endless"
    search.quirks += [edit_named(name, SPEC) for name in (*known, operators)]
    explain_again(operators, case, search)
    gives_way = bool(known)
    assert (operators in search.withdrawn) == gives_way
    assert (operators in search.in_force) != gives_way


TO_AUTHOR, TO_NOBODY = "sends-message-to-author", "does-not-relay-accepted-messages"


def test_what_another_fault_made_refutes_an_explanation_no_longer_once_that_is_known() -> None:
    """Mutant: an explanation that was refuted once stays so."""
    built = [edit_named(name, SPEC) for name in (TO_AUTHOR, TO_NOBODY)]
    early, late = (hunt("gossipsub-1.2", edited(SPEC, built)) for _ in range(2))
    early.quirks.append(built[0])
    meet = (event for peer in (1, 2) for event in (Connect((peer,)), of(peer, Subscribe(T), Graft(T))))
    events = (Join(T), *meet, of(1, Message("m1", T, author=2)), Advance(1000))
    run = play(events, early.opener(early.config(SMALL, 0)), early.protocol, SMALL)
    assert early.file(events, last_departures(run), SMALL, 0) == NO_FINDING
    told = answer_of(CHECK_OF_OURS, early, early.hello)
    assert early.withdrawn == [TO_AUTHOR] == [*told["refuting"]]
    assert still_refuted(told["refuting"], late) == [TO_AUTHOR]
    late.quirks.append(built[1])
    assert still_refuted(told["refuting"], late) == []


def test_a_departure_comes_from_an_addition_where_no_reading_predicts_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutant: a reading that allows the run by chance leaves it without an explanation."""
    refuses = edited(SPEC, [edit_named("inbound-while-full-d-high-as-zero", SPEC)])
    hello = evolve(MODEL, additions={"picky": "a PRUNE for each GRAFT"})

    def opener(config: Config) -> Subject:
        subject = ModelSubject(SPEC if "picky" in config.without else refuses, config.parameters)
        subject.hello = evolve(hello, additions={} if config.without else hello.additions)
        return subject

    made = FindingSearch("gossipsub-1.2", opener, hello, profile="shipped")
    events = (Join(T), Connect((1,)), of(1, Graft(T)))
    run = play(events, opener(made.config(SMALL, 0)), SPEC, SMALL)
    finding = Finding(events, tuple(run.moments), last_departures(run)[0], ())
    assert made.readings_of(finding, SMALL), "a GRAFT of who has not announced the topic"
    monkeypatch.setattr(FindingSearch, "explained", lambda self, found, *_: evolve(found, quirks=()))
    _, cause = made.file(events, last_departures(run), SMALL, 0) or NO_FINDING
    assert cause == "adds:picky" and made.without == ("picky",)


def test_unsigned_messages_have_authors_where_the_plainer_parameters_sign() -> None:
    """By nobody they would be taken for the router's own, and our router would fail the control for that."""
    made = hunt("gossipsub-1.2", edited(SPEC, [edit_named("gossip-adaptively-sees-all-newest", SPEC)]))
    given = Parameters(signature_policy="StrictNoSign", message_id="content")
    peers = (Connect((1,)), Connect((2,), FLOODSUB), of(1, Subscribe(T)), of(2, Subscribe(T)))
    events = (Join(T), *peers, of(1, Message("m1", T)), Advance(1000))
    run = play(events, made.opener(made.config(given, 0)), SPEC, given)
    made.file(events, last_departures(run), given, 0)
    (found,) = made.found.values()
    assert found.parameters == Parameters()
    assert [m.author for m in messages_in(found.finding.events)] == [1]
    assert root_of(CHECK_OF_OURS, found, made.hello, None)["holds_on_ours"]


def takes_a_leaver_for_known(old: Rule, r: Any, topic: str, choose: object) -> object:
    return old.apply(r, {}[topic], choose)


def test_an_explanation_that_cannot_judge_a_run_is_withdrawn_and_the_search_goes_on() -> None:
    """Mutant: what an edited rule raises ends the search. What the specification raises does end it."""
    raising = replacing_present(prune_members=around("gs1.0/leave.prune-each")(takes_a_leaver_for_known))
    edit = Edit("knows-leavers", "replaced", "gs1.0/leave.prune-each", "Knows who leaves.", raising)
    one = hunt("gossipsub-1.2", SPEC)
    one.quirks.append(edit)
    neighbours = Script([Join(T), Connect((1,)), of(1, Subscribe(T), Graft(T)), Leave(T)])
    run = SearchRun(one, seed=1)
    run.start()
    run.neighbours = neighbours  # type: ignore[assignment]
    run.act()
    run.end()
    assert (one.withdrawn, one.in_force, one.found) == (["knows-leavers"], (), {})
    assert search(one, runs=3, seed=1).runs == 4
    with pytest.raises(KeyError):
        judged_by(Raises(SPEC, SMALL), Leave(T), ())


class Raises(Oracle):
    """The rules of the specification, if they were wrong."""

    def judge(self, event: Event, outputs: Sequence[Output]) -> EventJudgement:
        raise KeyError(event)


def test_explanations_each_of_which_makes_the_departure_are_all_withdrawn() -> None:
    """The router follows the protocol and tells members that it leaves. Two edits in force forbid that."""
    wrong = ("silent-prune-members", "idle-accept", "idle-while-backing-off")
    search = hunt("gossipsub-1.2", SPEC)
    search.quirks += [edit_named(name, SPEC) for name in wrong]
    events = (Join(T), Connect((1,)), of(1, Subscribe(T), Graft(T)), Leave(T))
    run = play(events, search.opener(search.config(SMALL, 0)), search.protocol, SMALL)
    found = last_departures(run)
    assert found, "each of the first two makes it"
    assert search.file(events, found, SMALL, 0) == NO_FINDING
    assert search.withdrawn == [*wrong[:2]] and search.in_force == wrong[2:]
    assert not search.found
    assert search.contradicted == dict.fromkeys(wrong[:2], (4, PRUNED))


PRUNED = (
    f"In another run, at `leave {T}` (step 4), the router sends PRUNE {T} backoff=10 to a; "
    "by that explanation it would not."
)


def left_silently(by: FindingSearch, explained: bool) -> tuple[FindingSearch, Edit]:
    """A search that knows of one run of the router `by`, and takes it for one that tells no member that it
    leaves."""
    search, wrong = hunt("gossipsub-1.2", SPEC), edit_named("silent-prune-members", SPEC)
    rules = SPEC if explained else edited(SPEC, [wrong])
    events = (*LEAVES, Advance(1000))
    run = play(events, by.opener(by.config(SMALL, 0)), rules, SMALL)
    finding = Finding(events, tuple(run.moments), last_departures(run)[0], (wrong,) if explained else ())
    search.quirks.append(wrong)
    search.found[finding.clause, finding.cause] = ReplayableFinding(finding, SMALL, 0)
    return search, wrong


def departs_from_the_explanation(search: FindingSearch) -> None:
    run = play(LEAVES, search.opener(search.config(SMALL, 0)), search.protocol, SMALL)
    assert search.file(LEAVES, last_departures(run), SMALL, 0) == NO_FINDING


LEAVES = (Join(T), Connect((1,)), of(1, Subscribe(T), Graft(T)), Leave(T))


def test_an_unexplained_finding_says_what_contradicts_its_explanation() -> None:
    """It was found by one run, and the next is in order by the specification alone."""
    silent = hunt("gossipsub-1.2", edited(SPEC, [edit_named("silent-prune-members", SPEC)]))
    search, wrong = left_silently(silent, explained=True)
    departs_from_the_explanation(search)
    (found,) = search.found.values()
    root = root_of(CHECK_OF_OURS, found, search.hello, None, search.contradicted)
    assert root["says"].endswith(f"Nearly: {wrong.says} {PRUNED}")
    # The headline begins with what the router does.
    assert root["act"].startswith("Does not send PRUNE t1 ") and "gs1.0/leave.prune-each" in root["act"]
    assert parse(root["case"]).reason == f"{root['act']} {root['says']}"


def test_what_only_a_withdrawn_explanation_forbids_is_let_go() -> None:
    search, wrong = left_silently(hunt("gossipsub-1.2", SPEC), explained=False)
    departs_from_the_explanation(search)
    assert search.withdrawn == [wrong.name]
    assert not search.found


@pytest.mark.parametrize("withdrawn", [True, False])
def test_what_departs_only_from_a_withdrawn_explanation_is_let_go_though_a_choice_is_hidden(
    withdrawn: bool,
) -> None:
    """By the specification a GRAFT inside the backoff may cost the sender the IWANT. Mutant: it stays,
    because its run is not in order."""
    one, wrong = hunt("gossipsub-1.2", SPEC), edit_named("leaves-behaviour-penalty-out-of-score", SPEC)
    given = evolve(SMALL, scores=ScoreParameters(behaviour_penalty_weight=-1.0), gossip_threshold=-10)
    member = (Join(T), Connect((1,)), of(1, Subscribe(T), Graft(T)))
    events = (
        *member,
        of(1, Prune(T)),
        of(1, Graft(T)),
        Score((1,), -9),
        of(1, IHave(T, ("m1",))),
        Advance(1000),
    )
    built = edited(SPEC, [wrong])
    runs = (play(events, ModelSubject(SPEC, given, seed), built, given) for seed in range(40))
    run = next(run for run in runs if last_departures(run))
    finding = Finding(events, tuple(run.moments), last_departures(run)[0], ())
    assert act_of(finding.departure) == "IWant"
    one.found["gs1.1/score.weights", ""] = ReplayableFinding(finding, given, 0, (wrong.name,))
    one.withdrawn += [wrong.name] * withdrawn
    one._settle()
    assert bool(one.found) != withdrawn


def test_an_explanation_stays_in_force_for_one_of_two_faults_of_a_message() -> None:
    """Without it the PRUNE departs as well, and is told of the backoff."""
    backoff = "prune-members-unsubscribe-backoff-s-as-prune-backoff-s"
    lists = "prune-members-prune-peers-as-endless"
    built = edited(SPEC, [edit_named(name, SPEC) for name in (backoff, lists)])
    search = hunt("gossipsub-1.2", built)
    search.quirks.append(edit_named(backoff, SPEC))
    members = (each for p in (1, 2) for each in (Connect((p,)), of(p, Subscribe(T), Graft(T))))
    events = (Join(T), *members, Leave(T))
    run = play(events, search.opener(search.config(SMALL, 0)), search.protocol, SMALL)
    assert faults(last_departures(run)[0]) == {"peers"}
    assert search.file(events, last_departures(run), SMALL, 0) == ("gs1.1/px.offer", lists)
    assert search.in_force == (backoff, lists)
    assert not search.withdrawn


@pytest.mark.parametrize(
    "name",
    [
        "ids-of-any-topic",
        "requests-of-one-peer-alone",
        "served-gossiped-longer",
        "leave-keeps-mesh-as-fanout",
        "relays-to-mesh-at-arrival",
        "tracks-no-promise",
        "near-first-never",
    ],
)
def test_what_is_remembered_wrongly_has_a_name(name: str) -> None:
    """Of bugs that readers wrote into routers of their own. Mutant: no such edit."""
    found = search(hunt("gossipsub-1.2", edit_named(name, SPEC).change(SPEC)), runs=120, seed=2)
    assert [cause for _, cause in found.found] == [name]


def test_what_is_found_names_peers_topics_and_ids_in_order() -> None:
    """Mutant: the names are those of the run in which it was found."""
    built = edit_named("sends-message-back-to-peer-it-came-from", SPEC).change(SPEC)
    events = (
        Join("t3"),
        Connect((9, 45)),
        of(45, Subscribe("t3"), Graft("t3")),
        of(45, Message("m17", "t3", 7)),
    )
    minimal = _minimal(built, events)
    named = (Join("t1"), Connect((1,)), of(1, Graft("t1")), of(1, Message("m1", "t1", 2)))
    assert minimal is not None and minimal[0].events == named


@around("floodsub/relay.not-back")
def back_to_nine(old: Rule, r: Any, what: Any, member: int) -> bool | None:
    return False if member == 9 else old.apply(r, what, member)  # type: ignore[no-any-return]


def test_names_stay_where_they_decide() -> None:
    """The router sends messages back to one peer alone. Mutant: other names are not tried first."""
    built = replacing_present(the_forwarder=back_to_nine)(SPEC)
    events = (Join("t3"), Connect((9,)), of(9, Graft("t3")), of(9, Message("m17", "t3", 7)))
    minimal = _minimal(built, events)
    assert minimal is not None and minimal[0].events == events


def _minimal(built: Protocol, events: Sequence[Event]) -> tuple[Finding, Any] | None:
    found = hunt("gossipsub-1.2", built)
    run = play(events, found.opener(found.config(SMALL, 0)), found.protocol, SMALL)
    assert last_departures(run)
    return found.minimised(events, last_departures(run), SMALL, 0)
