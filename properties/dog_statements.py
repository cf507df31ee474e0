"""Decide the statements of the documents about Flood, DOG and CAT for each revision, and write the table.

    python -m quidnunc.properties.dog_statements             judge the recorded runs again, write the table
    python -m quidnunc.properties.dog_statements --search    search anew, record, write the table
    python -m quidnunc.properties.dog_statements --only P-12 --search
    python -m quidnunc.properties.dog_statements --cases DIR   a case of each run that refutes

A statement is refuted by a run, the shortest that was found; or not refuted in so many drawn runs, and in all
runs of up to so many acts. What was found is recorded in `properties/statements/dog.toml`, and the table is
`docs/results/dog-statements.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from attrs import asdict, evolve, frozen

from quidnunc.properties.dog_hints import FOUND_BY_HAND, HINTS
from quidnunc.properties.dog_places import Place, Revision, revisions
from quidnunc.properties.dog_statement_list import CLAUSES, STATEMENTS, Statement
from quidnunc.properties.mempool_network_acts import acts_of
from quidnunc.properties.mempool_search import (
    Broken,
    Found,
    Memory,
    Move,
    breadth_first,
    judged,
    minimised,
    walks,
)
from quidnunc.properties.network_case import NetworkCase, render_network
from quidnunc.properties.network_replay import denied, new_case

RECORDED = Path(__file__).parent / "statements" / "dog.toml"
TABLE = Path(__file__).parents[1] / "docs" / "results" / "dog-statements.md"
ADDRESS = {statement.id: statement for statement in STATEMENTS}

STATES, RUNS, LENGTH = 1500, 60, 40
STATES_OF_ROUNDS, RUNS_OF_ROUNDS, LENGTH_OF_ROUNDS = 200, 12, 18


@frozen
class Decision:
    """What was found about one statement in one revision."""

    statement: str
    revision: str
    place: Place
    events: str = ""
    """The run that refutes it; empty where none was found."""
    why: str = ""
    runs: int = 0
    states: int = 0
    depth: int = 0
    """Up to so many acts every run was looked at, in the place that is named first."""
    complete: bool = False
    applied: bool = True
    """It was put to the test: some drawn run had its occasion."""
    shortest: bool = False
    """No run of fewer acts refutes it in its place."""

    @property
    def length(self) -> int:
        return len(acts_of(self.events))


# -- deciding -----------------------------------------------------------------------------------------------


def decide(statement: Statement, revision: Revision) -> Decision | None:
    """Search for a run that refutes the statement; None where it is not about the revision, or no engine of
    ours can decide it."""
    if statement.look is None or revision.family not in statement.families:
        return None
    found = [*_searched(statement, revision)]
    refuted = [each for each in found if each.events]
    if refuted:
        return min(refuted, key=lambda each: (each.length, not each.shortest))
    # Of the places the one that was gone through to the greatest depth is named, and all runs are counted.
    best = max(found, key=lambda each: (each.complete, each.depth))
    return evolve(
        best,
        runs=sum(each.runs for each in found),
        states=sum(each.states for each in found),
        applied=had_occasion(statement, revision),
    )


def had_occasion(statement: Statement, revision: Revision) -> bool:
    """Whether a drawn run in some place has what the statement is about."""
    if statement.occasion is None:
        return True
    occasion = statement.occasion

    def look(memory: Memory, move: Move) -> Memory:
        return Broken("here") if occasion(move) else None

    worlds = [place.world(revision.rules) for place in statement.places]
    return any(walks(world, look, runs=RUNS, length=LENGTH).acts is not None for world in worlds)


def _searched(statement: Statement, revision: Revision) -> Iterator[Decision]:
    assert statement.look is not None
    few = statement.rounds
    for place in statement.places:
        world = place.world(revision.rules)
        every = breadth_first(world, statement.look, STATES_OF_ROUNDS if few else STATES)
        if every.acts is not None:
            yield _decision(statement, revision, place, every, shortest=True)
            continue
        runs, length = (RUNS_OF_ROUNDS, LENGTH_OF_ROUNDS) if few else (RUNS, LENGTH)
        drawn = walks(world, statement.look, runs=runs, length=length)
        looked_at = evolve(drawn, depth=every.depth, complete=every.complete, states=every.states)
        yield _decision(statement, revision, place, looked_at)
    for name in HINTS.get(statement.id, ()):
        place, text = FOUND_BY_HAND[name]
        world = place.world(revision.rules)
        tried = judged(world, statement.look, acts_of(text), strict=False)
        if tried.acts is not None:
            acts, why = minimised(world, statement.look, tried.acts)
            yield _decision(statement, revision, place, Found(acts, why))


def _decision(
    statement: Statement, revision: Revision, place: Place, found: Found, *, shortest: bool = False
) -> Decision:
    events = "; ".join(map(str, found.acts or ()))
    return Decision(
        statement.id,
        revision.name,
        place,
        events,
        found.why,
        found.runs,
        found.states,
        found.depth,
        found.complete,
        shortest=shortest,
    )


def still_refutes(decision: Decision, revision: Revision) -> Found:
    """The recorded run, judged again. Raises ActError where it can not happen any more."""
    look = ADDRESS[decision.statement].look
    assert look is not None
    return judged(decision.place.world(revision.rules), look, acts_of(decision.events))


# -- the record ---------------------------------------------------------------------------------------------


def read_decisions(path: Path = RECORDED) -> list[Decision]:
    """What is recorded. Raises ValueError that names the file where it is none of ours."""
    try:
        recorded = tomllib.loads(path.read_text(encoding="utf-8"))["decision"]
        return [_read(each) for each in recorded]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no record of decisions: {error}; write it anew with --search") from error


def _read(each: Mapping[str, object]) -> Decision:
    place = dict(cast("Mapping[str, object]", each["place"]))
    place["origins"] = tuple(cast("list[int]", place.get("origins", [])))
    return Decision(**{**each, "place": Place(**place)})  # type: ignore[arg-type]


def written(decisions: Iterable[Decision]) -> str:
    """The record as TOML, one table for each decision; only what is not as usual."""
    lines = ["# Written by `python -m quidnunc.properties.dog_statements --search`.", ""]
    for each in decisions:
        lines.append("[[decision]]")
        usual = asdict(Decision("", "", Place("")))
        for key, value in asdict(each, recurse=False).items():
            if key == "place":
                lines.append(f"place = {{ {_inline(each.place)} }}")
            elif value != usual[key]:
                lines.append(f"{key} = {json.dumps(value)}")
        lines.append("")
    return "\n".join(lines)


def _inline(place: Place) -> str:
    usual = asdict(Place(""))
    changed = {key: value for key, value in asdict(place).items() if value != usual[key]}
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in changed.items())


# -- the table ----------------------------------------------------------------------------------------------

HEAD = """# What the documents about Flood, DOG, CAT and the peer limit say, decided

