"""The fixed suite: every case holds, and every rule that is dropped is noticed or listed with its reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, mutable

from quidnunc.impl.seam import Config, Hello
from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Connect, Event, Output, Receive, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.dog.variants import VARIANTS
from quidnunc.model.parameters import Parameters
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import IHave, Message, Prune, Subscribe
from quidnunc.model.rules import Phases, Protocol, Rule
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.cases.file import render
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.explain import root_cause
from quidnunc.properties.explain.plain_names import renamed_trace
from quidnunc.properties.explain.root_cause import accounts_for, last_departures
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.search import machine
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.verdicts import ExitStatus, verdict_of_root
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import edit_cases, rule_cases, suite_of
from quidnunc.properties.suite.rows import SuiteRows
from quidnunc.properties.suite.run import run_suite
from quidnunc.properties.suite.scores import is_switched_on, switchable
from quidnunc.properties.suite.traces import size_of
from quidnunc.properties.suite.unnoticed import UnnoticedRule, unnoticed_of
from quidnunc.properties.suite.unnoticed import unnoticed_rules as listed
from quidnunc.reports.suite import suite_exit
from tools.rule_search.__main__ import RuleSearch, carried_trace, find_rule
from tools.rule_search.comparison import compare, notices, unnoticed
from tools.rule_search.files import read_rule, write_rule

NAMES = (
    *("floodsub", "gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2-draft", "gossipsub-1.2"),
    *("gossipsub-1.3", "partial-messages", "partial-messages-jvm", "partial-messages-go", "flood", "dog"),
    *VARIANTS,
    *("cat-classic", "cat", "peer-limit"),
)
CPU_SECONDS = 30.0
LISTED = [pytest.param(name, e, id=f"{name}-{e.rule}") for e in listed() for name in e.protocols]


def rules_of(name: str) -> set[str]:
    return {rule.name for _, rule in protocol_named(name).rules()}


@pytest.mark.parametrize("name", NAMES)
def test_each_dropped_rule_is_noticed_by_its_case_or_listed(name: str) -> None:
    assert set(unnoticed(name)) == set(unnoticed_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_each_case_is_of_a_rule_and_none_of_a_listed_one(name: str) -> None:
    assert {rule for rule, _ in rule_cases(name)} == rules_of(name) - unnoticed_of(name).keys()
    assert {rule.rpartition("-")[0] for rule, _ in edit_cases(name)} <= rules_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_does_not_notice_what_is_the_same(name: str) -> None:
    protocol = protocol_named(name)
    assert not any(notices(case, protocol, protocol.reading(), dice=(0, 5)) for _, case in suite_of(name))


def test_every_case_holds_on_ours_and_on_the_model_in_time() -> None:
    started = time.process_time()
    for name in NAMES:
        campaign = run_suite(name, "ours")
        assert not campaign.roots and not campaign.left_out, (name, campaign.roots, campaign.left_out)
        assert campaign.runs == len(suite_of(name))
        for rule, case in suite_of(name):
            model = ModelSubject(protocol_named(name), parameters_of(case), case.seed)
            run = play(events_of(case), model, protocol_named(name), parameters_of(case))
            assert run.steps and not run.blurred and not last_departures(run), (name, rule)
    spent_s = time.process_time() - started
    assert spent_s < CPU_SECONDS, f"the suite took {spent_s:.1f} s of CPU"


def test_cases_rest_on_no_backoff_of_zero() -> None:
    """Which the text does not explain, and which is read as one that is absent."""
    said = [
        part.backoff_s
        for name in NAMES
        for _, case in suite_of(name)
        for event in events_of(case)
        if isinstance(event, Receive)
        for part in event.parts
        if isinstance(part, Prune)
    ]
    assert said and 0 not in said


# -- what no trace shows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "entry"), LISTED)
def test_without_a_listed_rule_the_same_is_allowed(name: str, entry: UnnoticedRule) -> None:
    """In random runs in which the rule decides, but for those that nobody asks or that have no occasion."""
    found = compare(name, entry.rule, runs=20 if protocol_named(name).family == "mempool" else 10)
    assert not found.difference and found.steps > 100, found.difference
    assert (found.asked > 0) is (entry.because != "never-asked")
    assert (found.decided > 0) is (entry.because not in ("never-asked", "never-decides"))


@pytest.mark.parametrize("name", [n for n in NAMES if "weighted_score" in protocol_named(n).handlers])
def test_only_cases_of_scores_and_peer_exchange_switch_either_on(name: str) -> None:
    """Every other case is played by a router that has neither."""
    protocol = protocol_named(name)
    on = {rule for rule, case in rule_cases(name) if is_switched_on(parameters_of(case))}
    assert all(switchable(protocol, rule) for rule in on)
    # The score that the application gives is weighed without score parameters too.
    assert {rule for rule, _ in rule_cases(name) if switchable(protocol, rule)} - on == {"application"}


def test_no_other_rule_is_looked_for_under_score_parameters() -> None:
    assert switchable(protocol_named("gossipsub-1.2"), "colocation")
    assert not switchable(protocol_named("gossipsub-1.2"), "the_forwarder")
    assert not switchable(protocol_named("dog"), "pool_own")
    assert not switchable(protocol_named("gossipsub-1.0"), "colocation")


@pytest.mark.parametrize(
    ("name", "rule"),
    [("gossipsub-1.2", "the_forwarder"), ("gossipsub-1.1", "already_member"), ("dog", "pool_own")],
)
def test_a_rule_that_matters_is_not_taken_for_a_listed_one(name: str, rule: str) -> None:
    assert compare(name, rule, runs=100).difference


def test_no_case_asks_to_keep_more_of_the_best_than_there_are_members() -> None:
    """D_score is 4 by default, and many cases have a D of 2."""
    hello = Hello(name="x", version="1", protocols=())
    fitted = {case.path: fitted_parameters(case, hello)[0] for _, case in rule_cases("gossipsub-1.2")}
    small = [p for p in fitted.values() if p.d < Parameters().d_score]
    assert small and all(p.d_score <= p.d for p in fitted.values())


def test_an_entry_needs_a_known_reason() -> None:
    with pytest.raises(ValueError, match="because"):
        UnnoticedRule("accept", ["dog"], "luck", "It is not separated because of bad luck.")


# -- the search ---------------------------------------------------------------------------------------------


def test_the_search_gives_the_same_again(tmp_path: Path) -> None:
    texts = []
    for at in range(2):
        find_rule(tmp_path / str(at), "who_sent_it", ["flood", "dog"], walks=50, anew=True)
        texts.append([p.read_text("utf-8") for p in sorted((tmp_path / str(at)).glob("*.case"))])
    assert texts[0] == texts[1] and read_rule(tmp_path / "0", "who_sent_it").keys() == {"flood", "dog"}


def test_the_search_keeps_what_is_good_and_replaces_what_is_not(tmp_path: Path) -> None:
    good = tmp_path / "who_sent_it.case"
    find_rule(tmp_path, "who_sent_it", ["flood"], walks=50, anew=False)
    found = good.read_text("utf-8")
    good.write_text(found.replace("found by: make suite", "found by: hand"), encoding="utf-8")
    find_rule(tmp_path, "who_sent_it", ["flood"], walks=50, anew=False)
    assert "found by: hand" in good.read_text("utf-8")
    good.write_text(render(dict(suite_of("flood"))["leave_pool"]), encoding="utf-8")
    find_rule(tmp_path, "who_sent_it", ["flood"], walks=50, anew=False)
    assert good.read_text("utf-8") == found


def test_a_case_of_a_sibling_is_taken_as_it_is_but_not_anew(tmp_path: Path) -> None:
    colocation = dict(suite_of("gossipsub-1.3"))["colocation"]
    for anew in (True, False):
        write_rule(tmp_path, "colocation", {"gossipsub-1.3": colocation})
        find_rule(tmp_path, "colocation", ["partial-messages"], walks=0, anew=anew)
        cases = read_rule(tmp_path, "colocation")
        assert ("partial-messages" in cases) is not anew
    assert events_of(cases["partial-messages"]) == events_of(colocation)
    assert cases["partial-messages"].protocols == ("partial-messages",)


def test_a_case_of_a_sibling_that_shows_nothing_is_not_taken() -> None:
    protocol = protocol_named("partial-messages")
    case = dict(suite_of("gossipsub-1.3"))["say_hello"]
    assert carried_trace(protocol, "colocation", [(parameters_of(case), events_of(case))]) is None


def test_what_is_found_is_made_as_short_as_can_be() -> None:
    """A trace that is known is minimised: padding it does not make the case longer."""
    protocol = protocol_named("gossipsub-1.2")
    case = dict(suite_of("gossipsub-1.2"))["already_member"]
    padding = events_of(dict(suite_of("gossipsub-1.2"))["say_hello"])
    padded = (parameters_of(case), (*events_of(case), *padding))
    found = RuleSearch(protocol, "already_member").run([padded], walks=0)
    assert found is not None and found.surely
    assert size_of(found.trace) <= size_of((parameters_of(case), events_of(case)))


def test_names_are_given_in_the_order_of_mention() -> None:
    events = (Connect((7, 3)), Receive((3,), (Subscribe("t9"), IHave("t9", ("m8", "m5")))))
    told = renamed_trace((Parameters(explicit_peers=frozenset({4, 7})), events))
    plain = (Connect((1, 2)), Receive((2,), (Subscribe("t1"), IHave("t1", ("m1", "m2")))))
    assert told == (Parameters(explicit_peers=frozenset({1, 3})), plain)


def test_what_a_driver_does_not_say_is_not_asked_of_it() -> None:
    """Of a connection with an address, parameters of scores and peer exchange."""
    bare = Hello(name="x", version="1", protocols=())
    lacked = set()
    for rule, case in suite_of("gossipsub-1.1"):
        parameters, lacking = fitted_parameters(case, bare)
        lacked |= set(lacking)
        if lacking:
            continue
        assert not any(isinstance(e, Connect) and e.address for e in events_of(case)), rule
        assert parameters.scores is None and not parameters.prune_peers, rule
    assert {"score-parameters", "peer-exchange", "score"} <= lacked
    needs = {need for _, case in suite_of("dog") for need in fitted_parameters(case, bare)[1]}
    assert needs == {"peers-without-dog", "stall", "raw"}


def test_cases_that_show_two_faults_are_explained_by_what_is_known_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One case departs at the cut alone; the other at the cut and at the cap on IHAVEs, at one heartbeat."""
    name, faults = "gossipsub-1.2", ("cut-at-d-high", "ihave-cap-counts-control")
    spec = protocol_named(name)
    built = edited(spec, [edit_named(each, spec) for each in faults])
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    every = dict(suite_of(name))
    cases = [(each, every[each]) for each in ("graft_opportunistically-1", "mesh-high")]
    campaign = run_suite(name, "ours", opener)
    assert {root.quirk for root in campaign.roots.values()} == {*faults}
    shown = next(r.case for r in campaign.roots.values() if r.quirk == faults[1])
    assert shown.as_built == faults[:1], "the other fault takes part in its case"


