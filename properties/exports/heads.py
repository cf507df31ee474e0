"""What an exported line says of itself: claim, verdict, assumptions, how the answers give the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from quidnunc.properties.documents.clauses import load
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.tables import table

_TABLE = table("properties.exports", "exports.toml")
REASONS: Mapping[str, str] = _TABLE["reasons"]
"""Beginning of an engine's name -> how the answers give the verdict, and what no file says."""
TIED: Mapping[str, list[str]] = _TABLE["assumptions"]
"""Assumption -> the clauses that state it; none where it is an idealisation of the model."""
NOT_EXPORTED: Mapping[str, str] = _TABLE["not-exported"]
"""Beginning of an engine's name -> why its lines are not exported."""
WIDTH = 110


def _by_engine(rows: Mapping[str, str], engine: str) -> str:
    return next((text for name, text in rows.items() if engine.startswith(name)), "")


def reason_of(engine: str) -> str:
    """How the answers to the questions of a line give its verdict; empty where none is known."""
    return _by_engine(REASONS, engine)


def not_exported(engine: str) -> str:
    """Why a line of that engine is not exported."""
    return _by_engine(NOT_EXPORTED, engine) or f"nothing is known of how to write out {engine!r}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH - 3,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def head(result: ProofResult, check: str) -> Iterator[str]:
    """The head of a file, line by line and without comment signs. `check` says how to check the file."""
    known = load()
    yield from _wrapped(f"line: {result.name}, as `quidnunc prove {result.name}` has it")
    yield from _wrapped(f"claim: {result.text}")
    yield from _wrapped(f"verdict: {result.verdict}{', vacuously' if result.vacuous else ''}")
    yield from _wrapped(f"scope: {result.scope}")
    yield "assumptions:" if result.assumptions else "assumptions: none"
    for number, text in enumerate(result.assumptions, 1):
        tied = TIED.get(text, [])
        yield from _wrapped(
            f"{number}. {text} [{', '.join(tied) or 'of the model; no sentence says so'}]", "  "
        )
    cited = dict.fromkeys((*result.clauses, *(c for text in result.assumptions for c in TIED.get(text, ()))))
    yield "clauses:" if cited else "clauses: none"
    for identity in cited:
        clause = known[identity]
        said = f'"{" ".join(clause.quote.split())}"' if clause.quote else f"{clause.text} (in our words)"
        yield from _wrapped(f"{identity}: {said}", "  ")
    yield from _wrapped(f"to check: {check}")


def commented(lines: Iterator[str], sign: str) -> Iterator[str]:
    """The lines as comments."""
    for line in lines:
        yield f"{sign} {line}".rstrip()