Fifty statements that the documents make or rely on, each decided for each revision that there is a model
of, by a search of small networks of model nodes with messages in flight. This page is written by

    python -m quidnunc.properties.dog_statements

which judges the recorded runs again; with `--search` it searches anew.

*Refuted n*: a run of n acts breaks it; with = where no shorter one does in its network, otherwise it is the
shortest that was found. *Not refuted*: by so many drawn runs, nor by any run of up to so many acts in the
named network (*any*, where all its states were gone through). That is no proof. Whether a statement that is
not refuted could have been is shown by planted edits of the protocol that the same search refutes
(`tests/properties/test_dog_statements.py`). *Never put to the test*: no drawn run had what the statement is
about.

In a run U(A,t1) is a user's submission of t1 at A, D(A) that A offers the next of its pool, R(B,A) that B
takes the oldest message of A, A(A)=B that the controller of A runs and asks B if it asks, X(A) that A
leaves, L(B,A) that B notices it, J that a node joins, W that time passes, F(C,D,m) that D, who need not be
honest, says m to C.

"Then rounds": for ever after, users submit (at one node, at all or nowhere), all queues are emptied, every
controller runs and asks its peers in turn, all queues are emptied; and after some rounds the network is as it
was. Where queues are one, a ResetRoute that `dog-quint` can not take keeps what is behind it for ever.

Not modelled: the Go node's routine for each peer (a node offers to all its peers in one step), races within a
node, time but for requests that expire, and transactions that leave the pool.

