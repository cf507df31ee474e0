"""Decide the statements about gossipsub, for each revision, and write the table.

    MODULE                          judge the recorded runs again, write the table
    MODULE --search                 search small networks anew, record, write
    MODULE --only P04,P22 --search
    MODULE --routers 300            check our router anew in each revision

MODULE is `python -m quidnunc.properties.gossipsub_statements`.

What small networks decide is refuted by a run, the shortest that was found, or not refuted in so many runs
that Hypothesis drew, nor in any run of up to so many acts. What one router decides is not refuted in so many
runs of our router beside the model. What was found is recorded in `properties/statements/gossipsub.toml`, and
the table is `docs/results/gossipsub-claims.md`.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import evolve

from quidnunc.properties.gossipsub_record import (
    COMMAND,
    RECORDED,
    RUNS_RECORDED,
    Decision,
    Ran,
    in_order,
    read_decisions,
    read_runs,
    searched,
    write_runs,
    written,
)
from quidnunc.properties.gossipsub_statement import COLUMNS, Revision, Statement
from quidnunc.properties.gossipsub_statement_list import BY_ID, STATEMENTS
from quidnunc.properties.gossipsub_table import TABLE, cell, table
from quidnunc.properties.network_case import NetworkCase, render_network
from quidnunc.properties.network_replay import denied, new_case
from quidnunc.properties.network_runs import (
    Broken,
    Found,
    Memory,
    breadth_first,
    by_hypothesis,
    judged,
    minimised,
    walks,
)
from quidnunc.properties.pubsub_network import Move
from quidnunc.properties.pubsub_network_acts import Act, act_of
from quidnunc.properties.pubsub_world import GRAPHS, Place

STATES, RUNS, LENGTH = 1500, 40, 25
STATES_OF_ROUNDS, RUNS_OF_ROUNDS = 100, 6


# -- deciding -----------------------------------------------------------------------------------------------


def decide(statement: Statement, revision: Revision, known: Sequence[Decision] = ()) -> Decision | None:
    """Search for a run that refutes the statement; None where no network decides it of that revision.

    What refutes it in other revisions (`known`) is tried as well.
    """
    if statement.look is None or revision not in statement.revisions:
        return None
    found = [*_searched(statement, revision), *_tried(statement, revision, known)]
    refuted = [each for each in found if each.events]
    if refuted:
        return min(refuted, key=lambda each: (len(each.events), not each.shortest))
    # Of the places the one that was gone through to the greatest depth is named, and all runs are counted.
    best = max(found, key=lambda each: (each.complete, each.depth))
    return evolve(
        best,
        runs=sum(each.runs for each in found),
        states=sum(each.states for each in found),
        applied=had_occasion(statement, revision),
    )


def _searched(statement: Statement, revision: Revision) -> Iterator[Decision]:
    assert statement.look is not None
    protocol, few = statement.protocol(revision), statement.rounds
    for place in statement.places:
        world = place.world(protocol)
        every = breadth_first(world, statement.look, STATES_OF_ROUNDS if few else STATES)
        if every.acts is not None:
            yield searched(statement, revision, place, every, shortest=True)
            if few:
                return
            continue
        runs = RUNS_OF_ROUNDS if few else RUNS
        drawn = by_hypothesis(world, statement.look, runs=runs, length=LENGTH)
        looked_at = evolve(drawn, depth=every.depth, complete=every.complete, states=every.states)
        yield searched(statement, revision, place, looked_at)


def _tried(statement: Statement, revision: Revision, known: Sequence[Decision]) -> Iterator[Decision]:
    assert statement.look is not None
    names = [place.name for place in statement.places]
    elsewhere = (each for each in known if each.revision != revision and each.place in names)
    others = [(place_of(each), each.events) for each in elsewhere if each.events]
    others += [(place, run) for place in statement.places for run in statement.tried]
    for place, run in others:
        world = place.world(statement.protocol(revision))
        tried = judged(world, statement.look, tuple(map(act_of, run)), strict=False)
        if tried.acts is not None:
            acts, why = minimised(world, statement.look, tried.acts)
            yield searched(statement, revision, place, Found(acts, why))


def had_occasion(statement: Statement, revision: Revision) -> bool:
    """Whether a drawn run in some place has what the statement is about."""
    if statement.occasion is None:
        return True
    occasion = statement.occasion

    def look(memory: Memory, move: Move) -> Memory:
        return Broken("here") if occasion(move) else None

    worlds = [place.world(statement.protocol(revision)) for place in statement.places]
    return any(walks(world, look, runs=RUNS, length=LENGTH).acts is not None for world in worlds)


def place_of(decision: Decision) -> Place:
    """Where it was found. Raises ValueError where its statement is looked at there no more."""
    places = {place.name: place for place in BY_ID[decision.statement].places}
    if decision.place not in places:
        raise ValueError(f"{decision.statement} is not looked at in {decision.place!r} any more: --search")
    return places[decision.place]


def still_refutes(decision: Decision) -> Found[Act]:
    """The recorded run, judged again. Raises ActError where it can not happen any more."""
    statement = BY_ID[decision.statement]
    assert statement.look is not None
    world = place_of(decision).world(statement.protocol(decision.revision))
    return judged(world, statement.look, tuple(map(act_of, decision.events)))


# -- the command --------------------------------------------------------------------------------------------


def today() -> str:
    """As the records have it."""
    return datetime.date.today().isoformat()


def search(only: str | None, record: Path) -> list[Decision]:
    """Decide those of `only` (or all) anew, in the order of the table, and record each as it is found."""
    chosen = {*only.split(",")} if only else set()
    found = {(d.statement, d.revision): d for d in (read_decisions(record) if record.exists() else [])}
    for statement in STATEMENTS:
        for revision in COLUMNS:
            if chosen and not {statement.id, revision} & chosen:
                continue
            known = [each for each in found.values() if each.statement == statement.id]
            decision = decide(statement, revision, known)
            found.pop((statement.id, revision), None)
            if decision is not None:
                decision = found[statement.id, revision] = evolve(decision, day=today())
                record.write_text(written(in_order(found.values())), encoding="utf-8")
                print(f"{statement.id:5} {revision:22} {cell(decision)}", file=sys.stderr, flush=True)
    return in_order(found.values())


def check_routers(runs: int, record: Path, only: str | None) -> None:
    """Our router beside the model in each revision, and how often each claim applied; recorded."""
    from quidnunc.properties.campaign import run_campaign
    from quidnunc.properties.verdicts import verdicts_of

    known = read_runs(record) if record.exists() else {}
    for revision in COLUMNS:
        if only and revision not in only.split(","):
            continue
        campaign = run_campaign(revision, "ours", runs=runs, workers=1)
        verdicts = verdicts_of(campaign)
        applied = {each.claim.id: each.applied for each in verdicts}
        refuted = tuple(each.claim.id for each in verdicts if each.roots)
        known[revision] = Ran(campaign.runs, campaign.steps, applied, refuted, today())
        write_runs(known, record)
        print(f"{revision:22} {campaign.runs} runs, {campaign.steps} steps", file=sys.stderr, flush=True)


def case_of(decision: Decision) -> NetworkCase:
    """The case of a run that refutes. Raises CaseError where it refutes no more, or is too long."""
    statement, place = BY_ID[decision.statement], place_of(decision)
    links = GRAPHS[place.graph]
    case = NetworkCase(
        reason=denied(statement.says),
        claim=statement.id,
        clause=statement.clause,
        protocol=decision.revision,
        found_by=f"{COMMAND} --only {statement.id} --search",
        argument=" ".join(filter(None, (statement.assumes, statement.reading))),
        parameters=place.parameters,
        nodes=tuple(sorted({i for link in links for i in link})),
        attackers=frozenset(place.attackers),
        links=links,
        before=tuple(map(act_of, place.prelude)),
        path=f"{statement.id}.{decision.revision}.case",
    )
    return new_case(case, tuple(map(act_of, decision.events)))


def write_cases(decisions: Sequence[Decision], into: Path) -> int:
    """A case of each run that refutes, in the oldest revision that it refutes; how many there are."""
    written_ones = set[tuple[str, tuple[str, ...], str]]()
    for each in decisions:
        key = (each.statement, each.events, each.place)
        if each.events and key not in written_ones:
            written_ones.add(key)
            case = case_of(each)
            (into / case.path).write_text(render_network(case, strict=True), encoding="utf-8")
    return len(written_ones)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m quidnunc.properties.gossipsub_statements")
    parser.add_argument("--search", action="store_true", help="search small networks anew and record it")
    parser.add_argument("--routers", type=int, metavar="RUNS", help="check our router so often, record it")
    parser.add_argument("--only", help="statements or revisions to search anew, with commas between them")
    parser.add_argument("--cases", type=Path, metavar="DIR", help="write a case of each run that refutes")
    parser.add_argument("--table", type=Path, help="where the table is written, if not in the documents")
    parser.add_argument("--record", type=Path, default=RECORDED, help="where decisions are recorded")
    parser.add_argument("--runs-record", type=Path, default=RUNS_RECORDED, help="where runs are recorded")
    asked = parser.parse_args(arguments)
    if asked.routers:
        check_routers(asked.routers, asked.runs_record, asked.only)
    decisions = search(asked.only, asked.record) if asked.search else read_decisions(asked.record)
    gone = [each for each in decisions if each.events and still_refutes(each).acts is None]
    for each in gone:
        print(
            f"{each.statement} {each.revision}: {'; '.join(each.events)} refutes it no more", file=sys.stderr
        )
    text = table(decisions, read_runs(asked.runs_record))
    if asked.table is None and not TABLE.parents[1].is_dir():
        print(text)
    else:
        (asked.table or TABLE).write_text(text, encoding="utf-8")
    if asked.cases is not None:
        asked.cases.mkdir(parents=True, exist_ok=True)
        print(f"{write_cases(decisions, asked.cases)} cases in {asked.cases}", file=sys.stderr)
    refuted = sum(bool(each.events) for each in decisions)
    print(f"{len(decisions)} decisions, {refuted} refuted, {len(gone)} of them no more")
    return 1 if gone or not decisions else 0


if __name__ == "__main__":
    sys.exit(main())
