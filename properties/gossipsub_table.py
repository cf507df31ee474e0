"""The table of the statements about gossipsub, as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from quidnunc.properties.claim_tables_held import HELD
from quidnunc.properties.gossipsub_record import Decision, Ran
from quidnunc.properties.gossipsub_statement import COLUMNS, Revision, Statement
from quidnunc.properties.gossipsub_statement_list import BY_ID, STATEMENTS

TABLE = Path(__file__).parents[1] / "docs" / "results" / "gossipsub-claims.md"

HEAD = """# What the documents about gossipsub say or rely on, decided

A hundred and twenty statements, some read in two ways, each decided for each revision that it is about, by
the engine that can. This page is written by

    python -m quidnunc.properties.gossipsub_statements

which judges the recorded runs of networks again; with `--search` it searches small networks anew, and with
`--routers 300` it checks our router anew.

*Refuted n*: a run of n acts in a small network of model routers breaks it; with = where no shorter one does
in its network, otherwise it is the shortest that was found. *Not refuted*: by so many runs that Hypothesis
drew, nor by any run of up to so many acts in the named network (*any*, where all its states were gone
through). *Ours*: our router, beside the model, in so many runs, and how often the claims applied, that of
the claim that applied least. Neither is a proof. Whether a statement that is not refuted could have been is
shown by planted edits of the protocol that the same search refutes
(`tests/properties/test_gossipsub_statements.py`), and for the claims of one router by the mutants of
`quidnunc routers`. *Never put to the test*: no drawn run had what the statement is about. An empty field:
the statement is not about that revision.

Networks: a pair; lines, rings and stars of three and four; cliques. Routers are those of the model. What
one event makes a router send to one peer leaves at once and in one RPC; links are first in, first out, and
how long an RPC is on its way is free; all nodes have one clock, and their heartbeats at different tenths of
its seconds. Every freedom that a text leaves (whom to graft, to cut, to gossip to; whether to say
IDONTWANT) is a choice, and behind ` | ` stand those that are not the first ones. A connection breaks for
both ends at once. Meshes are of one or two members, backoffs of three seconds.

{figures}

