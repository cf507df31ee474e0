"""The end of a report of `quidnunc check`: how many root causes, and the three most telling ones in words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from attrs import frozen

from quidnunc.model.edits.catalogue import edit_named, rules_changed
from quidnunc.model.machine import protocol_named
from quidnunc.output import count
from quidnunc.properties.cases.case import events_of, replay_command
from quidnunc.properties.claims.catalogue import level_of
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.explain.root_cause import CRASH
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.rows import RootCause, breaks_own_sentence, is_crash
from quidnunc.properties.search.verdicts import SEVERITY, verdict_of_root

RootKey = tuple[str, str]
Key = TypeVar("Key", bound=tuple[str, ...])

SHOWN = 5
CASES_SHOWN = 20
"""Of the suite, of one row."""
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


def most_telling(roots: Mapping[Key, RootCause]) -> list[tuple[Key, RootCause]]:
    """All root causes, the most telling first: a bad verdict, a sentence that is not disputed, a MUST,
    a known cause, one cause and not either of two, a case that breaks the sentence of its cause and not one
    that the cause leads to, a short case."""

    def rank(item: tuple[Key, RootCause]) -> tuple[object, ...]:
        key, root = item
        return (
            -SEVERITY[verdict_of_root(root)],
            bool(_dispute_about(root)),
            "MSIY".find(level_of(root.clause)),
            root.kind == "unexplained" and not is_crash(root),
            "; or " in root.case.reason,
            not (is_crash(root) or breaks_own_sentence(root)),
            len(events_of(root.case)),
            key,
        )

    return sorted(roots.items(), key=rank)


def _dispute_about(root: RootCause) -> str:
    clause = load().get(root.clause)
    return clause.dispute_about(root.quirk) if clause is not None else ""


def _says(root: RootCause) -> str:
    """The headline; of a crash what failed and where, which its case leaves out."""
    return f"Crashes: {root.quirk.partition(CRASH)[2]}." if is_crash(root) else root.case.reason


@frozen
class ProtocolRows:
    """What a router does wrong under one protocol."""

    campaign: Campaign
    rows: Mapping[RootKey, RootCause]
    """The root causes that count."""
    paths: Mapping[RootKey, str]
    """Root -> a case file that shows it."""

    @property
    def found_none(self) -> str:
        campaign = self.campaign
        told = f"no counterexample in {count(campaign.runs, 'run')}"
        if campaign.broken:
            told = f"the driver broke; {told} before"
        return told if campaign.steps else "nothing was played"


def _broken_lines(campaign: Campaign) -> Iterator[str]:
    """What is said first where a part of a search broke: less was played than was asked for."""
    if campaign.broken and campaign.steps:
        ended, played = count(len(campaign.broken), "part"), count(campaign.runs, "run")
        yield f"{campaign.protocol}: {ended} of this search broke; {played} ended. The first that broke:"
        yield from textwrap.wrap(campaign.broken[0], 100, initial_indent="  ", subsequent_indent="  ")
        yield ""


def summary_lines(results: Sequence[ProtocolRows], writes: str, *, listed: bool = False) -> Iterator[str]:
    """How many root causes there are in which verdicts, and the most telling in words, each with a command.

    A root cause that shows under several protocols is one. `writes`: the command that writes the cases which
    no file has. `listed`: all root causes are listed elsewhere.
    """
    against = results[0].campaign.against
    for each in results:
        if each.rows:
            yield from _broken_lines(each.campaign)
    if len(results) > 1:
        none = Counter(each.found_none for each in results if not each.rows)
        yield from (f"{told}: {_protocols(results, told)}" for told in none)
    elif not results[0].rows:
        yield f"{results[0].campaign.protocol} against {against}: {results[0].found_none}"
    if not any(each.rows for each in results):
        return
    found, under = _distinct(results)
    paths = {key: path for each in reversed(results) for key, path in each.paths.items()}
    of = results[0].campaign.protocol if len(results) == 1 else f"{len(results)} protocols"
    causes = causes_text([verdict_of_root(root) for _, root in found])
    more = len(found) - SHOWN
    telling = "; the most telling:" if more > 0 else ":"
    yield f"{of} against {against}: {causes}{telling}"
    for number, (key, root) in enumerate(found[:SHOWN], 1):
        yield ""
        yield from textwrap.wrap(
            f"{number}. {_says(root)}", WIDTH, subsequent_indent="   ", break_on_hyphens=False
        )
        clause = "" if root.clause in root.case.reason else f" {root.clause},"
        events, off = count(len(events_of(root.case)), "event"), ", ".join(root.case.without)
        with_off = f", with {off} off" if off else ""
        yield from _under_its_number(f"{verdict_of_root(root)},{clause} {events}{with_off}")
        yield from _under_its_number(_next_best(root))
        yield from _under_its_number(_shown_in(root))
        if len(results) > 1:
            yield from _under_its_number(f"under {', '.join(under[_cause(root)])}")
        if disputed := _dispute_about(root):
            yield from _under_its_number(f"the sentence is disputed: {disputed}")
        if key in paths:
            yield f"   {replay_command(paths[key], against)}"
    yield ""
    if more > 0:
        yield f"{more} more: {'listed above' if listed else '--verbose lists them'}"
    if any(key not in paths and not is_crash(root) for key, root in found):
        yield f"each as a case that can be replayed: {writes}"
    if any(key not in paths and is_crash(root) for key, root in found):
        yield "--private DIR writes the events of the crash"


def _under_its_number(said: str) -> list[str]:
    return textwrap.wrap(said, WIDTH, initial_indent="   ", subsequent_indent="   ", break_on_hyphens=False)


def _next_best(root: RootCause) -> str:
    """What else accounts for all that the row was found by, in words; empty where that tells no more. Of the
    same rules it most often says the same in other words."""
    if not root.also or root.kind in ("reading", "addition", "unexplained"):
        return ""
    spec = protocol_named(root.case.protocol)
    told, *others = (edit_named(name, spec) for name in (root.quirk, *root.also))
    best = next((each for each in others if rules_changed(each, spec) != rules_changed(told, spec)), None)
    return f"next best: {best.says}" if best is not None else ""


def _shown_in(root: RootCause) -> str:
    """The suite's cases in which the row shows, where one fault need not be behind all; else empty."""
    if root.kind != "unexplained" or is_crash(root) or len(root.seen_in) < 2:
        return ""
    names = sorted(root.seen_in)
    more = f", and {len(names) - CASES_SHOWN} more (--json lists them)" if len(names) > CASES_SHOWN else ""
    return f"departs in {len(names)} cases of the suite: {', '.join(names[:CASES_SHOWN])}{more}"


def _protocols(results: Sequence[ProtocolRows], told: str) -> str:
    return ", ".join(each.campaign.protocol for each in results if not each.rows and each.found_none == told)


def _cause(root: RootCause) -> RootKey:
    """What is one root cause under several protocols, whose clauses may differ."""
    return ("" if root.kind != "unexplained" else root.clause, root.quirk)


def _distinct(
    results: Sequence[ProtocolRows],
) -> tuple[list[tuple[RootKey, RootCause]], dict[RootKey, list[str]]]:
    """Each cause once, as the protocol tells it in which it is most telling; and the protocols of each."""
    under: dict[RootKey, list[str]] = {}
    for each in results:
        for cause in dict.fromkeys(map(_cause, each.rows.values())):
            under.setdefault(cause, []).append(each.campaign.protocol)
    if len(results) == 1:
        return most_telling(results[0].rows), under
    first: dict[RootKey, tuple[RootKey, RootCause]] = {}
    every = {(*key, str(at)): root for at, each in enumerate(results) for key, root in each.rows.items()}
    for (clause, quirk, _), root in most_telling(every):
        first.setdefault(_cause(root), ((clause, quirk), root))
    return list(first.values()), under