Networks: a pair; lines, rings and stars; the kite is a ring of three (B, C, D) with A at B. What moves at
once in the model moves in steps here: a node offers its pool later than it takes a transaction in, and
links are first in, first out. For `dog-quint` and `dog-quint-run` all links to a node are one queue, and
who leaves keeps its state, as dog.md has it; for the others a broken connection loses what is on it, and
who comes back has started anew. `cat-classic-go` is classic CAT as the Go node has it, by its code: it
announces what it finds in its pool as well.
"""


def table(decisions: Iterable[Decision]) -> str:
    """The table and the runs, as Markdown."""
    decisions = [*decisions]
    found = {(each.statement, each.revision): each for each in decisions}
    columns = [name for name in revisions() if any(each.revision == name for each in decisions)]
    lines = [HEAD, f"| | statement | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for each in STATEMENTS:
        cells = [_cell(found.get((each.id, name))) for name in columns]
        if each.needs:
            cells[0] = f"needs {each.needs}"
        says = f"{each.says} *{each.reading}*" if each.reading else each.says
        lines.append(f"| {each.id} | {says} | {' | '.join(cells)} |")
    lines += ["", "## What is false", ""]
    for name in columns:
        refuted = [each.id for each in STATEMENTS if (each.id, name) in found and found[each.id, name].events]
        lines.append(f"- `{name}`: {', '.join(refuted) or 'nothing was refuted'}")
    lines += ["", "## The runs that refute", ""]
    for each in STATEMENTS:
        runs = _runs([found[each.id, name] for name in columns if (each.id, name) in found])
        if runs:
            lines += [f"**{each.id}** {each.says}", "", *runs, ""]
    return "\n".join(lines).rstrip() + "\n"


def _cell(decision: Decision | None) -> str:
    if decision is None:
        return ""
    if decision.events:
        return f"**refuted** {'=' if decision.shortest else ''}{decision.length}"
    if not decision.applied:
        return f"never put to the test: {decision.runs} runs"
    every = "any run" if decision.complete else f"any run of {decision.depth} acts"
    return f"not refuted: {decision.runs} runs; {every}, {decision.place.graph}"


def _runs(decisions: Sequence[Decision]) -> list[str]:
    """Each different run once, with the revisions that have it."""
    revisions_of: dict[tuple[str, str, str], list[str]] = {}
    for each in decisions:
        if each.events:
            rounds = ", then rounds" if ADDRESS[each.statement].rounds else ""
            key = (each.events, each.place.name + rounds, each.why)
            revisions_of.setdefault(key, []).append(each.revision)
    return [
        f"- {', '.join(names)} ({place}): `{events}`: {why}."
        for (events, place, why), names in revisions_of.items()
    ]


def search(only: str | None, record: Path) -> list[Decision]:
    """Decide those of `only` (or all) anew, in the order of the table, and record each as it is found."""
    found = {_key(each): each for each in (read_decisions(record) if record.exists() else [])}
    record.parent.mkdir(parents=True, exist_ok=True)
    for statement in STATEMENTS:
        for revision in revisions().values():
            if only is not None and not {statement.id, revision.name} & {*only.split(",")}:
                continue
            decision = decide(statement, revision)
            if decision is not None:
                found[_key(decision)] = decision
                record.write_text(written(in_order(found.values())), encoding="utf-8")
                print(f"{statement.id:5} {revision.name:14} {_cell(decision)}", file=sys.stderr, flush=True)
    return in_order(found.values())


def case_of(decision: Decision, clause: str) -> NetworkCase:
    """The case of a run that refutes. Raises CaseError where it refutes no more."""
    statement, world = ADDRESS[decision.statement], decision.place.world(revisions()[decision.revision].rules)
    rounds = "From there the rounds repeat for ever." if statement.rounds else ""
    case = NetworkCase(
        reason=denied(statement.says),
        claim=statement.id,
        clause=clause,
        protocol=decision.revision,
        found_by=f"python -m quidnunc.properties.dog_statements --only {statement.id} --search",
        argument=" ".join(filter(None, (statement.reading, rounds))),
        parameters=world.rules.parameters,
        nodes=tuple(sorted({i for link in world.links for i in link})),
        links=world.links,
        path=f"{statement.id}.{decision.revision}.case",
    )
    return new_case(case, acts_of(decision.events))


def write_cases(decisions: Iterable[Decision], into: Path) -> int:
    """A case of each that is refuted, in the first revision that it is refuted in, or in `dog`; how many."""
    first: dict[str, Decision] = {}
    for each in decisions:
        if each.events and each.statement in CLAUSES:
            known = first.setdefault(each.statement, each)
            first[each.statement] = each if each.revision == "dog" else known
    into.mkdir(parents=True, exist_ok=True)
    for each in first.values():
        case = case_of(each, CLAUSES[each.statement])
        (into / case.path).write_text(render_network(case, strict=True), encoding="utf-8")
    return len(first)


def _key(decision: Decision) -> tuple[str, str]:
    return decision.statement, decision.revision


def in_order(decisions: Iterable[Decision]) -> list[Decision]:
    """In the order of the table."""
    statements, columns = [*ADDRESS], [*revisions()]
    return sorted(decisions, key=lambda d: (statements.index(d.statement), columns.index(d.revision)))


def write_table(path: Path | None, text: str) -> None:
    """Into `path`, or into the documents of a checkout; where there are none, to standard output."""
    if path is None and not TABLE.parents[1].is_dir():
        print(text)
        return
    path = path or TABLE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m quidnunc.properties.dog_statements", description=__doc__)
    parser.add_argument("--search", action="store_true", help="search anew and record what is found")
    parser.add_argument("--only", help="statements or revisions to search anew, with commas between them")
    parser.add_argument("--cases", type=Path, metavar="DIR", help="write cases of runs that refute")
    parser.add_argument("--table", type=Path, help="where the table is written, if not in the documents")
    parser.add_argument("--record", type=Path, default=RECORDED, help="where decisions are recorded")
    asked = parser.parse_args(arguments)
    decisions = search(asked.only, asked.record) if asked.search else read_decisions(asked.record)
    known = revisions()
    gone = [
        each for each in decisions if each.events and still_refutes(each, known[each.revision]).acts is None
    ]
    for each in gone:
        print(f"{each.statement} {each.revision}: {each.events} refutes it no more", file=sys.stderr)
    write_table(asked.table, table(decisions))
    if asked.cases is not None:
        print(f"{write_cases(decisions, asked.cases)} cases in {asked.cases}", file=sys.stderr)
    refuted = sum(bool(each.events) for each in decisions)
    print(f"{len(decisions)} decisions, {refuted} refuted, {len(gone)} of them no more")
    return 1 if gone or not decisions else 0


if __name__ == "__main__":
    sys.exit(main())
