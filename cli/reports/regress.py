"""The report of `quidnunc regress`, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from quidnunc.impl.wire.schemas import CrossDecoding
from quidnunc.output import count, table
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.notation.parameters import parameters_text
from quidnunc.properties.regress.as_built import routers_as_built
from quidnunc.properties.regress.cases import CaseFolderOutcome
from quidnunc.properties.regress.compare import BehaviourComparison
from quidnunc.properties.regress.diff_clauses import ClauseChanges, not_read_lines
from quidnunc.properties.regress.expect import DeclarationComparison, trace_text
from quidnunc.properties.regress.mixed import MixedNetworks
from quidnunc.properties.regress.outcomes import RouterOutcome, SuiteOutcome, against_refinement
from quidnunc.properties.regress.search import STRICTER, BehaviourChange

PROOFS = "the proofs of `quidnunc prove`, which are of the specification as it is in the kit"


MAX_LINES = 30
"""Cases, or changes that were not compared, which are listed in the text."""
NAMED_CASES = 3
"""Cases of the suite that are named of each change."""


@frozen
class RegressReport:
    """The results of one comparison."""

    found: BehaviourComparison
    outcomes: tuple[SuiteOutcome, ...]
    committed: CaseFolderOutcome | None
    clauses: ClauseChanges
    wire: tuple[CrossDecoding, ...]
    newly: tuple[RouterOutcome, ...]
    networks: MixedNetworks | None
    compared: DeclarationComparison
    with_file: bool
    again: str
    left_out: tuple[str, ...] = ()
    """Parts of the report for which there was no time."""

    @property
    def claims(self) -> tuple[str, ...]:
        """Claims of NEW that a router which behaves as OLD fails: those on the clauses of what is forbidden
        or demanded now; those that came with a protocol of one's own first."""
        new = self.found.new
        strict = [s.change.clause for s in self.found.separations if s.verdict in STRICTER]
        own = [c for clause in strict for c in new.claims if clause in c.clauses]
        ours = [claim_on(clause, new.protocol) for clause in strict]
        return tuple(dict.fromkeys(c.id for c in (*own, *ours) if c))

    @property
    def inconclusive(self) -> tuple[str, ...]:
        """Where what was seen is declared: the changes that were at work in nothing that was tried."""
        if not self.compared.agrees:
            return ()
        return tuple(u.change.says for u in self.found.unseparated if u.never_at_work)

    @property
    def exit_status(self) -> int:
        early = self.found.early
        if early is not None and early.signal:
            return 128 + early.signal
        if not self.compared.agrees:
            return 1
        return 3 if self.inconclusive or early is not None else 0

    @property
    def title(self) -> str:
        return f"what changes in behaviour from {self.found.old.name} to {self.found.new.name}"


def not_checked(report: RegressReport) -> str:
    """What the report says nothing of."""
    left = ["behaviour that no walk or case reached", "networks larger than those named here", PROOFS]
    if report.committed is None and "committed cases" not in report.left_out:
        left.append("committed cases: no folder of them is here (--cases FOLDER)")
    elif report.committed is not None and not report.committed.replayed:
        left.append("committed cases: none was replayed")
    left += [f"{each}: {report.found.early.why}" for each in report.left_out if report.found.early]
    if not routers_as_built(report.found.old.protocol):
        left.append("routers as built: no file of one is here that fits")
    return f"Not checked: {'; '.join(left)}."


def report_text(report: RegressReport) -> str:
    """The result: the first line says what was asked, the last one reproduces it."""
    found = report.found
    changes = count(len(found.changes), "change")
    lines = [f"{report.title}: {changes}, {count(len(found.separations), 'observable difference')}", ""]
    rows = [
        (s.verdict, s.change.says, s.clause or "-", len(s.found.trace[1]), _act(s)) for s in found.separations
    ]
    if rows:
        lines.append(table(("direction", "change", "clause", "events", "act"), rows))
    for each in found.separations:
        lines += ["", f"{each.verdict}: {each.change.says}{made_alone(each)}"]
        lines += [f"    {line}".rstrip() for line in trace_lines(each)]
    for line in unseparated_lines(report):
        lines += ["", line]
    for title, said in other_results(report):
        lines += ["", title, *(f"  {line}" for line in said)]
    lines += ["", not_checked(report), end_of(report), f"again: {report.again}"]
    return "\n".join(lines)