def test_a_failure_behind_a_deviation_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PRUNE without backoff deviates, and ends the one case in which the other fault shows later on."""
    name, mild = "gossipsub-1.2", "heartbeat-prunes-bare"
    fault = "forgets-how-many-deliveries-pruned-member-still-owed"
    spec = protocol_named(name)
    built = edited(spec, [edit_named(each, spec) for each in (mild, fault)])
    cases = [("note_pruned", dict(suite_of(name))["note_pruned"])]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    campaign = run_suite(name, "ours", opener)
    shown = {root.quirk: root.case.as_built for root in campaign.roots.values() if root.case}
    assert shown == {mild: (), fault: (mild,)}
    verdicts = {verdict_of_root(root) for root in campaign.roots.values()}
    assert verdicts == {"deviates", "fails"}


@pytest.mark.parametrize("name", ["gossipsub-1.2", "gossipsub-1.3", "partial-messages"])
def test_the_claim_on_ids_as_bytes_has_a_control(name: str) -> None:
    case, spec = dict(suite_of(name))["ids-in-hex"], protocol_named(name)
    parameters = parameters_of(case)
    run = play(events_of(case), ModelSubject(spec, parameters), spec, parameters)
    assert run.applied["gs1.0/rpc.control-fields"]
    assert not last_departures(run)


def test_what_one_edit_of_several_rules_is_behind_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case tells of one term of the score alone, and an edit of one rule explains it."""
    name, fault = "gossipsub-1.2", "everywhere-in-weighted-score-only-application"
    spec = protocol_named(name)
    built = edited(spec, [edit_named(fault, spec)])
    every = suite_of(name)

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    def departing(case: Case) -> bool:
        given = parameters_of(case)
        return bool(
            last_departures(play(events_of(case), ModelSubject(built, given, case.seed), spec, given))
        )

    cases = [(each, case) for each, case in every if departing(case)]
    assert len(cases) >= 3
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)
    assert [root.quirk for root in run_suite(name, "ours", opener).roots.values()] == [fault]


