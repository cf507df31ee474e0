"""From a campaign to verdicts: one per claim, and whether they are as expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_args

from attrs import evolve, field, fields, frozen

from quidnunc.model.edits.aliases import current_name
from quidnunc.model.errors import CaseError, did_you_mean
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.bounded import read_toml
from quidnunc.properties.cases.names import places_of_entries, wrong_cause, wrong_clause
from quidnunc.properties.claims.catalogue import (
    VerdictName,
    breach_of,
    claims_of,
    clauses_asked,
    ground_of,
    level_of,
)
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.explain.root_cause import UNEXPLAINED_CAUSE
from quidnunc.properties.notation.words import one_line
from quidnunc.properties.search.additions import PREFIX
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.leaning import leaning
from quidnunc.properties.search.rows import RootCause

SEVERITY: dict[VerdictName, int] = {
    "not-refuted": 0,
    "unsupported": 1,
    "inconclusive": 2,
    "observed": 3,
    "undecided": 4,
    "deviates": 5,
    "fails": 6,
    "broken": 7,
}
HEADER = "# What is known of "
MAX_EXPECTATIONS_BYTES = 1 << 20


@frozen
class ClaimVerdict:
    """Of one claim: what was found of it, and how often it applied."""

    claim: Claim
    verdict: VerdictName
    applied: int
    reason: str = ""
    roots: tuple[RootCause, ...] = ()
    leans_on: tuple[str, ...] = ()
    """What the driver switches, fixes or lifts that bears on it, in words."""

    asked: tuple[str, ...] = ()
    """The clauses of the claim that the protocol asks; all of them if empty."""

    @property
    def clauses(self) -> tuple[str, ...]:
        return self.asked or self.claim.clauses

    @property
    def level(self) -> str:
        """M, S or Y where the texts write MUST, SHOULD or MAY in capitals; I everywhere else."""
        return level_of(*self.clauses)

    @property
    def ground(self) -> str:
        """The keyword, or what stands in its place."""
        return ground_of(*self.clauses)

    @property
    def binding(self) -> bool:
        """Whether a router that departs from it fails."""
        return any(breach_of(c) == "fails" for c in self.clauses)


def verdict_of_root(root: RootCause) -> VerdictName:
    """What one root cause means for its claim."""
    if root.kind == "pending":
        return "undecided"
    if root.holds_on_ours is False:
        return "broken"
    if root.kind == "reading":
        return "observed"
    if explained_too_late(root):
        # Its root cause may belong to another claim.
        return "undecided"
    if root.kind == "unexplained" and root.allowed_by:
        # What another run shows may be another fault.
        return "undecided"
    return breach_of(root.clause)


def explained_too_late(root: RootCause) -> bool:
    """Whether only the end of the search left it unexplained: it may be of a root cause that is known."""
    return root.kind == "unexplained" and not root.minimised


def rows_hiding(claim: Claim, campaign: Campaign) -> Iterator[str]:
    """The departures that were judged by a clause of the claim and are not filed under it, by their row.

    A reading that was observed hides nothing: under it, the router does what the text says.
    """
    clauses = set(claim.clauses)
    for root in campaign.rows.values():
        filed = root.kind != "pending" and root.clause in clauses
        if root.kind != "reading" and not filed and clauses & {root.clause, *root.leaves_open}:
            yield f"{root.clause} {root.quirk}"
    unfiled: Counter[str] = Counter()
    for (row, clause), number in campaign.unfiled.items():
        if clause in clauses:
            unfiled[row] = max(unfiled[row], number)
    for row, number in sorted(unfiled.items()):
        yield f"{row} ({number} not looked into)"


def verdicts_of(campaign: Campaign, pattern: str = "*") -> tuple[ClaimVerdict, ...]:
    """One verdict per claim of the protocol whose id, or one of whose clauses, matches `pattern`."""
    known = claims_of(protocol_named(campaign.protocol))
    resting = {c for claim in known for c in claim.clauses}
    # A root cause against a clause that no claim rests on is a finding all the same, under the clause's name.
    alone = dict.fromkeys(r.clause for r in campaign.roots.values() if r.clause not in resting)
    claims = (*known, *(Claim(c, "No claim rests on this clause.", (c,)) for c in alone))
    chosen = [c for c in claims if any(fnmatch(name, pattern) for name in (c.id, *c.clauses))]
    judged = (_judge(claim, campaign) for claim in chosen)
    switches = campaign.fixed, campaign.switched
    spec = protocol_named(campaign.protocol)
    return tuple(
        evolve(v, leans_on=leaning(v.claim.clauses, *switches), asked=clauses_asked(v.claim, spec))
        for v in judged
    )


def _judge(claim: Claim, campaign: Campaign) -> ClaimVerdict:
    applied = sum(campaign.applied.get(c, 0) for c in claim.clauses)
    roots = tuple(r for r in campaign.roots.values() if r.clause in claim.clauses)
    hidden = ", ".join(rows_hiding(claim, campaign))
    if not hidden and not campaign.at_stake.isdisjoint(claim.clauses):
        departing = f"{len(campaign.not_explained)} cases that depart and were not explained"
        hidden = f"{departing}: {campaign.ended_by}"
    lacking = claim.needs - campaign.capabilities
    if roots:
        worst = max((verdict_of_root(r) for r in roots), key=SEVERITY.__getitem__)
        if hidden and SEVERITY[worst] < SEVERITY["undecided"]:
            return ClaimVerdict(claim, "undecided", applied, f"hidden by {hidden}", roots)
        return ClaimVerdict(claim, worst, applied, "; ".join(r.says for r in roots), roots)
    if not campaign.runs:
        # What the driver can do is not known either.
        return ClaimVerdict(claim, "inconclusive", 0, "no run was played")
    if lacking:
        return ClaimVerdict(claim, "unsupported", 0, f"the driver lacks: {', '.join(sorted(lacking))}")
    if hidden:
        return ClaimVerdict(claim, "undecided", applied, f"hidden by {hidden}")
    if left := len(campaign.not_played):
        cases = f"{left} of {left + campaign.runs} cases were not played: {campaign.ended_by}"
        return ClaimVerdict(claim, "undecided", applied, cases)
    runs = f"{campaign.runs} run{'s' * (campaign.runs != 1)}"
    if not applied:
        return ClaimVerdict(claim, "inconclusive", 0, f"never applied in {runs}")
    return ClaimVerdict(claim, "not-refuted", applied, f"no counterexample in {runs}")


@frozen
class Expectation:
    """One line of an expectations file: a root cause that is known, and what is made of it."""

    clause: str
    cause: str
    verdict: str
    reason: str
    link: str = ""
    case: str = ""
    """Path of the case that shows it, relative to the file."""
    mark: str = ""
    """Of a crash, whose cause is a number: what it is recognised by (`properties/search/crashes.py`)."""
    seen_in: tuple[str, ...] = ()
    """Of what is unexplained: the suite's cases that show it. In files of before, and of a search, none."""

    @property
    def is_unexplained(self) -> bool:
        """Whether only its clause and kind tell it from others; a crash is told by its mark."""
        return self.cause.startswith(UNEXPLAINED_CAUSE) and self.cause != "unexplained:crash"


