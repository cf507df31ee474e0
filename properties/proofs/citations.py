"""The clauses that each line of `quidnunc prove` rests on, and the rules of networks that were taken of each.

A rule is *explored* where some reachable state of its network enables it; it is *followed* where a drawn run
of routers took it. Both tables are records, so that `quidnunc clauses` needs neither z3 nor a search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.tables import table


@frozen
class ProofCitation:
    """Lines of `prove`, by the pattern of what decides them and by what follows its name."""

    prover: str
    line: str
    """Empty for all lines that no other row is about."""
    clauses: tuple[str, ...]

    def covers(self, name: str, prover: str) -> bool:
        """Whether the line is one of these, or a variation of one: `idle.components` is one of `idle`."""
        rest = name.removeprefix(prover).removeprefix(".")
        return fnmatchcase(prover, self.prover) and (not self.line or f"{rest}.".startswith(f"{self.line}."))


def _read() -> Iterator[ProofCitation]:
    for prover, lines in table("properties.proofs", "citations.toml").items():
        yield from (ProofCitation(prover, line, tuple(clauses)) for line, clauses in lines.items())


CITATIONS: tuple[ProofCitation, ...] = tuple(_read())
"""The first row that covers a line says what it rests on."""


VERDICTS: Mapping[str, str] = {
    line: verdict for verdict, lines in table("properties.proofs", "verdicts.toml").items() for line in lines
}
"""Line -> what `quidnunc prove` last came to, as docs/prove.md has it."""


def verdict_of(name: str) -> str:
    """What the line of that name came to, or, where several begin so, how many to what."""
    if name in VERDICTS:
        return VERDICTS[name]
    counts = Counter(verdict for line, verdict in VERDICTS.items() if line.startswith(f"{name}."))
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))


def clauses_of_line(name: str, prover: str) -> tuple[str, ...]:
    """What a line of `prover` rests on; empty where no row is about it."""
    return next((row.clauses for row in CITATIONS if row.covers(name, prover)), ())


def lines_of(prover: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(line, clauses) of what `prover` decides, as far as rows tell lines apart."""
    seen: set[str] = set()
    for row in CITATIONS:
        name = f"{prover}.{row.line}" if row.line else prover
        if fnmatchcase(prover, row.prover) and name not in seen:
            seen.add(name)
            yield name, row.clauses
            if not row.line:
                return


def lines_on(clauses: Iterable[str], provers: Iterable[str]) -> tuple[str, ...]:
    """The lines that rest on any of `clauses`."""
    wanted = set(clauses)
    return tuple(name for each in provers for name, cited in lines_of(each) if wanted & set(cited))


# -- rules of networks that were taken --------------------------------------------------------------------


@frozen
class AppliedRules:
    """The rules of networks that are a view of one clause, and were taken."""

    explored: tuple[str, ...] = ()
    """As `NETWORK.RULE`, by exploration."""
    followed: tuple[str, ...] = ()
    """As `PROTOCOL.RULE`, by a run of routers."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.explored, *(f"{each} (followed)" for each in self.followed))


@lru_cache
def applied_rules() -> Mapping[str, AppliedRules]:
    """Clause -> the rules of networks that were taken. Raises SpecError for a record of another shape."""
    found = {}
    for clause, each in table("properties.proofs", "network-rules.toml").items():
        try:
            found[clause] = AppliedRules(tuple(each.get("explored", ())), tuple(each.get("followed", ())))
        except (AttributeError, TypeError):
            raise SpecError(
                f"network-rules.toml: {clause}: expected a table with `explored` and `followed`"
            ) from None
    return found
