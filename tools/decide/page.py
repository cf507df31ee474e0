"""The table of the statements of a catalogue, as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from quidnunc.properties.claims.elsewhere import HELD
from quidnunc.properties.statements.decisions import Decision, cell, read_decisions, third_reading
from quidnunc.properties.statements.quotes import told
from quidnunc.properties.statements.statement import Catalogue, Statement
from tools.decide.engine import SEARCHES
from tools.decide.lines import lines_of
from tools.decide.plans import PLANS
from tools.decide.record import RevisionRuns

THIRD_READING = """\
*A third reading of ADR-119.* "It is unblocked by the redundancy control mechanism once it is triggered
again", word for word: every adjustment unblocks HaveTx, at a loss and after an idle interval too. It
has no column. The pseudo-code, in which redundancy above the bound alone enables route disabling,
speaks against it, and `dog-adr` follows that. The runs that refute `dog-adr`, `dog-adr-prose` or `dog`
were judged again in this reading; what none of them refutes was searched for a short time. Of what
differs from `dog-adr` the first lines tell; a statement that is not refuted here was looked at less
than in the columns."""
RESULTS = Path(__file__).parents[2] / "docs" / "results"


def figures(catalogue: Catalogue, decisions: Iterable[Decision], runs: Mapping[str, RevisionRuns]) -> str:
    """When and how much was run, as the records have it."""
    decisions = [*decisions]
    # What is not refuted was looked at in every one of its places, as often in each.
    kept = [(SEARCHES.get(each.statement), each) for each in decisions if not each.events]
    plain = {each.runs // len(of.places) for of, each in kept if of and not of.rounds}
    rounds = {each.runs // len(of.places) for of, each in kept if of and of.rounds}
    drawn = f"{_numbers(plain)} drawn runs for each place"
    drawn += f" ({_numbers(rounds)} where rounds are played)" if rounds else ""
    states = max((each.states for each in decisions), default=0)
    often: dict[int, list[str]] = {}
    for revision, ran in runs.items():
        often.setdefault(ran.runs, []).append(catalogue.columns[revision])
    usual = max(often, key=lambda number: len(often[number]), default=0)
    others = [f"{number} of {', '.join(names)}" for number, names in often.items() if number != usual]
    routers = "; ".join([f"{usual} runs of each revision", *others])
    searched, run = _days(each.day for each in decisions), _days(ran.day for ran in runs.values())
    drawn += f", and up to {states} states for a statement in a revision"
    ours = f"; our router run {run}, {routers}" if runs else ""
    return textwrap.fill(f"Figures: networks searched {searched}, {drawn}{ours}.", width=110)


def _numbers(found: Iterable[int]) -> str:
    return " or ".join(map(str, sorted(found, reverse=True))) or "no"


def _days(found: Iterable[str]) -> str:
    days = sorted({*filter(None, found)})
    return f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}" if days else "on no day"


def table(catalogue: Catalogue, decisions: Iterable[Decision], runs: Mapping[str, RevisionRuns]) -> str:
    """The table, what is false, what is assumed and the runs that refute."""
    decisions = [*decisions]
    found = {each.key: each for each in decisions}
    columns, statements = catalogue.columns, catalogue.statements
    head = PLANS[catalogue.name].head.replace("{figures}", figures(catalogue, decisions, runs))
    lines = [head, f"| | statement | what the text says | decided by | {' | '.join(columns.values())} |"]
    lines.append("|---" * (len(columns) + 4) + "|")
    third = {each.statement: each for each in _third_decisions(catalogue)}
    for each in statements:
        cells = [_field(each, name, found.get((each.id, name)), runs) for name in columns]
        if each.id in third:
            verdict = "refuted" if third[each.id].events else "not refuted"
            cells[[*columns].index("dog-adr")] += f"; third reading: {verdict}"
        name = f"`{each.id}` ({each.old_id})"
        lines.append(f"| {name} | {each.says} | {told(each)} | {_decided_by(each)} | {' | '.join(cells)} |")
    lines += ["", "## What is false", ""]
    for name, shown in columns.items():
        refuted = [f"`{s.id}`" for s in statements if (s.id, name) in found and found[s.id, name].events]
        lines.append(f"- {shown}: {', '.join(refuted) or 'nothing was refuted'}")
    lines += _third_reading(catalogue, found)
    lines += ["", "## What is assumed, and how it is read", ""]
    for each in statements:
        notes = [each.assumes and f"*Assumed:* {each.assumes}", each.reading and f"*Read:* {each.reading}"]
        if any(notes):
            lines.append(f"- `{each.id}` {' '.join(filter(None, notes))}")
    lines += ["", "## Lines of `quidnunc prove` on the same", ""]
    lines.append("A test compares each with the verdicts above; they contradict each other nowhere.")
    lines.append("")
    spoken = [(each.id, lines_of(each.id)) for each in statements]
    lines += [f"- `{name}`: {', '.join(f'`{one}`' for one in of)}" for name, of in spoken if of]
    lines += ["", "## The runs that refute", ""]
    for each in statements:
        refuting = [found[each.id, name] for name in columns if (each.id, name) in found]
        if any(decision.events for decision in refuting):
            lines += [f"`{each.id}` {each.says}", "", *_runs(catalogue, each, refuting), ""]
    return "\n".join(lines).rstrip() + "\n"


def _third_decisions(catalogue: Catalogue) -> list[Decision]:
    path = third_reading(catalogue)
    return read_decisions(path) if path.exists() else []


def _third_reading(catalogue: Catalogue, found: Mapping[tuple[str, str], Decision]) -> list[str]:
    """How the verdicts of `dog-adr` fare where every adjustment unblocks; nothing for another catalogue."""
    decisions = [each for each in _third_decisions(catalogue) if (each.statement, "dog-adr") in found]
    if not decisions:
        return []
    lines = ["", *textwrap.wrap(THIRD_READING, width=110, break_on_hyphens=False), ""]
    for each in decisions:
        of = found[each.statement, "dog-adr"]
        if bool(of.events) != bool(each.events):
            acts = f": {', '.join(f'`{act}`' for act in each.events)}: {each.why}" if each.events else ""
            lines.append(f"- `{each.statement}`: `dog-adr` {cell(of)}; this reading {cell(each)}{acts}.")
    both = [f"`{d.statement}`" for d in decisions if d.events and found[d.statement, "dog-adr"].events]
    neither = [d for d in decisions if not d.events and not found[d.statement, "dog-adr"].events]
    lines.append(f"- refuted in both, by a run of another column: {', '.join(both)}.")
    lines.append(
        "- refuted in neither; in this reading " + "; ".join(f"`{d.statement}` {cell(d)}" for d in neither)
    )
    return lines


def _decided_by(statement: Statement) -> str:
    words = ["small network"] if statement.look is not None else []
    of_router = [f"`{c}`" for c in statement.claims if c not in HELD]
    words += [f"one router: {', '.join(of_router)}"] if of_router else []
    words += [f"{each.by}: `{each.id}`" for c in statement.claims if (each := HELD.get(c)) is not None]
    return "; ".join([*words, *([statement.needs] if statement.needs else [])])


def _field(
    statement: Statement,
    revision: str,
    decision: Decision | None,
    runs: Mapping[str, RevisionRuns],
) -> str:
    if revision not in statement.revisions:
        return ""
    said = [cell(decision)] if decision is not None else []
    said += filter(None, [_of_router(statement, runs.get(revision))])
    if not said:
        held = any(c in HELD for c in statement.claims)
        return "held by a test" if held else "needs that engine" if statement.needs else "not asked"
    return "; ".join(said)


def _of_router(statement: Statement, ran: RevisionRuns | None) -> str:
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


def _runs(catalogue: Catalogue, statement: Statement, decisions: Sequence[Decision]) -> list[str]:
    """Each different run once, with the revisions that have it."""
    revisions_of: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for each in decisions:
        if each.events:
            key = (each.events, each.place, each.why)
            revisions_of.setdefault(key, []).append(catalogue.columns[each.revision])
    search = SEARCHES.get(statement.id)
    rounds = ", then rounds" if search is not None and search.rounds else ""
    return [
        f"- {', '.join(names)} ({place}{rounds}): {', '.join(f'`{act}`' for act in events)}: {why}."
        for (events, place, why), names in revisions_of.items()
    ]
