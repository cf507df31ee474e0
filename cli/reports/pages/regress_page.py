"""The page of a comparison: what changes in behaviour between two protocols, each change with a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import frozen

from quidnunc import __version__
from quidnunc.output import count
from quidnunc.properties.notation.parameters import parameters_told
from quidnunc.properties.regress.expect import trace_case
from quidnunc.properties.regress.search import BehaviourChange
from quidnunc.reports.pages.drawing import DrawnSequence, drawn
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import CitedSentence, cited_sentences
from quidnunc.reports.pages.sequence import sequence_of
from quidnunc.reports.regress import (
    RegressReport,
    end_of,
    made_alone,
    not_checked,
    other_results,
    trace_lines,
    unseparated_lines,
)

SIGNS: Mapping[str, str] = {
    "newly-forbidden": "■",
    "newly-obligatory": "▲",
    "newly-allowed": "○",
    "newly-undescribed": "?",
}
DIRECTIONS: Mapping[str, str] = {
    "newly-forbidden": "the old text allows it, the new one does not",
    "newly-obligatory": "the new text demands what the old one leaves open, or does not allow",
    "newly-allowed": "the new text allows what the old one does not, or leaves open what that demands",
    "newly-undescribed": "the old text leaves it to a router, and the new one says nothing about it",
}
LOOKS: Mapping[str, str] = {
    "newly-forbidden": "fails",
    "newly-obligatory": "deviates",
    "newly-allowed": "observed",
    "newly-undescribed": "undecided",
}
"""Direction -> the class of its colour."""


@frozen(kw_only=True)
class ToldChange:
    """One difference in behaviour, as its section tells it."""

    verdict: str
    headline: str
    clause: str
    sentences: tuple[CitedSentence, ...]
    declared: bool
    between: tuple[str, str]
    events: int
    act: str
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    diagram: DrawnSequence
    parameters: tuple[str, ...]
    trace: tuple[str, ...]


def regress_page(report: RegressReport) -> str:
    """The page of a comparison."""
    found = report.found
    undeclared = {each.key for each in report.compared.undeclared}
    changes = [_told(each, each.key not in undeclared) for each in found.separations]
    counts = Counter(each.verdict for each in changes)
    return rendered(
        "regress.html",
        title=report.title[0].upper() + report.title[1:],
        report=report,
        old=found.old.name,
        new=found.new.name,
        conclusion=end_of(report),
        undeclared=len(undeclared),
        changes=changes,
        written=count(len(found.changes), "change"),
        totals=[(each, counts[each]) for each in SIGNS if counts[each]],
        unseparated=unseparated_lines(report),
        parts=other_results(report),
        not_checked=not_checked(report).removeprefix("Not checked: "),
        signs=SIGNS,
        directions=DIRECTIONS,
        looks=LOOKS,
        count=count,
        tool_version=__version__,
    )


def _told(change: BehaviourChange, declared: bool) -> ToldChange:
    between = (change.between[0].name, change.between[1].name)
    words = {"router": f"only by {between[1]}", "model": f"only by {between[0]}"}
    return ToldChange(
        verdict=change.verdict,
        headline=f"{change.change.says}{made_alone(change)}",
        clause=change.change.clause,
        sentences=tuple(cited_sentences(change.change.clause)),
        declared=declared,
        between=between,
        events=len(change.found.trace[1]),
        act=change.found.parting.act,
        only_old=_marked("- ", change),
        only_new=_marked("+ ", change),
        diagram=drawn(sequence_of(trace_case(change)), words),
        parameters=tuple(parameters_told(change.found.trace[0])),
        trace=tuple(trace_lines(change)),
    )


def _marked(mark: str, change: BehaviourChange) -> tuple[str, ...]:
    lines: Sequence[str] = trace_lines(change)
    return tuple(line.removeprefix(mark) for line in lines if line.startswith(mark))
