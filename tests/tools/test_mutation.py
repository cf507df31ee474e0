"""The search for mutants: what it finds, what it says of it, and the table that is made of that."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import pytest
from attrs import asdict, evolve

from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.events import Connect
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import events_of
from quidnunc.properties.cases.file import load
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.mutants import claim_expected, mutant_named, protocol_of_mutant
from tools.mutation.__main__ import (
    batches,
    is_killed,
    is_settled,
    main,
    read_journal,
    search_all,
    wanted,
)
from tools.mutation.accepted import ACCEPTED
from tools.mutation.first_notice import runs_to_notice_each
from tools.mutation.mutants import is_expected, killing_case, problem_with, runs_to_notice, search_mutant
from tools.mutation.table import Kind, MutantSearch, middle, table

CHOSEN = "QUIDNUNC_MUTANTS"
"""Names with commas between, to be searched in place of those whose turn it is."""
AT_A_TIME = 5
SEEDS = 3
"""A mutant that only some seeds find in time is searched from so many."""


def whose_turn(day: date) -> list[str]:
    """Five mutants, other ones each day: all have had their turn after some weeks."""
    names = sorted(mutants_by_name())
    first = day.toordinal() * AT_A_TIME
    return [names[(first + k) % len(names)] for k in range(AT_A_TIME)]


def chosen() -> list[str]:
    asked = os.environ.get(CHOSEN, "")
    return [name.strip() for name in asked.split(",") if name.strip()] or whose_turn(date.today())


@pytest.mark.parametrize("name", chosen())
def test_the_search_kills_those_whose_turn_it_is(name: str) -> None:
    searches = (search_mutant(name, seed=seed) for seed in range(SEEDS))
    claims = []
    for killed in searches:
        claims.append(killed.claim if killed is not None else "none")
        if killed is not None and killed.expected:
            break
    else:
        again = f"{CHOSEN}={name} pytest {Path(__file__).name}"
        pytest.fail(
            f"{name} was killed by {claims}, not {claim_expected(mutant_named(name))}; again with {again}"
        )


def test_all_have_their_turn() -> None:
    first = date(2024, 1, 1).toordinal()
    days = -(-len(mutants_by_name()) // AT_A_TIME)
    seen = {name for k in range(days) for name in whose_turn(date.fromordinal(first + k))}
    assert seen == set(mutants_by_name())


def test_the_same_seed_finds_the_same() -> None:
    one, two = (search_mutant("hello-empty", seed=7) for _ in range(2))
    assert one is not None and two is not None
    assert one.found.finding.events == two.found.finding.events
    assert (one.claim, one.expected, one.protocol) == ("hello.complete", True, "gossipsub-1.2")
    assert any(isinstance(event, Connect) for event in one.found.finding.events)


def test_without_explanation_a_departure_is_noticed_no_later() -> None:
    killed = search_mutant("hello-empty", seed=7)
    noticed = runs_to_notice("hello-empty", seed=7)
    assert killed is not None and noticed is not None and noticed <= killed.runs
    assert runs_to_notice("gossip-to-mesh", seed=1, runs=0) is None


@pytest.mark.parametrize("steered", [True, False])
def test_many_at_once_are_noticed_as_each_alone(steered: bool) -> None:
    names = ["altered", "fanout-of-leavers", "forged-taken", "hello-empty", "unsubscribe-ignored"]
    each = runs_to_notice_each(names, seed=5, runs=25, steered=steered)
    assert each == {name: runs_to_notice(name, seed=5, runs=25, steered=steered) for name in names}
    assert len(set(each.values())) > 1
    with pytest.raises(ValueError, match="of one protocol, got mutants of flood, gossipsub-1.2"):
        runs_to_notice_each(["altered", "echo-to-sender"], seed=5, runs=1, steered=True)


def test_searches_that_ask_how_soon_are_made_together() -> None:
    keys = list(wanted(["altered", "echo-to-sender", "hello-empty"], 1, 1))
    sizes = [[name for name, _, _ in batch] for batch in batches(keys)]
    assert sizes == [["altered"], ["echo-to-sender"], ["hello-empty"]] + 2 * [
        ["altered", "hello-empty"],
        ["echo-to-sender"],
    ]


def test_a_killing_case_is_short_and_spares_our_router() -> None:
    case = killing_case("send-twice")
    assert problem_with(case) == ""
    long = evolve(case, blocks=case.blocks * 13)
    assert "input lines, above 12" in problem_with(long)
    assert problem_with(evolve(case, against="ours:echo-to-sender")) != ""
    assert len(events_of(case)) <= 12


def test_an_unknown_mutant_is_named() -> None:
    with pytest.raises(ValueError, match="no mutant 'nobody' of ours: there are .*altered, "):
        search_mutant("nobody", seed=0)
    with pytest.raises(SystemExit):
        main(["nobody"])


@pytest.mark.parametrize("name", sorted(mutants_by_name()))
def test_each_mutant_has_a_claim_to_be_killed_by(name: str) -> None:
    mutant = mutant_named(name)
    known = {claim.id for claim in claims_of(protocol_named(protocol_of_mutant(mutant)))}
    expected = claim_expected(mutant)
    assert expected in known or name in ACCEPTED
    assert not is_expected(mutant, "no.such-claim")


def test_accepted_claims_exist_and_have_a_reason() -> None:
    for name, accepted in ACCEPTED.items():
        known = {claim.id for claim in claims_of(protocol_named(protocol_of_mutant(mutant_named(name))))}
        assert set(accepted.claims) <= known, f"{name}: {set(accepted.claims) - known}"
        assert claim_expected(mutant_named(name)) not in accepted.claims
        assert accepted.reason.endswith(".")


# -- the journal and the table ------------------------------------------------------------------------------


def outcome(
    name: str, seed: int, runs: int | None, kind: Kind = "explained", claim: str = ""
) -> MutantSearch:
    return MutantSearch(
        mutant=name, seed=seed, kind=kind, limit=400, code="c", runs=runs, claim=claim, expected=True
    )


def test_the_journal_is_gone_on_from(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    known = [outcome("echo", seed, 2, claim="relay.not-back") for seed in range(2)]
    journal.write_text("\n".join(json.dumps(asdict(o)) for o in known) + '\n{"mutant": "ech', "utf-8")
    assert read_journal(journal, limit=400, code="c") == {o.key: o for o in known}
    assert read_journal(journal, limit=400, code="other sources") == {}
    assert read_journal(journal, limit=300, code="c") == {}
    plain = [evolve(outcome("echo", 0, 9, "plain"), limit=runs) for runs in (400, 50)]
    journal.write_text("\n".join(json.dumps(asdict(o)) for o in plain) + "\n", "utf-8")
    assert list(read_journal(journal, limit=400, code="c").values()) == plain[1:]
    journal.write_text("\n".join(json.dumps(asdict(o)) for o in known) + "\n", "utf-8")
    keys = [o.key for o in known]
    assert search_all(keys, journal, limit=400, code="c") == {o.key: o for o in known}


def test_searches_are_ordered_so_that_all_mutants_come_equally_far() -> None:
    kinds = ["explained", "steered", "plain", "steered", "plain"]
    keys = [(name, kind) for kind in kinds for name in ("a", "b")]
    found = list(wanted(["a", "b"], 2, 1))
    assert [(name, kind) for name, _, kind in found] == keys
    assert [seed for _, seed, _ in found] == [0] * 6 + [1] * 4


def test_a_mutant_is_killed_where_most_searches_say_so() -> None:
    by_another = evolve(outcome("echo", 0, 1), expected=False)
    kills = [outcome("echo", seed, 1, claim="relay.not-back") for seed in (1, 2)]
    assert is_killed("echo", [by_another, *kills])
    assert not is_killed("echo", [by_another, kills[0]])
    assert not is_killed("echo", [outcome("echo", 0, None)])
    assert not is_killed("echo", [outcome("echo", 0, 1, "steered")])


def test_a_median_beyond_the_limit_is_not_searched_on() -> None:
    keys = list(wanted(["echo"], 4, 4))
    for kind, settled in (("plain", True), ("steered", True), ("explained", False)):
        done = {o.key: o for o in (outcome("echo", seed, None, kind) for seed in range(3))}
        assert is_settled(("echo", 3, kind), keys, done) is settled
        del done["echo", 0, kind]
        assert not is_settled(("echo", 3, kind), keys, done)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([1, 2, 3], "2"),
        ([1, 2], "1.5"),
        ([1, None, 3], "3 (2/3)"),
        ([None, None, 3], ">400 (1/3)"),
        ([None], ">400 (0/1)"),
        ([], ""),
    ],
)
def test_medians(runs: list[int | None], said: str) -> None:
    assert middle(runs, 400) == said


def test_the_table() -> None:
    text = table(
        [
            outcome("echo", 0, 1, claim="relay.not-back"),
            outcome("echo", 1, 3, claim="relay.not-back"),
            outcome("echo", 0, 1, "steered"),
            outcome("echo", 0, None, "plain"),
            outcome("fill-never", 0, 2, claim="relay.once"),
            outcome("fill-never", 1, None),
            outcome("fill-never", 0, 4, "steered"),
            outcome("fill-never", 1, None, "steered"),
            outcome("fill-never", 2, None, "steered"),
        ],
        limit=400,
    )
    assert "| echo | gossipsub-1.2 | relay.not-back | relay.not-back 2 | 1 | >50 (0/1) |" in text
    fill = "| fill-never | gossipsub-1.2 | mesh.floor | relay.once (!) 1, survived 1 | >100 (1/3) |  |"
    assert fill in text
    assert "Whole searches, 2 seeds each: 3 of 4 killed" in text
    assert "With steering, 1 to 3 seeds each:\n2 of 4 departed" in text
    assert "2 of them by a claim expected or accepted" in " ".join(text.split())


def test_writing_cases_again_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send-twice", "--write", str(tmp_path)]) == 0
    first = (tmp_path / "send-twice.case").read_text("utf-8")
    assert load(tmp_path / "send-twice.case").against == "ours:send-twice"
    assert main(["send-twice", "--write", str(tmp_path)]) == 0
    assert (tmp_path / "send-twice.case").read_text("utf-8") == first
    (tmp_path / "gone.case").write_text(first, "utf-8")
    assert main(["send-twice", "--write", str(tmp_path)]) == 1
    assert "gone.case: there is no such mutant" in capsys.readouterr().out
