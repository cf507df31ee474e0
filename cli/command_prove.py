"""quidnunc prove: what holds of networks of any size, and the shortest trace where it does not."""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quidnunc.asked import close
from quidnunc.command_explore import trace_json
from quidnunc.output import UsageError, clear_progress, duration_s, print_json, progress_line, table
from quidnunc.properties.network_prove import prove, provers
from quidnunc.properties.network_result import Result
from quidnunc.properties.network_solver import Questions, has_cvc5
from quidnunc.prove_report import page, rechecked

EXAMPLE = """\
example:
  quidnunc prove
  quidnunc prove mesh-link mesh-link-backoff --smt2 questions --recheck
  quidnunc prove --recheck 60s --markdown > prove.md

Exit status: 0 when each statement was decided, be it proved or refuted;
3 when one is undetermined, or holds only for want of what it speaks of.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to decide, by name or pattern (all)")
    parser.add_argument("--smt2", type=Path, metavar="DIR", help="write every question as SMT-LIB")
    parser.add_argument(
        "--recheck",
        nargs="?",
        const="2m",
        metavar="BUDGET",
        help="ask cvc5 too, for so much time of CPU, of which each name has its share (2m)",
    )
    parser.add_argument("--markdown", action="store_true", help="a page with one row for each line")
    parser.add_argument("--quiet", action="store_true", help="the table alone, without evidence and traces")


def run(options: argparse.Namespace) -> int:
    if not all(map(importlib.util.find_spec, ("z3", "numpy", "yaml"))):
        raise UsageError("z3, numba and PyYAML must be installed: pip install 'quidnunc[prove]'")
    names = _names(options.names)
    if options.recheck and not has_cvc5():
        raise UsageError("--recheck asks cvc5, which is not installed: pip install 'quidnunc[prove]'")
    budget_s = duration_s(options.recheck) if options.recheck else 0.0
    questions = Questions(smt2=options.smt2, recheck=options.recheck is not None, recheck_s=0.0)
    progress = progress_line()
    results: list[Result] = []
    for name in names:
        progress(f"{name}: {questions.asked} questions so far")
        # What one name leaves is for the next.
        questions.recheck_s += budget_s / len(names)
        results += prove(name, questions)
    clear_progress()
    if options.json:
        print_json(as_json(results, questions))
    elif options.markdown:
        print("\n".join(page(results, questions, options.recheck)))
    else:
        _print(options, results, questions)
    open_ones = [r for r in results if r.vacuous or r.verdict == "undetermined"]
    return 3 if open_ones else 0


def _names(asked: Sequence[str]) -> list[str]:
    """The names that were asked for, in the order of the table. Raises UsageError."""
    known = list(provers())
    for pattern in asked:
        if not fnmatch.filter(known, pattern):
            raise UsageError(
                f"nothing to prove is named {pattern!r}{close(pattern, known)}; there are {', '.join(known)}"
            )
    return [name for name in known if not asked or any(fnmatch.fnmatchcase(name, p) for p in asked)]


def as_json(results: Sequence[Result], questions: Questions) -> dict[str, Any]:
    """The results as one object."""
    rows = []
    for result in results:
        row: dict[str, Any] = {
            "name": result.name,
            "text": result.text,
            "verdict": result.verdict,
            "scope": result.scope,
            "assumptions": list(result.assumptions),
            "engine": result.engine,
            "seconds": round(result.seconds, 3),
            "vacuous": result.vacuous,
            "evidence": list(result.evidence),
        }
        if result.trace is not None:
            row["trace"] = trace_json(result.trace)
        rows.append(row)
    asked: dict[str, Any] = {
        "asked": questions.asked,
        "rechecked": questions.rechecked,
        "unknown": list(questions.unknown),
    }
    if questions.recheck:
        asked |= {"unanswered": questions.unanswered, "not_rechecked": questions.not_rechecked}
    return {"schema": 1, "results": rows, "questions": asked}


def _print(options: argparse.Namespace, results: Sequence[Result], questions: Questions) -> None:
    print(f"prove: {', '.join(options.names) or 'all'}\n")
    rows = [
        (r.name, r.verdict, "VACUOUS" if r.vacuous else "no", f"{r.seconds:.1f}", r.scope) for r in results
    ]
    print(table(("name", "verdict", "vacuous", "s", "scope"), rows))
    if not options.quiet:
        for result in results:
            _print_one(result)
    seconds = sum(result.seconds for result in results)
    print(f"\n{questions.asked} questions to z3{rechecked(questions)}, {seconds:.0f} s of CPU", end="")
    print(f"; undecided: {', '.join(questions.unknown) or 'none'}")
    print("Not checked: what the assumptions exclude, and what the rules leave out of a protocol.")
    print(f"again: quidnunc prove {' '.join(options.names)}".rstrip())


def _print_one(result: Result) -> None:
    print(f"\n{result.name}: {result.verdict.upper()}\n  {result.text}\n  engine: {result.engine}")
    for assumption in result.assumptions:
        print(f"  assumes: {assumption}")
    for line in result.evidence:
        print(f"  - {line}")
    if result.trace is not None:
        print()
        print(
            "\n".join(f"  {line}" for line in table(result.trace.header(), result.trace.rows()).splitlines())
        )