Not modelled: queues that drop, frames, RPCs to one peer that overtake each other, control that waits to be
piggybacked, clocks that drift.
"""


def figures(decisions: Iterable[Decision], runs: Mapping[Revision, Ran]) -> str:
    """When and how much was run, as the records have it."""
    decisions = [*decisions]
    # What is not refuted was looked at in every one of its places, as often in each.
    kept = [(BY_ID[each.statement], each) for each in decisions if not each.events]
    plain = {each.runs // len(of.places) for of, each in kept if of.places and not of.rounds}
    rounds = {each.runs // len(of.places) for of, each in kept if of.places and of.rounds}
    drawn = f"{_numbers(plain)} drawn runs for each place"
    drawn += f" ({_numbers(rounds)} where rounds are played)" if rounds else ""
    states = max((each.states for each in decisions), default=0)
    often: dict[int, list[str]] = {}
    for revision, ran in runs.items():
        often.setdefault(ran.runs, []).append(COLUMNS[revision])
    usual = max(often, key=lambda number: len(often[number]), default=0)
    others = [f"{number} of {', '.join(names)}" for number, names in often.items() if number != usual]
    routers = "; ".join([f"{usual} runs of each revision", *others])
    searched, run = _days(each.day for each in decisions), _days(ran.day for ran in runs.values())
    drawn += f", and up to {states} states for a statement in a revision"
    return textwrap.fill(
        f"Figures: networks searched {searched}, {drawn}; our router run {run}, {routers}.", width=110
    )


def _numbers(found: Iterable[int]) -> str:
    return " or ".join(map(str, sorted(found, reverse=True))) or "no"


def _days(found: Iterable[str]) -> str:
    days = sorted({*filter(None, found)})
    return f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}" if days else "on no day"


def table(decisions: Iterable[Decision], runs: Mapping[Revision, Ran]) -> str:
    """The table, what is false, what is assumed and the runs that refute."""
    decisions = [*decisions]
    found = {(each.statement, each.revision): each for each in decisions}
    columns = [*COLUMNS]
    head = HEAD.format(figures=figures(decisions, runs))
    lines = [head, f"| | statement | decided by | {' | '.join(COLUMNS.values())} |"]
    lines.append("|---" * (len(columns) + 3) + "|")
    for each in STATEMENTS:
        cells = [_field(each, name, found.get((each.id, name)), runs) for name in columns]
        lines.append(f"| {each.id} | {each.says} | {_decided_by(each)} | {' | '.join(cells)} |")
    lines += ["", "## What is false", ""]
    for name in columns:
        refuted = [each.id for each in STATEMENTS if (each.id, name) in found and found[each.id, name].events]
        lines.append(f"- {COLUMNS[name]}: {', '.join(refuted) or 'nothing was refuted'}")
    lines += ["", "## What is assumed, and how it is read", ""]
    for each in STATEMENTS:
        notes = [each.assumes and f"*Assumed:* {each.assumes}", each.reading and f"*Read:* {each.reading}"]
        if any(notes):
            lines.append(f"- **{each.id}** {' '.join(filter(None, notes))}")
    lines += ["", "## The runs that refute", ""]
    for each in STATEMENTS:
        shown = _runs([found[each.id, name] for name in columns if (each.id, name) in found])
        if shown:
            lines += [f"**{each.id}** {each.says}", "", *shown, ""]
    return "\n".join(lines).rstrip() + "\n"


def _decided_by(statement: Statement) -> str:
    words = ["small network"] if statement.look is not None else []
    of_router = [f"`{c}`" for c in statement.claims if c not in HELD]
    words += [f"one router: {', '.join(of_router)}"] if of_router else []
    words += [f"{each.by}: `{each.id}`" for c in statement.claims if (each := HELD.get(c)) is not None]
    return "; ".join([*words, *([statement.needs] if statement.needs else [])])


def _field(
    statement: Statement, revision: Revision, decision: Decision | None, runs: Mapping[Revision, Ran]
) -> str:
    if revision not in statement.revisions:
        return ""
    said = [cell(decision)] if decision is not None else []
    said += filter(None, [_of_router(statement, runs.get(revision))])
    if not said:
        held = any(c in HELD for c in statement.claims)
        return "held by a test" if held else "needs that engine" if statement.needs else "not asked"
    return "; ".join(said)


def cell(decision: Decision) -> str:
    """What small networks came to, in a few words."""
    if decision.events:
        return f"**refuted** {'=' if decision.shortest else ''}{len(decision.events)}"
    if not decision.applied:
        return f"never put to the test: {decision.runs} runs"
    every = "any run" if decision.complete else f"any run of {decision.depth} acts"
    return f"not refuted: {decision.runs} runs; {every}, {decision.place}"


def _of_router(statement: Statement, ran: Ran | None) -> str:
    """How often our router was asked for the claims that there are in its revision."""
    if ran is None:
        return ""
    counts = {claim: ran.applied[claim] for claim in statement.claims if claim in ran.applied}
    if not counts:
        return ""
    broken = [claim for claim in counts if claim in ran.refuted]
    if broken:
        return f"**ours refutes** {', '.join(broken)}"
    least = min(counts.values())
    return f"ours: {ran.runs} runs, {least} times" if least else f"ours: {ran.runs} runs, never applied"


def _runs(decisions: Sequence[Decision]) -> list[str]:
    """Each different run once, with the revisions that have it."""
    revisions_of: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for each in decisions:
        if each.events:
            key = (each.events, each.place, each.why)
            revisions_of.setdefault(key, []).append(COLUMNS[each.revision])
    return [
        f"- {', '.join(names)} ({place}): {', '.join(f'`{act}`' for act in events)}: {why}."
        for (events, place, why), names in revisions_of.items()
    ]