def test_the_case_of_a_row_is_as_short_as_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays a case of the same row, which the same explanation accounts for and the protocol does not."""
    name, fault = "gossipsub-1.2", "ihave-cap-counts-control"
    spec = protocol_named(name)
    built = edited(spec, [edit_named(fault, spec)])
    given = dict(suite_of(name))["graft_opportunistically-1"]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: [("graft_opportunistically-1", given)])

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    (whole,) = run_suite(name, "ours", opener).roots.values()
    (short,) = run_suite(name, "ours", opener, shortest=True).roots.values()
    assert (whole.quirk, whole.clause) == (short.quirk, short.clause) == (fault, whole.clause)
    assert len(events_of(short.case)) < len(events_of(whole.case)) == len(events_of(given))
    assert short.case.parameters != whole.case.parameters and short.holds_on_ours is True
    events, parameters = events_of(short.case), parameters_of(short.case)
    run = play(events, ModelSubject(built, parameters), spec, parameters)
    assert last_departures(run) and accounts_for(edit_named(fault, spec), run.moments, spec, parameters)


def test_what_departed_before_an_interrupt_and_was_not_explained_is_told() -> None:
    """Else an interrupted suite says that nothing fails."""
    seen = list[Campaign]()

    def stop(campaign: Campaign) -> None:
        seen[:] = [campaign]
        if campaign.runs == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite("flood", "ours:echo-to-sender", progress=stop)
    (campaign,) = seen
    assert campaign.roots == {} and campaign.pending
    assert {*map(verdict_of_root, campaign.rows.values())} == {"undecided"}
    assert suite_exit(ExitStatus(3), campaign).code == 3


@mutable
class ForgetfulSubject:
    """The model, which forgets some messages in a way that no edit of the specification is like."""

    inner: ModelSubject
    events: int = 0

    @property
    def hello(self) -> Hello:
        return self.inner.hello

    def do(self, event: Event) -> tuple[Output, ...]:
        self.events += 1
        said = self.inner.do(event)
        odd = (self.events * self.events + len(said)) % 3 == 1
        return tuple(o for o in said if not (odd and isinstance(o, Sent) and isinstance(o.part, Message)))

    def declare(self, messages: Sequence[Message]) -> None:
        self.inner.declare(messages)

    def close(self) -> None:
        self.inner.close()


def test_what_nothing_explains_has_the_names_of_all_cases_that_depart() -> None:
    """No more than two that depart alike are looked into; what is behind the others may be another fault."""
    name = "floodsub"
    spec = protocol_named(name)

    def opener(config: Config) -> ForgetfulSubject:
        return ForgetfulSubject(ModelSubject(spec, config.parameters, config.seed))

    def departs(case: Case) -> bool:
        given = parameters_of(case)
        inner = ModelSubject(spec, given, case.seed)
        return bool(last_departures(play(events_of(case), ForgetfulSubject(inner), spec, given)))

    campaign = run_suite(name, "ours", opener)
    (row,) = (root for root in campaign.roots.values() if root.kind == "unexplained")
    departing = {each for each, case in suite_of(name) if departs(case)}
    assert row.seen_in == departing and len(departing) > 2


def test_an_unexplained_row_that_a_reading_allows_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a search: what the reading does not predict elsewhere may be another fault."""
    name, reading = "gossipsub-1.2", "unsubscribed-stays-in-mesh"
    built = edit_named(reading, protocol_named(name)).change(protocol_named(name))
    cases = [each for each in suite_of(name) if "unsubscribe t1" in render(each[1])]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)
    monkeypatch.setattr(machine, "hypotheses", lambda *given: [])

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    rows = [root for root in run_suite(name, "ours", opener).roots.values() if reading in root.allowed_by]
    assert rows and {root.kind for root in rows} == {"unexplained"}
    for root in rows:
        assert verdict_of_root(root) == "undecided"
        assert "It does not predict other runs." in root.says
        assert "It does not predict other runs." in " ".join(render(root.case).split())