def as_markdown(report: RegressReport) -> str:
    """A summary for a pull request."""
    found = report.found
    lines = [f"### {report.title[0].upper()}{report.title[1:]}", ""]
    if found.separations:
        lines += ["| direction | change | clause | events |", "|---|---|---|---|"]
        lines += [
            f"| {s.verdict} | `{s.change.says}` | `{s.clause or '-'}` | {len(s.found.trace[1])} |"
            for s in found.separations
        ]
    for each in found.separations:
        lines += ["", f"<details><summary>{each.verdict}: {each.change.says}{made_alone(each)}</summary>", ""]
        lines += ["```", *trace_lines(each), "```", "", "</details>"]
    for line in unseparated_lines(report):
        lines += ["", line]
    for title, rows in other_results(report):
        lines += ["", f"**{title}**", "", *(f"- {row}" for row in rows)]
    lines += ["", not_checked(report), "", f"{end_of(report)}", "", f"`{report.again}`"]
    return "\n".join(lines)


def _act(found: BehaviourChange) -> str:
    return found.found.parting.act


def made_alone(found: BehaviourChange) -> str:
    if not found.alone:
        return ""
    return ", made or taken back alone (the two part before by other changes)"


def trace_lines(found: BehaviourChange) -> list[str]:
    parameters = parameters_text(found.found.trace[0])
    return [*([f"parameters: {parameters}", ""] if parameters else []), *trace_text(found).splitlines()]


def unseparated_lines(report: RegressReport) -> Sequence[str]:
    found = report.found
    if not found.changes:
        return ["The two are the same: no rule, reading or parameter differs, so nothing was searched."]
    lines = [f"{u.change.says}: {f'{u.reason} Tried: ' if u.reason else ''}{u}" for u in found.unseparated]
    return [*lines, *not_read_lines(found.old, found.new)] if lines else []


def other_results(report: RegressReport) -> list[tuple[str, list[str]]]:
    """Titles and lines of what is not a separating trace."""
    clauses, old, new = report.clauses, report.found.old.name, report.found.new.name
    parts = [
        (_not_compared_title(report), _not_compared(report)),
        (
            f"described by {old}, no longer by {new} (newly undescribed):",
            [f"{c.id} ({c.ground}): {' '.join(c.text.split())}" for c in clauses.removed],
        ),
        (
            "clauses whose level changes:",
            [f"{was.id} {was.ground} -> {now.id} {now.ground}" for was, now in clauses.levels],
        ),
        (
            f"cases of {old}'s suite that a router conforming to {old} fails under {new}:",
            _suite_cases(report),
        ),
        ("committed cases, replayed under both:", _committed(report)),
        (f"claims of {new} that a router behaving as {old} fails:", list(report.claims)),
        (
            "on the wire, how each side reads the other's bytes:",
            [
                f"{e.writer} -> {e.reader}: {e.what}: {e.bytes.hex(' ')}: {e.result}"
                for e in report.wire
                if not e.same
            ],
        ),
        (
            f"routers as built to {old}, with their known departures, that newly fail {new}:",
            [f"{n.router}: {n.change} (departs with {n.departs} of {n.dice} draws)" for n in report.newly],
        ),
        (f"does {new} refine {old} (allow nothing that {old} forbids):", _refines(report)),
        ("mixed networks of four routers:", _networks(report)),
    ]
    return [(title, lines) for title, lines in parts if lines]


