"""The end of a report of `quidnunc check`: how many root causes, and the three most telling ones in words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from quidnunc.output import count
from quidnunc.properties.cases.case import events_of, replay_command
from quidnunc.properties.claims.catalogue import level_of
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.explain.root_cause import CRASH
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.rows import RootCause, is_crash
from quidnunc.properties.search.verdicts import SEVERITY, verdict_of_root

RootKey = tuple[str, str]

SHOWN = 3
WIDTH = 100
UNDECIDED = "undecided"


def verdict_counts(verdicts: Sequence[str]) -> str:
    """`20 fails, 3 deviates`: the worst first."""
    counts = Counter(verdicts)
    worst = sorted(counts, key=lambda each: -SEVERITY.get(each, 0))  # type: ignore[call-overload]
    return ", ".join(f"{counts[each]} {each}" for each in worst)


def causes_text(verdicts: Sequence[str]) -> str:
    """`3 root causes (2 fails, 1 deviates)`; what is undecided is no root cause yet, and is told apart."""
    decided = [each for each in verdicts if each != UNDECIDED]
    left = len(verdicts) - len(decided)
    text = count(len(decided), "root cause") + (f" ({verdict_counts(decided)})" if decided else "")
    return f"{text} and {count(left, 'departure')} of unknown cause ({left} {UNDECIDED})" if left else text


def most_telling(roots: Mapping[RootKey, RootCause]) -> list[tuple[RootKey, RootCause]]:
    """All root causes, the most telling first: a bad verdict, a MUST, a known cause, one cause and not either
    of two, a short case."""

    def rank(item: tuple[RootKey, RootCause]) -> tuple[object, ...]:
        key, root = item
        return (
            -SEVERITY[verdict_of_root(root)],
            "MSIY".find(level_of(root.clause)),
            root.kind == "unexplained" and not is_crash(root),
            "; or " in root.case.reason,
            len(events_of(root.case)),
            key,
        )

    return sorted(roots.items(), key=rank)


def _says(root: RootCause) -> str:
    """The headline; of a crash what failed and where, which its case leaves out."""
    return f"Crashes: {root.quirk.partition(CRASH)[2]}." if is_crash(root) else root.case.reason


def summary_lines(
    campaign: Campaign, rows: Mapping[RootKey, RootCause], paths: Mapping[RootKey, str], writes: str
) -> Iterator[str]:
    """How many root causes there are in which verdicts, and the most telling in words, each with a command.

    `rows`: the root causes that count. `paths`: root -> a case file that shows it. `writes`: the command that
    writes the cases which no file has.
    """
    of = f"{campaign.protocol} against {campaign.against}"
    if not rows:
        found_none = f"no counterexample in {count(campaign.runs, 'run')}"
        if campaign.broken:
            found_none = f"the driver broke; {found_none} before"
        yield f"{of}: {found_none if campaign.steps else 'nothing was played'}"
        return
    found = most_telling(rows)
    causes = causes_text([verdict_of_root(root) for _, root in found])
    more = len(found) - SHOWN
    telling = "; the most telling:" if more > 0 else ":"
    yield f"{of}: {causes}{telling}"
    for number, (key, root) in enumerate(found[:SHOWN], 1):
        yield ""
        yield from textwrap.wrap(
            f"{number}. {_says(root)}", WIDTH, subsequent_indent="   ", break_on_hyphens=False
        )
        clause = "" if root.clause in root.case.reason else f" {root.clause},"
        yield f"   {verdict_of_root(root)},{clause} {count(len(events_of(root.case)), 'event')}"
        if (known := load().get(root.clause)) is not None and known.disputed:
            said = f"the sentence is disputed: {' '.join(known.disputed.split())}"
            yield from textwrap.wrap(said, WIDTH, initial_indent="   ", subsequent_indent="   ")
        if key in paths:
            yield f"   {replay_command(paths[key], campaign.against)}"
    yield ""
    if more > 0:
        yield f"{more} more: --verbose lists them"
    if any(key not in paths and not is_crash(root) for key, root in found):
        yield f"each as a case that can be replayed: {writes}"
    if any(key not in paths and is_crash(root) for key, root in found):
        yield "--private DIR writes the events of the crash"
