"""Findings that an expectations file knows under another name of their cause.

Another seed may come to the same fault by another run, and explain it otherwise or not at all. A finding
passes for an expected one if both break the same clause with the same verdict, the expected one was not met
by its own name and its case still departs, and there is evidence that they are one: an edit that one of them
is named after accounts for the run of the other, or the finding has no explanation and departs in the same
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.outcome import CaseReplay
from quidnunc.properties.cases.router import protocol_of, replay_router
from quidnunc.properties.judge.play import Opener
from quidnunc.properties.search.machine import signature_of
from quidnunc.properties.search.rows import RootCause, is_crash
from quidnunc.properties.search.verdicts import Expectation, verdict_of_root


def told_otherwise(
    roots: Sequence[RootCause],
    expected: Sequence[Expectation],
    replayed: Mapping[str, CaseReplay],
    opener: Opener,
) -> tuple[tuple[Expectation, RootCause], ...]:
    """Each finding under a name that is not expected, with the expectation that it is the same as.

    `replayed`: of expectations that were not met, path of the case -> its replay.
    """
    known = {(each.clause, each.cause) for each in expected}
    met = {(root.clause, root.quirk) for root in roots}
    unmet = [each for each in expected if (each.clause, each.cause) not in met]
    still = [each for each in unmet if each.case in replayed and replayed[each.case].outcome == "same"]
    found = []
    for root in roots:
        if (root.clause, root.quirk) in known or is_crash(root):
            continue
        alike = (e for e in still if (e.clause, e.verdict) == (root.clause, verdict_of_root(root)))
        same = next((e for e in alike if _is_one(e, replayed[e.case], root, opener)), None)
        if same is not None:
            found.append((same, root))
    return tuple(found)


def _is_one(each: Expectation, known: CaseReplay, root: RootCause, opener: Opener) -> bool:
    again = replay_router(root.case, opener)
    if again.departures and any(
        _accounts(edit, root.case, opener) for edit in _edit_of(each.cause, root.case)
    ):
        return True
    if not _signatures(known) & _signatures(again):
        return False
    if root.kind == "unexplained":
        return True
    unexplained = each.cause.startswith("unexplained:")
    return unexplained and any(_accounts(e, known.case, opener) for e in _edit_of(root.quirk, root.case))


def _edit_of(cause: str, case: Case) -> Iterator[Edit]:
    """The edit that a cause is named after, where there is one."""
    try:
        yield edit_named(cause, protocol_named(case.protocol))
    except SpecError:
        return


def _accounts(edit: Edit, case: Case, opener: Opener) -> bool:
    """Whether the router, played the case again, does nothing that the edited protocol does not allow."""
    replay = replay_router(case, opener, edited(protocol_of(case), [edit]))
    return replay.outcome != "inconclusive" and not replay.departures


def _signatures(replay: CaseReplay) -> set[tuple[str, str, str]]:
    return {signature_of(departure) for departure in replay.departures}
