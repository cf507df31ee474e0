"""The rows of a campaign: each a root cause, and as few of them as account for all that was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from attrs import evolve, frozen

from quidnunc.model.edit import Edit
from quidnunc.model.edits.ambiguities import WIDE
from quidnunc.model.edits.catalogue import edit_named, reading_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.edits.operators.everywhere import EVERYWHERE
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import UNEXPLAINED, Case
from quidnunc.properties.cases.file import render
from quidnunc.properties.cases.finding import brief
from quidnunc.properties.cases.telling import OF_EXPLANATION
from quidnunc.properties.cases.telling import with_true_excuses as telling_excuses
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.grouping import groups_by_edit, rule_of_suspect
from quidnunc.properties.explain.root_cause import CRASH

Contradiction: TypeAlias = tuple[int, str]
"""Of a run that contradicts an explanation: how many events it has, and what it shows, as a sentence."""
EMPTY: Mapping[str, Contradiction] = MappingProxyType({})
SOME_RUNS = "Some runs contradict that."
KNOWN = f"{UNEXPLAINED} With "
"""How the words of a row begin that nothing explains, and of which it is known what counts otherwise."""


def note_contradiction(known: dict[str, Contradiction], name: str, told: Contradiction) -> None:
    """Keep the shortest run that contradicts an explanation, whoever found it first."""
    known[name] = min(known.get(name, told), told)


def unexplained_words(nearly: str = "", told: Contradiction | None = None) -> str:
    """`nearly` is the sentence of an explanation that a run contradicts, which is `told` if it is known."""
    contradicted = told[1] if told is not None else SOME_RUNS
    return f"{UNEXPLAINED} Nearly: {nearly} {contradicted}" if nearly else UNEXPLAINED


def either(*edits: Edit) -> str:
    """The sentence of an explanation, or of several between which nothing decides."""
    said = [edit.says.removesuffix(".") for edit in edits]
    return "; or ".join([said[0], *(each[0].lower() + each[1:] for each in said[1:])]) + "."


@frozen
class RootCause:
    """One root cause: a clause, the edit that accounts for it, and the case that shows it."""

    clause: str
    quirk: str
    kind: str
    """reading, replaced, dropped, unexplained, pending, or addition: one of the router's own."""
    says: str
    case: Case
    also: tuple[str, ...] = ()
    """Other edits that account for the case as well, and predict other runs."""
    ties: tuple[str, ...] = ()
    """Those of them that predict just as much and are as small; `says` tells them too."""
    unexplained_as: tuple[str, str] = ("", "unexplained:withdrawn")
    """Clause and cause, should its explanation be withdrawn."""
    allowed_by: tuple[str, ...] = ()
    """Of what is unexplained: readings of open sentences, by each of which the case is in order. None
    of them predicts other runs."""
    suspects: frozenset[str] = frozenset()
    """Of what is unexplained: names of edits of one rule, each of which could account for the case."""
    holds_on_ours: bool | None = None
    """The control: whether our own router passes the same events; None where it could not be asked."""
    leaves_open: frozenset[str] = frozenset()
    """Clauses that its departures were judged by: no claim on them is decided."""
    minimised: bool = True
    act: str = ""
    """What the router does in the case, should nothing explain it."""
    mark: str = ""
    """Of a crash that an expectations file has numbered: what the file recognises it by."""
    seen_in: frozenset[str] = frozenset()
    """The suite's cases in which it shows: all where it is unexplained. A search has no such names."""


PENDING = "pending:"
"""Of a departure that nobody came to explain; then what it is."""

LEAST_SHARED = 3
"""Rows that an edit of several rules accounts for, from which on it makes those one that edits of their own
explain."""

RootCauses: TypeAlias = dict[tuple[str, str], RootCause]
"""By clause and cause."""


def is_crash(root: RootCause) -> bool:
    """Whether the root cause is that the router failed: its events are for whoever runs the check alone."""
    return root.quirk.removeprefix(PENDING).startswith(CRASH)


def keep(rows: RootCauses, root: RootCause) -> None:
    """Add the row; of two with the same cause, the one with the more telling case."""
    key = (root.clause, root.quirk)
    if old := rows.get(key):
        both, seen = root.leaves_open | old.leaves_open, root.seen_in | old.seen_in
        root = evolve(min((old, root), key=telling), leaves_open=both, seen_in=seen)
    rows[key] = root


def rows_of(roots: Iterable[RootCause]) -> RootCauses:
    rows: RootCauses = {}
    for root in roots:
        keep(rows, root)
    return rows


def telling(root: RootCause) -> tuple[int, bool, int]:
    """The least one is shown: it excuses little else, breaks the sentence of its root cause, is short."""
    return (len(root.case.as_built), not breaks_own_sentence(root), size_of_case(root))


