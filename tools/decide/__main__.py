"""Decide the statements of a catalogue for each revision, and write its page.

    python -m tools.decide dog                       judge the recorded runs again, write a page
    python -m tools.decide dog --search              search small networks anew, record, write
    python -m tools.decide gossipsub --only mesh.graft-is-symmetric --search
    python -m tools.decide gossipsub --routers 300   check our router anew in each revision
    python -m tools.decide dog --cases DIR           a case of each run that refutes

What was found is recorded in `properties/statements/CATALOGUE/recorded/`; the page is in `docs/results/`.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.cases.case import MODEL, Case, CaseBlock
from quidnunc.properties.cases.file import render
from quidnunc.properties.networks.acts import act_of
from quidnunc.properties.statements.catalogue import ALIASES, CATALOGUES, statement_named
from quidnunc.properties.statements.decisions import Decision, cell, read_decisions, recorded
from quidnunc.properties.statements.statement import Catalogue
from tools.decide.engine import SEARCHES, decide, still_refutes, world_of
from tools.decide.page import RESULTS, table
from tools.decide.plans import PLANS
from tools.decide.record import (
    COMMAND,
    RevisionRuns,
    in_order,
    read_runs,
    record_text,
    runs_recorded,
    write_runs,
)
from tools.network_cases import denied, new_case


def today() -> str:
    """As the records have it."""
    return datetime.date.today().isoformat()


def search(catalogue: Catalogue, only: frozenset[str], record: Path) -> list[Decision]:
    """Decide those of `only` (or all) anew, in the order of the table, and record each as it is found."""
    found = {each.key: each for each in (read_decisions(record) if record.exists() else [])}
    for statement in catalogue.statements:
        for revision in catalogue.columns:
            if only and not {statement.id, revision} & only:
                continue
            known = [each for each in found.values() if each.statement == statement.id]
            decision = decide(catalogue, statement, revision, known)
            found.pop((statement.id, revision), None)
            if decision is not None:
                decision = found[decision.key] = evolve(decision, day=today())
                text = record_text(catalogue, in_order(catalogue, found.values()))
                record.write_text(text, encoding="utf-8")
                print(f"{statement.id:44} {revision:20} {cell(decision)}", file=sys.stderr, flush=True)
    return in_order(catalogue, found.values())


def check_routers(catalogue: Catalogue, runs: int, record: Path, only: frozenset[str]) -> None:
    """Our router beside the model in each revision, and how often each claim applied; recorded."""
    from quidnunc.properties.search.campaign import run_campaign
    from quidnunc.properties.search.verdicts import verdicts_of

    known = read_runs(catalogue, record)
    for revision in catalogue.columns:
        if only and revision not in only:
            continue
        campaign = run_campaign(revision, "ours", runs=runs, workers=1)
        verdicts = verdicts_of(campaign)
        applied = {each.claim.id: each.applied for each in verdicts}
        refuted = tuple(each.claim.id for each in verdicts if each.roots)
        known[revision] = RevisionRuns(campaign.runs, campaign.steps, applied, refuted, today())
        write_runs(catalogue, known, record)
        print(f"{revision:22} {campaign.runs} runs, {campaign.steps} steps", file=sys.stderr, flush=True)


# -- cases --------------------------------------------------------------------------------------------------


def case_of(catalogue: Catalogue, decision: Decision) -> Case:
    """The case of a run that refutes. Raises CaseError if it no longer refutes."""
    statement, world = statement_named(decision.statement), world_of(catalogue, decision)
    assert statement is not None
    in_rounds = SEARCHES[statement.id].rounds and not statement.assumes
    rounds = "From there the rounds repeat for ever." if in_rounds else ""
    case = Case(
        reason=denied(statement.says),
        claim=statement.id,
        clause=statement.clauses[0],
        protocols=decision.revision,
        against=MODEL,
        found_by=f"{COMMAND} {catalogue.name} --only {statement.id} --search",
        argument=" ".join(filter(None, (statement.assumes, statement.reading, rounds))),
        parameters=world.setups[0].parameters,
        nodes=tuple(sorted({i for link in world.dials for i in link})),
        # An attacker of a mempool is a node that lies besides.
        attackers=world.attackers - {each.name for each in world.setups},
        links=world.dials,
        before=world.prelude,
        blocks=(CaseBlock(tuple(map(act_of, decision.events))),),
        path=f"{statement.id}.{decision.revision}.case",
    )
    return new_case(case)


LAST_ACTS = 2
"""How many acts of a long run are shown with what they lead to; those before them are told alone."""


def _rendered(case: Case) -> str:
    """The text of a case. Of one that is too long, only the last acts are told with what they lead to.

    Raises CaseError where that is too long as well."""
    try:
        return render(case, strict=True)
    except CaseError:
        events = [event for block in case.blocks for event in block.events]
        before, last = events[:-LAST_ACTS], events[-LAST_ACTS:]
        short = evolve(case, before=(*case.before, *before), blocks=(CaseBlock(tuple(last)),))
        return render(new_case(short), strict=True)


def write_cases(catalogue: Catalogue, decisions: Sequence[Decision], into: Path) -> int:
    """A case of each run that the catalogue shows; how many there are. What is too long is left out, what
    rests on no sentence, and what is of no protocol that has a name (one as built)."""
    into.mkdir(parents=True, exist_ok=True)
    clauses = {each.id: each.clauses for each in catalogue.statements}
    shown: dict[object, Decision] = {}
    shown_in = PLANS[catalogue.name].shown_in
    for each in decisions:
        # In one revision, where the catalogue names one; otherwise each run where it refutes first.
        key = each.statement if shown_in else (each.statement, each.events, each.place)
        filed = each.events and clauses[each.statement] and each.revision in PROTOCOLS
        if filed and (key not in shown or each.revision == shown_in):
            shown[key] = each
    count = 0
    for each in shown.values():
        case = case_of(catalogue, each)
        try:
            text = _rendered(case)
        except CaseError as error:
            print(error, file=sys.stderr)
            continue
        (into / case.path).write_text(text, encoding="utf-8")
        count += 1
    return count


# -- the command --------------------------------------------------------------------------------------------


def write_page(catalogue: Catalogue, path: Path | None, text: str) -> None:
    """Into `path`, or into the documents of a checkout; where there are none, to standard output."""
    if path is None and not RESULTS.is_dir():
        print(text)
        return
    path = path or RESULTS / catalogue.page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").split("\n")[0])
    parser.add_argument("catalogue", choices=CATALOGUES)
    parser.add_argument("--search", action="store_true", help="search small networks anew and record it")
    parser.add_argument("--routers", type=int, metavar="RUNS", help="check our router so often, record it")
    parser.add_argument("--only", help="statements or revisions to search anew, with commas between them")
    parser.add_argument("--cases", type=Path, metavar="DIR", help="write a case of each run that refutes")
    parser.add_argument("--table", type=Path, help="where the page is written, if not in the documents")
    parser.add_argument("--record", type=Path, help="where decisions are recorded")
    parser.add_argument("--runs-record", type=Path, help="where runs are recorded")
    asked = parser.parse_args(arguments)
    catalogue = CATALOGUES[asked.catalogue]
    record, runs_record = asked.record or recorded(catalogue), asked.runs_record or runs_recorded(catalogue)
    only = frozenset(ALIASES.get(name, name) for name in (asked.only or "").split(",") if name)
    if asked.routers:
        check_routers(catalogue, asked.routers, runs_record, only)
    decisions = search(catalogue, only, record) if asked.search else read_decisions(record)
    gone = [each for each in decisions if each.events and still_refutes(catalogue, each).acts is None]
    for each in gone:
        events = "; ".join(each.events)
        print(f"{each.statement} {each.revision}: {events} no longer refutes it", file=sys.stderr)
    write_page(catalogue, asked.table, table(catalogue, decisions, read_runs(catalogue, runs_record)))
    if asked.cases is not None:
        print(f"{write_cases(catalogue, decisions, asked.cases)} cases in {asked.cases}", file=sys.stderr)
    refuted = sum(bool(each.events) for each in decisions)
    print(f"{len(decisions)} decisions, {refuted} refuted, {len(gone)} of these no longer")
    return 1 if gone or not decisions else 0


if __name__ == "__main__":
    sys.exit(main())