def _committed(report: RegressReport) -> list[str]:
    """Nothing where there are no cases of the two."""
    found, old, new = report.committed, report.found.old.name, report.found.new.name
    if found is None or not found.replayed + len(found.left_out):
        return []
    lines = [f"{found.replayed} in {found.folder}; {len(found.changed) or 'none'} have another outcome"]
    if not found.replayed:
        lines = [f"none of those in {found.folder} was replayed"]
    lines += [f"{c.path} ({c.router}): {old}: {c.old}; {new}: {c.new}" for c in found.changed[:MAX_LINES]]
    if len(found.changed) > MAX_LINES:
        lines.append(f"and {len(found.changed) - MAX_LINES} more, --json lists all")
    why: dict[str, int] = {}
    for each in found.left_out:
        why[each.reason] = why.get(each.reason, 0) + 1
    lines += [f"left out, {count}: {reason}" for reason, count in [*why.items()][:MAX_LINES]]
    return lines


def _not_compared_title(report: RegressReport) -> str:
    early = report.found.early
    return f"not compared to the end, because {early.why if early else ''}:"


def _not_compared(report: RegressReport) -> list[str]:
    names = [each.says for each in report.found.not_compared]
    more = len(names) - MAX_LINES
    return [*names[:MAX_LINES], *([f"and {more} more, --json lists all"] if more > 0 else [])]


def _suite_cases(report: RegressReport) -> list[str]:
    """The cases by the change that makes them fail: how many, and the first ones."""
    says = {each.key: each.says for each in report.found.changes}
    groups: dict[str, list[str]] = {}
    for each in report.outcomes:
        groups.setdefault(each.change, []).append(each.rule)
    lines = []
    for change, rules in groups.items():
        named = ", ".join(rules[:NAMED_CASES])
        rest = len(rules) - NAMED_CASES
        more = f" and {rest} more, --json lists all" if rest > 0 else ""
        why = says.get(change, "no change alone, or not asked which")
        lines.append(f"{why}: {count(len(rules), 'case')}: {named}{more}")
    return lines


def _refines(report: RegressReport) -> list[str]:
    if not report.found.changes:
        return []
    against = against_refinement(report.found.separations)
    if against is None:
        return ["not refuted: no trace was found on which it does"]
    return [f"no: {against}"]


def _networks(report: RegressReport) -> list[str]:
    networks, old, new = report.networks, report.found.old.name, report.found.new.name
    if networks is None:
        return []
    sorts = ((f"all {old}", networks.old), (f"all {new}", networks.new), ("mixed", networks.both))
    lines = [
        f"{sort}: every router got the message in {d.delivered} of {d.runs} runs"
        + (f"; not in {d.lost}" if d.lost else "")
        for sort, d in sorts
    ]
    if not networks.keeps_delivering:
        lines.append("a mixture loses messages that neither of the two loses")
    return lines


def end_of(report: RegressReport) -> str:
    """The exit status, and why."""
    compared = report.compared
    gone = "".join(f"; declared, but does not occur: {d.cause} {d.verdict}" for d in compared.gone)
    gone += "".join(f"; declared differently: {each}" for each in compared.otherwise)
    undeclared = len(compared.undeclared)
    early, unknown = report.found.early, count(len(report.found.not_compared), "change")
    if early is not None:
        seen = "every change that was seen is declared"
        if not compared.agrees:
            seen = f"{undeclared} undeclared{gone}"
        why = f"{early.why}, and {unknown} not compared to the end"
        return f"exit {report.exit_status}: {why}; until then: {seen}"
    if report.inconclusive:
        unseen = f"no run came to where these make a difference: {', '.join(report.inconclusive)}"
        seen = "every change that was seen is declared; " if compared.met else ""
        return f"exit 3: inconclusive: {seen}{unseen}"
    if compared.agrees:
        told = (
            "every change that was seen is declared" if compared.met else "no change in behaviour was found"
        )
        return f"exit 0: {told}"
    hint = "" if report.with_file else " (--expect FILE --update-expect declares them)"
    return f"exit 1: {undeclared} undeclared{hint}{gone}"