def breaks_own_sentence(root: RootCause) -> bool:
    """Whether what its case breaks is the sentence of the root cause, and not another that it leads to."""
    return root.case.argument.partition(" ")[0] == root.clause


def size_of_case(root: RootCause) -> int:
    """Characters of the case, without what else was due or allowed where it departs."""
    return len(render(brief(root.case)))


def may_be_kept_at_times(name: str, kind: str) -> bool:
    """Whether what a run has refuted may still be how the router took the sentence in other runs.

    So it may with a reading, but not with one that allows the kit's own as well: whoever departs from that
    one does neither.
    """
    return kind == "reading" and name not in WIDE


def without_withdrawn(
    rows: RootCauses, withdrawn: Collection[str], contradicted: Mapping[str, Contradiction] = EMPTY
) -> RootCauses:
    """Rows whose explanation was refuted have their next one, or none. Of one that has none, the run that
    contradicts its explanation is told."""

    def revised(root: RootCause) -> RootCause:
        if root.quirk not in withdrawn or may_be_kept_at_times(root.quirk, root.kind):
            refuted = set(root.ties) & set(withdrawn)
            return explained_by(root.quirk, root, also=root.also) if refuted else root
        left = [name for name in root.also if name not in withdrawn]
        if left:
            return explained_by(left[0], root, also=tuple(left[1:]))
        return unexplained(root, contradicted.get(root.quirk))

    return rows_of(map(revised, rows.values()))


def explained_by(name: str, root: RootCause, also: tuple[str, ...]) -> RootCause:
    """The row with another explanation, in its case too."""
    protocol = protocol_named(root.case.protocol)
    edit: Edit = edit_named(name, protocol)
    told, cause = root.unexplained_as
    clause = edit.against(told, cause.removeprefix("unexplained:"))
    claim = claim_on(clause, protocol)
    case = evolve(
        root.case,
        quirk=edit.name,
        clause=clause,
        claim=claim.id if claim is not None else clause,
        reason=edit.says,
        notes=_without_explanation(root.case),
    )
    return evolve(
        root, case=case, also=also, ties=(), quirk=edit.name, clause=clause, kind=edit.kind, says=edit.says
    )


def _without_explanation(case: Case) -> tuple[str, ...]:
    """The notes of a case whose explanation is another one now."""
    return tuple(note for note in case.notes if not note.startswith(OF_EXPLANATION))


def unexplained(root: RootCause, told: Contradiction | None = None) -> RootCause:
    """The row without an explanation, against the clause that the departure itself is judged by."""
    clause, cause = root.unexplained_as
    clause = clause or root.clause
    claim = claim_on(clause, protocol_named(root.case.protocol))
    named = claim.id if claim is not None else clause
    says = unexplained_words(root.says, told)
    reason = f"{root.act} {says}".strip()
    notes = _without_explanation(root.case)
    case = evolve(root.case, quirk="", clause=clause, claim=named, reason=reason, notes=notes)
    return evolve(
        root, case=case, also=(), ties=(), clause=clause, quirk=cause, kind="unexplained", says=says
    )


def sharing_explanations(rows: RootCauses) -> RootCauses:
    """Rows that one explanation accounts for are one row; the explanation of the most rows is taken first, of
    equals one that no operator made.

    An addition of the router breaks one sentence here and another there, and is one row, too. A reading has a
    row of its own unless what another row is named after predicts its runs as well: the other one is behind
    both. Where the reading predicts the runs of that row too, it says less of them: else it came first there.
    """
    alone = ("unexplained", "reading", "pending")
    left = [root for root in rows.values() if root.kind not in alone]
    kept = [root for root in rows.values() if root.kind in alone]
    while left:
        made = operated(protocol_named(left[0].case.protocol))
        wide = Counter(n for root in left for n in {root.quirk, *root.also} if n.startswith(EVERYWHERE))
        shared = frozenset(name for name, rows_of_it in wide.items() if rows_of_it >= LEAST_SHARED)
        counts = Counter(name for root in left for name in _names_of(root, made, shared))
        own = Counter(root.quirk for root in left)
        name = min(counts, key=lambda n: (-counts[n], -own[n], n in made, n))
        members = [root for root in left if name in _names_of(root, made, shared)]
        left = [root for root in left if root not in members]
        named = [root if root.quirk == name else _named(name, root) for root in members]
        # An edit of several rules breaks a sentence here and another there: it is one row all the same.
        best = min(named, key=telling)
        hidden = frozenset(clause for root in named for clause in root.leaves_open)
        kept.append(evolve(best, leaves_open=hidden))
    return rows_of(_without_needless_readings(kept))


