"""A finding under another name than the expected one passes for it where evidence says that they are one."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from quidnunc.impl.seam import Config
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load, parse
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.judge.play import ModelSubject, Opener
from quidnunc.properties.search.renamed import told_otherwise
from quidnunc.properties.search.rows import RootCause
from quidnunc.properties.search.verdicts import Expectation, compare

MUTANTS = Path(__file__).parents[3] / "counterexamples" / "mutants"
SPEC = protocol_named("gossipsub-1.2")
CLAUSE, CAUSE = "gs1.0/relay.mesh", "accepted-not-relayed"
UNEXPLAINED = "unexplained:missing"


def built(*names: str) -> Opener:
    rules = edited(SPEC, [edit_named(name, SPEC) for name in names])
    return lambda config: _subject(config, rules)


def _subject(config: Config, rules: object) -> ModelSubject:
    return ModelSubject(rules, config.parameters, config.seed)  # type: ignore[arg-type]


def case_of(mutant: str) -> Case:
    case = load(MUTANTS / f"{mutant}.case")
    return evolve(case, clause=CLAUSE, quirk="", status="open")


def found(quirk: str, case: Case, clause: str = CLAUSE) -> RootCause:
    kind = "unexplained" if quirk.startswith("unexplained:") else "replaced"
    return RootCause(clause, quirk, kind, "It says.", case)


def expected(cause: str, verdict: str = "fails") -> Expectation:
    return Expectation(CLAUSE, cause, verdict, "Known.", case="known.case")


KNOWN = case_of("verdict-not-relayed")
ECHO_CAUSE = "sends-message-back-to-peer-it-came-from"
ECHO = parse(f"""\
A message goes back to the peer it came from.

format: 2
claim: relay.targets
clause: {CLAUSE}
protocols: gossipsub-1.2
against: any
status: open
found by: hand
seed: 0

join t1
connect a..c /meshsub/1.2.0
a,b: subscribe t1; graft t1
a: message m1 t1 by c
----
+ a: message m1 t1
""")


def renamed(root: RootCause, each: Expectation, opener: Opener) -> bool:
    replay = replay_router(KNOWN, opener)
    told = told_otherwise([root], [each], {each.case: replay}, opener)
    compared = compare([root], [each], {each.case: replay.outcome}, told)
    assert bool(compared.unexpected) is not bool(told)
    assert told in ((), ((each, root),))
    return bool(told)


def test_the_expected_cause_accounts_for_the_run_of_the_found_one() -> None:
    assert renamed(found(UNEXPLAINED, KNOWN), expected(CAUSE), built(CAUSE))
    assert renamed(found("relay-needs-a-subscriber", KNOWN), expected(CAUSE), built(CAUSE))


def test_the_found_cause_accounts_for_the_expected_run_that_had_none() -> None:
    assert renamed(found(CAUSE, KNOWN), expected(UNEXPLAINED), built(CAUSE))


def test_what_has_no_explanation_departs_in_the_same_way() -> None:
    assert renamed(found(UNEXPLAINED, KNOWN), expected("relay-needs-a-subscriber"), built(CAUSE))


def test_another_fault_against_the_same_clause_is_new() -> None:
    """The expected one is still there, and was not met."""
    both = built(CAUSE, ECHO_CAUSE)
    assert replay_router(KNOWN, both).departures and replay_router(ECHO, both).departures
    for quirk in (ECHO_CAUSE, "unexplained:unexpected"):
        for cause in (CAUSE, UNEXPLAINED):
            assert not renamed(found(quirk, ECHO), expected(cause), both)


def test_a_fault_that_comes_in_the_place_of_one_that_is_gone_is_new() -> None:
    mended = built(ECHO_CAUSE)
    assert not replay_router(KNOWN, mended).departures
    assert not renamed(found("unexplained:unexpected", ECHO), expected(CAUSE), mended)
    assert not renamed(found("unexplained:unexpected", KNOWN), expected(CAUSE), mended)


def test_another_clause_or_verdict_and_what_was_met_by_its_name_are_new() -> None:
    root, opener = found(UNEXPLAINED, KNOWN), built(CAUSE)
    assert not renamed(root, expected(CAUSE, verdict="observed"), opener)
    assert not renamed(evolve(root, clause="gs1.0/relay.seen"), expected(CAUSE), opener)
    own, each = found(CAUSE, KNOWN), expected(CAUSE)
    assert told_otherwise([own, root], [each], {each.case: replay_router(KNOWN, opener)}, opener) == ()
