"""What `quidnunc recall` prints and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.output import table
from quidnunc.properties.recall.play import RecallResult

UNPLAYED = ("not driven", "skipped")


def summary_of(results: Sequence[RecallResult]) -> dict[str, int]:
    """How many rows there are, were played, and came to what."""
    return {
        "listed": len(results),
        "driven": sum(each.state not in UNPLAYED for each in results),
        "found": sum(each.found_before for each in results),
        "gone": sum(each.gone_after for each in results),
        "right_clause_first": sum(each.gone_after and each.right_clause for each in results),
        "skipped": sum(each.state == "skipped" for each in results),
    }


def as_text(results: Sequence[RecallResult]) -> str:
    """The summary, the rows that were played, and the reason of each other one."""
    lines = [_summary(results), ""]
    if played := [each for each in results if each.state not in UNPLAYED]:
        lines += [
            table(("bug", "affected", "fixed", "result", "right clause", "filed under"), _cells(played))
        ]
    lines += _reasons(results)
    return "\n".join(lines)


def as_markdown(results: Sequence[RecallResult], *, date: str, kit: str) -> str:
    """The page docs/recall.md."""
    lines = [
        "# Known bugs of released routers",
        "",
        "Maintainers of gossip routers fixed these bugs. `quidnunc recall` plays those that have a case,",
        "on the last release with the bug and on the first one without it, or on the nearest that can be",
        f"installed. This page is what `quidnunc recall -o FOLDER` wrote on {date} (quidnunc {kit}).",
        "",
        f"**{_summary(results)}**",
        "",
        "The cases were written by hand from release notes and fixes. They show what the kit sees when it is",
        "given the events, not what a search finds on its own.",
        "",
        "## Played",
        "",
        "| bug | what it is | affected | fixed | result | clause |",
        "|---|---|---|---|---|---|",
    ]
    played = [each for each in results if each.state not in UNPLAYED]
    for each in played:
        affected, fixed = each.bug.releases
        lines.append(_line(each.bug.id, each.bug.says, affected, fixed, each.state, _clause(each)))
    lines += ["", "## What is missing", ""]
    lines += ["| bug | what it is | affected | fixed | why it is not found | what it needs |"]
    lines += ["|---|---|---|---|---|---|"]
    for each in results:
        bug = each.bug
        if not (each.gone_after and each.right_clause):
            affected = f"{bug.router} {bug.affected}"
            lines.append(_line(bug.id, bug.says, affected, bug.fixed, _why(each), bug.missing))
    return "\n".join(lines) + "\n"


def _summary(results: Sequence[RecallResult]) -> str:
    counts = summary_of(results)
    return (
        f"of {counts['listed']} known bugs: {counts['driven']} played, {counts['found']} found, "
        f"{counts['gone']} gone in the fixed release, "
        f"{counts['right_clause_first']} under the right clause first"
        + (f"; {counts['skipped']} skipped" if counts["skipped"] else "")
    )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(played: Sequence[RecallResult]) -> list[tuple[str, ...]]:
    return [
        (
            each.bug.id,
            each.bug.releases[0],
            each.bug.fixed,
            each.state,
            "yes" if each.right_clause else "no" if each.found_before else "",
            each.before.clause if each.before else "",
        )
        for each in played
    ]


def _reasons(results: Sequence[RecallResult]) -> Iterator[str]:
    rest = [each for each in results if not (each.gone_after and each.right_clause)]
    if rest:
        yield "\nnot found, or not under the right clause:"
    for each in rest:
        yield f"  {each.bug.id} ({each.state}): {_why(each)}"


def _clause(result: RecallResult) -> str:
    if result.before is None or not result.before.departs:
        return ""
    wrong = "" if result.right_clause else " (filed under the wrong clause)"
    return f"{result.before.clause}{wrong}"


def _why(result: RecallResult) -> str:
    if result.gone_after:
        right = ", ".join(result.bug.right)
        return f"found, but filed under {result.before.clause if result.before else ''}, not {right}"
    return result.reason