@frozen
class ExpectationComparison:
    """A campaign against an expectations file."""

    met: tuple[Expectation, ...]
    gone: tuple[Expectation, ...]
    not_met: tuple[Expectation, ...]
    unexpected: tuple[RootCause, ...]
    otherwise: tuple[tuple[Expectation, RootCause], ...] = ()
    """Expected with one verdict, found with another."""
    renamed: tuple[tuple[Expectation, RootCause], ...] = ()
    """Expected under one name of the cause, found under another (`properties/search/renamed.py`)."""
    also_in: tuple[tuple[RootCause, tuple[str, ...]], ...] = ()
    """Unexpected, although expected by name: the suite's cases that show it and are not in its entry."""

    @property
    def agrees(self) -> bool:
        return not self.gone and not self.unexpected and not self.otherwise


_FIELDS = {a.name for a in fields(Expectation)}
_REQUIRED = ("clause", "cause", "verdict", "reason")
MAX_TOLD = 10
"""Errors of one file."""


def _wrong_with(entry: object) -> Iterator[tuple[str, str]]:
    """(field, what is wrong) of each fault of one entry of a file."""
    if not isinstance(entry, dict):
        yield "", f"expected a table, got {entry!r}"
        return
    seen_in = entry.get("seen_in", [])
    if not isinstance(seen_in, list) or not all(isinstance(name, str) for name in seen_in):
        yield "seen_in", f"expected a list of names of the suite's cases, got {seen_in!r}"
    unknown = sorted(set(entry) - _FIELDS)
    for name in unknown:
        yield name, f"no field {name!r}{did_you_mean(name, sorted(_FIELDS))}"
    # One that is misspelt is not missing as well.
    missing = [name for name in _REQUIRED if name not in entry and not get_close_matches(name, unknown, 1)]
    if missing:
        yield "", f"expected {', '.join(missing)}, too"
    if "clause" in entry and (wrong := wrong_clause(str(entry["clause"]))):
        yield "clause", wrong
    if "verdict" in entry and entry["verdict"] not in get_args(VerdictName):
        verdicts = get_args(VerdictName)
        yield "verdict", f"no verdict {entry['verdict']!r}{did_you_mean(str(entry['verdict']), verdicts)}"


