"""Which rules of networks were taken: the record is what searches and runs give; coverage shows it apart."""

from __future__ import annotations

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.properties.coverage import coverage
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.citations import AppliedRules, applied_rules
from quidnunc.properties.proofs.networks import NETWORKS
from tools.network_rules.__main__ import (
    COMMAND,
    enabled_kinds,
    explored,
    followed,
    make_record,
    record_text,
    smallest,
)
from tools.network_rules.followed import PROTOCOLS, rules_of

QUICK = [name for name in NETWORKS if not name.startswith("dog-routes")]


def test_the_record_is_what_is_explored() -> None:
    again = make_record(explored(QUICK), ())
    for clause, each in applied_rules().items():
        quick = tuple(rule for rule in each.explored if rule.split(".")[0] in QUICK)
        assert again.get(clause, AppliedRules()).explored == quick, f"{clause}: {COMMAND}"
    assert again.keys() <= applied_rules().keys(), COMMAND


def test_the_record_has_every_network_and_every_rule_of_links() -> None:
    named = [rule for each in applied_rules().values() for rule in each.explored]
    assert {rule.rpartition(".")[0] for rule in named} == set(NETWORKS), COMMAND
    taken = {rule for each in applied_rules().values() for rule in each.followed}
    for protocol in PROTOCOLS:
        # Whatever a link does, some run of routers did.
        assert {f"{protocol}.{rule.kind}" for rule in rules_of(protocol).rules} <= taken


def test_what_a_few_runs_take_is_of_the_record() -> None:
    few = make_record((), followed(["gossipsub-1.0"], range(1)))
    assert few and all(each.followed for each in few.values())
    assert all({*each.followed} <= {*applied_rules()[clause].followed} for clause, each in few.items())


def test_a_kind_of_two_clauses_is_refused() -> None:
    network = smallest("mesh-link")
    first, *others = network.rules
    assert any(rule.kind == first.kind for rule in others)
    with pytest.raises(AssertionError, match=f"{first.kind} is of .* and of other"):
        enabled_kinds(evolve(network, rules=(first, *(evolve(r, clause="other") for r in others))))


def test_a_rule_that_nothing_enables_is_no_coverage() -> None:
    network = smallest("mesh-link-backoff")
    stuck = [
        evolve(rule, guard=z3.BoolVal(False)) if rule.kind == "accept" else rule for rule in network.rules
    ]
    found, never = enabled_kinds(evolve(network, rules=tuple(stuck)))
    assert never == {"accept"} and "accept" not in found
    assert enabled_kinds(network) == ({rule.kind: rule.clause for rule in network.rules}, set())


def test_rules_name_clauses_that_there_are() -> None:
    assert applied_rules().keys() <= load().keys()


def test_the_record_reads_as_it_was_written() -> None:
    import tomllib

    found = {
        "gs1.0/graft.accept": AppliedRules(("mesh-link.accept",), ()),
        "dog/reset.none": AppliedRules((), ("a.b",)),
    }
    read = tomllib.loads(record_text(found))
    assert read["gs1.0/graft.accept"] == {"explored": ["mesh-link.accept"]}
    assert read["dog/reset.none"] == {"followed": ["a.b"]}


def test_coverage_shows_it_apart() -> None:
    known = {each.clause.id: each for each in coverage()}
    accept = known["gs1.0/graft.accept"]
    assert "mesh-link.accept" in accept.networks.explored
    assert "gossipsub-1.0.accept" in accept.networks.followed
    shown = [each for each in known.values() if each.networks.all]
    assert 10 < len(shown) < len(known) / 4
    # It makes no clause a held one.
    assert all(
        each.held == (each.clause.status in ("ruled", "by-construction") and bool(each.claims))
        for each in shown
    )