def _without_needless_readings(roots: Iterable[RootCause]) -> list[RootCause]:
    kept = list(roots)
    for reading in [root for root in kept if root.kind == "reading"]:
        behind = (root for root in kept if root.kind != "reading" and root.quirk in reading.also)
        other = next(behind, None)
        if other is not None:
            hidden = other.leaves_open | reading.leaves_open
            kept = [root for root in kept if root not in (reading, other)]
            kept.append(evolve(other, leaves_open=hidden))
    return kept


def _names_of(root: RootCause, made: Collection[str], shared: Collection[str]) -> tuple[str, ...]:
    """The explanations of a row. What rules everywhere do alike does not make one of two rows that edits of
    their own explain; it does of `LEAST_SHARED`, which would be a coincidence."""
    has_own = root.quirk not in made
    names = dict.fromkeys((root.quirk, *root.also))
    return tuple(n for n in names if not (has_own and n.startswith(EVERYWHERE)) or n in shared)


def _named(name: str, root: RootCause) -> RootCause:
    return explained_by(name, root, tuple(n for n in (root.quirk, *root.also) if n != name))


def fewest_rows(rows: RootCauses) -> RootCauses:
    """As few rows as account for all that was found."""
    return grouped_by_edit(sharing_readings(sharing_explanations(rows)))


def with_true_excuses(rows: RootCauses) -> RootCauses:
    """Rows whose cases say of an excuse that it has no row: it was refuted since, or others took over."""
    filed = frozenset(name for root in rows.values() for name in (root.quirk, *root.ties))
    return {key: evolve(root, case=telling_excuses(root.case, filed)) for key, root in rows.items()}


def sharing_readings(rows: RootCauses) -> RootCauses:
    """Rows in which several rules read the same thing wrongly are one row, with the shortest case: the rules
    share what is at fault."""
    groups: dict[str, list[RootCause]] = {}
    for root in rows.values():
        groups.setdefault(reading_of(root.quirk, protocol_named(root.case.protocol)), []).append(root)
    kept = [root for reading, group in groups.items() for root in group if not reading or len(group) < 2]
    for group in (group for reading, group in groups.items() if reading and len(group) > 1):
        shortest = min(group, key=telling)
        others = [root.says for root in group if root is not shortest]
        hidden = frozenset(clause for root in group for clause in root.leaves_open)
        kept.append(evolve(shortest, says=" ".join([shortest.says, *others]), leaves_open=hidden))
    return rows_of(kept)


def grouped_by_edit(rows: RootCauses) -> RootCauses:
    """Of what is unexplained, those that one edit could be behind are one row, with the shortest case."""
    open_rows = {k: r for k, r in rows.items() if r.kind == "unexplained" and not is_crash(r)}
    kept = dict(rows)
    broken = {root.clause for root in open_rows.values()}

    def likelier(edit: str) -> tuple[bool, int, str]:
        # Many edits account for few short runs: first those of the sentences that are broken.
        protocol = protocol_named(next(iter(open_rows.values())).case.protocol)
        ranks = operated(protocol)
        rank = ranks[edit].rank if edit in ranks else -1
        return (edit_named(edit, protocol).clause not in broken, rank, edit)

    suspects = {key: root.suspects for key, root in open_rows.items()}
    for edit, keys in groups_by_edit(suspects, likelier):
        shortest = min((open_rows[key] for key in keys), key=size_of_case)
        hidden = frozenset(clause for key in keys for clause in open_rows[key].leaves_open)
        seen_in = frozenset(name for key in keys for name in open_rows[key].seen_in)
        behind = "because a change in one rule could be behind each of them."
        says = f"{UNEXPLAINED} {len(keys)} findings are shown as one, {behind}"
        protocol = protocol_named(shortest.case.protocol)
        if edit_named(edit, protocol).clause in {open_rows[key].clause for key in keys}:
            # Of a rule that no broken sentence is about, the name says where not to look.
            words = rule_of_suspect(edit, protocol).replace("_", " ")
            says = says.replace("one rule", f"the rule “{words}”")
        known = next((r.says for r in map(open_rows.__getitem__, keys) if r.says.startswith(KNOWN)), "")
        says = f"{says} {known.removeprefix(UNEXPLAINED).strip()}".strip()
        for key in keys:
            del kept[key]
        # What it does in this run, and then what is known of the cause.
        seen = shortest.act or shortest.case.reason.partition(UNEXPLAINED)[0].strip()
        case = evolve(shortest.case, reason=f"{seen} {says}".strip())
        keep(kept, evolve(shortest, says=says, case=case, leaves_open=hidden, seen_in=seen_in))
    return kept