def load_expectations(path: Path, protocols: Sequence[str] = ()) -> tuple[Expectation, ...]:
    """Read a file, for a check of those protocols. Raises CaseError naming the file, the entry and what was
    expected.

    A cause that the file calls by an old name has its name of today.
    """
    try:
        table = read_toml(path, MAX_EXPECTATIONS_BYTES)
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror or error}; expected a file of expectations") from None
    except ValueError as error:
        raise CaseError(f"{path}: not TOML: {error}; `--update-expect` on another name writes one") from None
    entries = table.get("expect", [])
    asked = [*map(protocol_named, protocols), *PROTOCOLS.values()]
    if set(table) - {"expect"} or not isinstance(entries, list):
        others = sorted(set(table) - {"expect"}) or ["expect"]
        raise CaseError(f"{path}: expected tables [[expect]] and nothing else, got {', '.join(others)}")
    wrong = [(at, *each) for at, entry in enumerate(entries, 1) for each in _wrong_with(entry)]
    if wrong:
        place = places_of_entries(path, len(entries))
        raise CaseError("\n".join(f"{place(at, name)}: {what}" for at, name, what in wrong[:MAX_TOLD]))
    found = [_as_read(entry) for entry in entries]
    found = [evolve(e, cause=current_name(e.cause, *asked, clause=e.clause)) for e in found]
    if protocols:
        _demand_causes(found, asked, path)
    return tuple(found)


def _as_read(entry: Mapping[str, Any]) -> Expectation:
    told: dict[str, Any] = {name: str(value) for name, value in entry.items()}
    return Expectation(**{**told, "seen_in": tuple(entry.get("seen_in", ()))})


def _demand_causes(expected: Sequence[Expectation], asked: Sequence[Protocol], path: Path) -> None:
    """Raises CaseError for causes that no search can find."""
    wrong = [(at, what) for at, each in enumerate(expected, 1) if (what := wrong_cause(each.cause, asked))]
    if wrong:
        place = places_of_entries(path, len(expected))
        raise CaseError("\n".join(f"{place(at, 'cause')}: {what}" for at, what in wrong[:MAX_TOLD]))


def render_expectations(
    campaign: Campaign,
    roots: Iterable[tuple[RootCause, str]],
    old: Sequence[Expectation],
    replayed: Mapping[str, str],
    header: str = "",
) -> str:
    """The file for what was found, with case paths, under the first line of the old file where it had one.

    Reasons and links of the old file are kept, and so is an old expectation that this search did not meet,
    unless its case, replayed, says that it is no longer so (`replayed`: case path -> outcome). What nothing
    explains then has the name of another fault, and its own reason.
    """
    known = {(e.clause, e.cause): e for e in old}
    entries: dict[tuple[str, str], Expectation] = {
        key: each for key, each in known.items() if replayed.get(each.case, "same") == "same"
    }
    for root, case in roots:
        before = known.get((root.clause, root.quirk))
        if before is not None and before.is_unexplained and replayed.get(before.case) == "fixed":
            before = None
        entries[root.clause, root.quirk] = Expectation(
            clause=root.clause,
            cause=root.quirk,
            verdict=verdict_of_root(root),
            reason=before.reason if before else _reason_of(root),
            link=before.link if before else "",
            case=case or (before.case if before else ""),
            mark=root.mark,
            # A search has no such names, and takes none away.
            seen_in=_listed_cases(root) or (before.seen_in if before else ()),
        )
    lines = [
        header_of(campaign, header),
        "# `quidnunc check ... --expect THIS` fails on anything else, and on what is no longer so.",
        "",
    ]
    for _, entry in sorted(entries.items()):
        lines.append("[[expect]]")
        lines += [f"{f.name} = {_as_toml(v)}" for f in fields(Expectation) if (v := getattr(entry, f.name))]
        lines.append("")
    return "\n".join(lines)


def header_of(campaign: Campaign, old: str) -> str:
    """The router and protocol that expectations are about, as the first line of their file.

    The `old` one stays if it names another router or protocol: old entries are kept, and are about that one.
    """
    about = one_line(f"{campaign.against} {campaign.version} against {campaign.protocol}")
    router, protocol = one_line(campaign.against), campaign.protocol
    alike = old.startswith(f"{HEADER}{router} ") and old.endswith(f" against {protocol}.")
    return old if old and not alike else f"{HEADER}{about}."


def header_read(text: str) -> str:
    """The first line of a file that says what it is about; empty where it does not."""
    first = text.partition("\n")[0]
    return first if first.startswith(HEADER) else ""


def without_case(expected: Sequence[Expectation]) -> int:
    """How many entries have no case. Nothing can show that such a failure is gone."""
    return sum(not each.case for each in expected)


