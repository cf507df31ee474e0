"""What is filed of a suite whose time was up before all of it was explained.

Nothing that departs is lost. A case that a known explanation accounts for belongs to its row; of every other
one there is a row that says that it was not explained.
"""

from __future__ import annotations

from quidnunc.impl.seam import AdapterError
from quidnunc.properties.suite.explainers import Question
from quidnunc.properties.suite.explanations import DepartingCase, SuiteExplanations, SuiteFinding
from quidnunc.properties.suite.rows import SuiteRows
from quidnunc.properties.suite.time_limit import TimeIsUpError, TimeLimit


def file_unexplained(rows: SuiteRows, limit: TimeLimit) -> None:
    """File all that was not explained, as far as it can be told apart in the time that is left for that."""
    hunt, known = rows.hunt, rows.explanations
    hunt.out_of_time = limit.filing_is_over
    hunt.quirks[:] = []
    if known is not None:
        _open_again(rows, known)
    # Without `known` the additions are not told apart: nothing is off in what was played.
    without = hunt.without if known is not None else ()
    # Of those that depart alike the shortest has the row.
    for each in sorted(rows.open_cases.values(), key=lambda each: len(each.run.moments)):
        left = _left_of(each, known)
        if isinstance(left, Question):
            rows.leave_for_lack_of_time(left, each, without)
        elif left is not None:
            rows.add(left, each)
        else:
            rows.look_into(each)
    if known is not None:
        _file_behind(rows, known)


def _open_again(rows: SuiteRows, known: SuiteExplanations) -> None:
    """The cases whose explanation was withdrawn and that were not asked again."""
    for each in known.departing:
        if any(not told.stands(known.withdrawn) for told in rows.filed.get(each.name, ())):
            rows.open_cases.setdefault(each.name, each)


def _left_of(each: DepartingCase, known: SuiteExplanations | None) -> SuiteFinding | Question | None:
    """What is told of a case, or asked; None where others account for it."""
    try:
        return known.left_of(each) if known is not None else each.question(each.run)
    except (TimeIsUpError, AdapterError):
        # As it was played.
        return each.question(each.run)


def _file_behind(rows: SuiteRows, known: SuiteExplanations) -> None:
    """File what departs behind a deviation, and say in how many cases nobody looked there."""
    unseen = 0
    for each in known.departing:
        if not any(told.finding.quirks for told in rows.filed.get(each.name, ())):
            continue
        try:
            asked = known.left_behind(each)
        except (TimeIsUpError, AdapterError):
            unseen += 1
            continue
        if asked is not None:
            rows.leave_for_lack_of_time(asked, each, rows.hunt.without)
    if unseen:
        rows.campaign.left_out.append(f"what comes behind the first departure in {unseen} of the cases")