def leaving_late(protocol: Protocol) -> Protocol:
    """Who unsubscribes leaves the mesh at the heartbeat. The reading that it stays is nearly that."""

    def note(r: Router, s: Any, choose: Choose) -> Step[Router] | None:
        return Step(evolve(r, kept={**r.kept, "left": (*r.kept.get("left", ()), (s.part.topic, s.peer))}))

    def leave(r: Router, _: None, choose: Choose) -> Step[Router] | None:
        gone = {(topic, peer) for topic, peer in r.kept.get("left", ()) if peer not in r.members(topic)}
        left = {t: frozenset(p for p in members if (t, p) not in gone) for t, members in r.mesh.items()}
        return Step(evolve(r, mesh=left, kept={**r.kept, "left": ()}))

    beats = (Rule("leave_late", "gs1.0/mesh.members", leave), *protocol["heartbeat"].rules)
    late = protocol.with_rule("quit_mesh", Rule("quit_mesh", "gs1.0/mesh.members", note))
    return evolve(late, handlers={**late.handlers, "heartbeat": Phases(beats)})


def without_the_right_one(known: Callable[[Protocol], tuple[Edit, ...]], spec: Protocol) -> tuple[Edit, ...]:
    return tuple(edit for edit in known(spec) if edit.name != "unsubscribed-stays-until-heartbeat")


@pytest.mark.parametrize("looks", [True, False])
def test_what_only_the_excuse_of_something_else_forbids_is_no_row(
    monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """Without that look the router is told to graft a peer that is in the mesh, which it is not."""
    name, reading = "gossipsub-1.2", "unsubscribed-stays-in-mesh"
    built = leaving_late(protocol_named(name))
    cases = [each for each in suite_of(name) if "unsubscribe t1" in render(each[1])]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)
    if not looks:
        monkeypatch.setattr(SuiteRows, "drop_false_ones", lambda self: None)
    # There is a reading that says just that. Of the next router like this one there may be none.
    for what in ("explaining_edits", "hypotheses_of"):
        monkeypatch.setattr(root_cause, what, partial(without_the_right_one, getattr(root_cause, what)))

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    campaign = run_suite(name, "ours", opener)
    quirks = [root.quirk for root in campaign.roots.values()]
    assert (quirks == [reading]) is looks and reading in quirks