def _reason_of(root: RootCause) -> str:
    """What a new entry says: of what is unexplained what the router does in its case. A case of a crash
    leaves out what failed."""
    return root.case.reason if root.kind == "unexplained" and not root.mark else root.says


def _listed_cases(root: RootCause) -> tuple[str, ...]:
    """By which another fault of the same name is told from it."""
    return tuple(sorted(root.seen_in)) if root.kind == "unexplained" and not root.mark else ()


def _as_toml(value: str | tuple[str, ...]) -> str:
    return _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"


def _quoted(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def compare(
    roots: Sequence[RootCause],
    expected: Sequence[Expectation],
    replayed: Mapping[str, str],
    renamed: Sequence[tuple[Expectation, RootCause]] = (),
) -> ExpectationComparison:
    """What was found against what was expected.

    `replayed`: case path -> outcome (same, different, fixed) for expectations that the search did not meet,
    and for those of which it met what nothing explains.
    """
    by_key = {(r.clause, r.quirk): r for r in roots}
    met, gone, not_met, otherwise = [], [], [], []
    others = set[tuple[str, str]]()
    for each in expected:
        outcome, found = replayed.get(each.case, ""), by_key.get((each.clause, each.cause))
        if found is not None and outcome == "fixed" and each.cause.startswith(UNEXPLAINED_CAUSE):
            # What was found has the name of the one that is fixed, because nothing explains either.
            gone.append(each)
            others.add((each.clause, each.cause))
        elif found is not None and verdict_of_root(found) != each.verdict:
            otherwise.append((each, found))
        elif found is not None or outcome == "same":
            met.append(each)
        elif outcome:
            gone.append(each)
        else:
            not_met.append(each)
    also_in = tuple(_found_elsewhere(met, by_key))
    others |= {(root.clause, root.quirk) for root, _ in also_in}
    known = {(e.clause, e.cause) for e in expected} - others
    # An addition is filed under the sentence that its most telling run breaks, which can be another one.
    additions = {e.cause for e in expected if e.cause.startswith(PREFIX)}
    known |= {(root.clause, root.quirk) for _, root in renamed}
    new = (r for r in roots if (r.clause, r.quirk) not in known and r.quirk not in additions)
    unexpected = [r for r in new if not explained_too_late(r)]
    return ExpectationComparison(
        tuple(met), tuple(gone), tuple(not_met), tuple(unexpected), tuple(otherwise), tuple(renamed), also_in
    )


def _found_elsewhere(
    met: Iterable[Expectation], roots: Mapping[tuple[str, str], RootCause]
) -> Iterator[tuple[RootCause, tuple[str, ...]]]:
    """What is expected and unexplained, and shows in cases of the suite that its entry does not list: another
    fault may be behind them."""
    for each in met:
        root = roots.get((each.clause, each.cause))
        if root is not None and each.is_unexplained and each.seen_in:
            if new := sorted(root.seen_in - {*each.seen_in}):
                yield root, tuple(new)


@frozen
class ExitStatus:
    """An exit code and why (design section 8)."""

    code: int
    why: str = field(default="")


MAX_NAMED = 5
"""Claims that the reason of an exit status names; the report has all."""


def first_named(claims: Sequence[str]) -> str:
    more = len(claims) - MAX_NAMED
    return ", ".join(claims[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def exit_of(
    verdicts: Sequence[ClaimVerdict], campaign: Campaign, compared: ExpectationComparison | None, strict: bool
) -> ExitStatus:
    """2 before 1 before 4 before 3; usage (2) is decided before anything runs."""
    bad = {"fails"} | ({"deviates"} if strict else set())
    if compared is not None:
        if not compared.agrees:
            counts = {
                "unexpected": compared.unexpected,
                "gone": compared.gone,
                "with another verdict": compared.otherwise,
            }
            return ExitStatus(1, ", ".join(f"{len(which)} {what}" for what, which in counts.items()))
    elif any(v.verdict in bad for v in verdicts):
        return ExitStatus(1, "claims fail")
    elif any(breach_of(r.clause) in bad for v in verdicts for r in v.roots if explained_too_late(r)):
        return ExitStatus(1, "it departs, and the time was up before it was known which claims fail")
    if campaign.broken or any(v.verdict == "broken" for v in verdicts):
        return ExitStatus(
            4, "; ".join(dict.fromkeys(campaign.broken)) or "the control of a finding fails on our own router"
        )
    # What is known of a router may well keep a claim from applying; a search that plays nothing is no search.
    if compared is None or not campaign.steps:
        open_claims = [
            f"{what}: {first_named(ids)}"
            for verdict, what in (("undecided", "undecided"), ("inconclusive", "never applied"))
            if (ids := [v.claim.id for v in verdicts if v.verdict == verdict and v.binding])
        ]
        if open_claims:
            return ExitStatus(3, "; ".join(open_claims))
    return ExitStatus(0)
