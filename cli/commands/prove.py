"""quidnunc prove: prove statements about networks of any size, or show a shortest counterexample."""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from quidnunc.commands.explore import trace_json
from quidnunc.model.errors import install_words
from quidnunc.output import (
    UsageError,
    choices,
    clear_progress,
    duration_s,
    fields_of,
    print_json,
    progress_line,
    table,
)
from quidnunc.properties.exports.lines import ExportedLine, exported_lines, write_line
from quidnunc.properties.proofs.citations import VERDICTS, lines_of
from quidnunc.properties.proofs.edits import FAILS
from quidnunc.properties.proofs.prove import prove, provers, with_edits
from quidnunc.properties.solver.questions import SolverSession, has_cvc5
from quidnunc.properties.solver.result import ProofResult


def run(options: argparse.Namespace) -> int:
    if not all(map(importlib.util.find_spec, ("z3", "numpy", "yaml"))):
        raise UsageError(f"z3, numba and PyYAML must be installed: {install_words('prove')}")
    names = _names(options.names)
    if options.export is not None:
        return _export(options, names)
    if options.recheck and not has_cvc5():
        raise UsageError(f"--recheck asks cvc5, which is not installed: {install_words('prove')}")
    if options.smt2 is not None:
        try:
            options.smt2.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--smt2 {options.smt2}: {error.strerror}; name a directory") from None
    budget_s = duration_s(options.recheck) if options.recheck else 0.0
    questions = SolverSession(smt2=options.smt2, recheck=options.recheck is not None, recheck_s=0.0)
    progress = progress_line()
    results: list[ProofResult] = []
    for name in names:
        progress(f"{name}: {questions.asked} solver queries so far")
        # What one name leaves is for the next.
        questions.recheck_s += budget_s / len(names)
        found = [r for r in prove(name, questions) if _asked(r.name, name, options.names)]
        results += with_edits(name, found) if options.edits else found
    clear_progress()
    _demand_rows(options.names, results, names)
    if options.json:
        print_json(as_json(results, questions))
    elif options.markdown:
        print("\n".join(page(results, questions, options)))
    else:
        _print(options, results, questions)
    # The page is what the verdicts are recorded from.
    if _changed(results) and not options.markdown:
        return 1
    return 3 if any(map(_is_open, results)) else 0


def _changed(results: Sequence[ProofResult]) -> list[dict[str, str]]:
    """The lines that are decided otherwise than recorded. A line without a record is new."""
    return [
        {"name": r.name, "recorded": VERDICTS[r.name], "verdict": r.verdict}
        for r in results
        if r.verdict not in ("undetermined", VERDICTS.get(r.name, r.verdict))
    ]


def _is_open(result: ProofResult) -> bool:
    """Whether nothing is decided, or by a proof that shows nothing of the rules, as no edit breaks it."""
    return result.vacuous or result.verdict == "undetermined" or _standing(result) in ("no edit", "unbroken")


def _standing(result: ProofResult) -> Literal["", "no edit", "unbroken", "broken", "not tried"]:
    """What is known of a proof under an edit of a rule; empty where the line is not proved."""
    if result.verdict != "proved":
        return ""
    if not result.edit:
        return "no edit"
    if not result.edited:
        return "not tried"
    return "broken" if result.edited in FAILS else "unbroken"


_STANDINGS = {
    "broken": "proved (each fails under its edit)",
    "not tried": "proved (each has an edit of a rule; --edits tries it)",
    "unbroken": "proved, and still so under the edit",
    "no edit": "proved, no edit named yet",
}


def summary(results: Sequence[ProofResult]) -> str:
    """How many lines there are of each verdict, proofs by what is known of them under an edit."""
    standings = [_standing(r) for r in results]
    counted = [(standings.count(key), text) for key, text in _STANDINGS.items()]  # type: ignore[arg-type]
    for verdict in ("by definition", "refuted", "undetermined"):
        counted.append((sum(r.verdict == verdict for r in results), verdict))
    return ", ".join(f"{number} {text}" for number, text in counted if number)


def _export(options: argparse.Namespace, names: Sequence[str]) -> int:
    """Write each line that was asked for, and say which cannot be."""
    if options.smt2 or options.recheck or options.markdown:
        raise UsageError("--export cannot be combined with --smt2, --recheck or --markdown")
    progress = progress_line()
    lines: list[ExportedLine] = []
    try:
        options.export.mkdir(parents=True, exist_ok=True)
        for name in names:
            progress(f"{name}: {len(lines)} lines so far")
            for line in exported_lines(name):
                if _asked(line.result.name, name, options.names):
                    lines.append(line)
                    if line.text:
                        write_line(line, options.export)
    except OSError as error:
        raise UsageError(f"--export {options.export}: {error.strerror}; name a directory") from None
    clear_progress()
    _demand_rows(options.names, [line.result for line in lines], names)
    written = [line for line in lines if line.text]
    if options.json:
        rows = [
            {**fields_of(line.result, "name", "verdict"), "file": line.file if line.text else None}
            | ({"why_not": line.why_not} if line.why_not else {})
            for line in lines
        ]
        print_json({"schema": 1, "folder": str(options.export), "lines": rows})
    else:
        print("\n".join(f"{line.result.verdict:13} {options.export / line.file}" for line in written))
        reasons = {
            line.why_not: [each.result.name for each in lines if each.why_not == line.why_not]
            for line in lines
        }
        for reason, without in reasons.items():
            if reason:
                print(f"\nnot exported, because {reason}:\n  " + "\n  ".join(without))
        print(f"\n{len(written)} of {len(lines)} lines written; each file says how to check it")
    return 0 if written else 3


def _names(asked: Sequence[str]) -> list[str]:
    """The provers of what was asked for, in the order of the table. Raises UsageError."""
    known = list(provers())
    wanted = set(known) if not asked else set()
    for pattern in asked:
        found = fnmatch.filter(known, pattern) or _provers_of_rows(pattern, known)
        if not found:
            raise UsageError(f"no statement matches {pattern!r}{choices(pattern, known)}")
        wanted |= set(found)
    return [name for name in known if name in wanted]


def _provers_of_rows(pattern: str, known: Sequence[str]) -> list[str]:
    """The provers that may have a row of that name: `mesh-star.ceiling` is one of `mesh-star`."""
    cited = [p for p in known if any(fnmatch.fnmatchcase(line, pattern) for line, _ in lines_of(p))]
    if cited:
        return cited
    # Not every row is cited by itself. Its name begins with that of its prover.
    parts = pattern.split(".")
    heads = [".".join(parts[:n]) for n in range(1, len(parts))]
    return [name for name in known if any(fnmatch.fnmatchcase(name, head) for head in heads if head != "*")]


def _asked(row: str, prover: str, patterns: Sequence[str]) -> bool:
    """Whether a row was asked for, by its own name or as one of its prover's."""
    return not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns for name in (prover, row))


def _demand_rows(patterns: Sequence[str], results: Sequence[ProofResult], names: Sequence[str]) -> None:
    """Raises UsageError where a pattern is the name of no prover, and of no row that one of them gave."""
    shown = [*names, *(result.name for result in results)]
    for pattern in patterns:
        if not fnmatch.filter(shown, pattern):
            raise UsageError(
                f"no row matches {pattern!r}: quidnunc prove {' '.join(names)} shows their names"
            )


def as_json(results: Sequence[ProofResult], questions: SolverSession) -> dict[str, Any]:
    """The results as one object."""
    rows = []
    for result in results:
        row = fields_of(result, "name", "text", "verdict", "scope", "assumptions", "clauses", "engine")
        row |= {"seconds": round(result.seconds, 3), **fields_of(result, "vacuous", "evidence")}
        if result.edit:
            row["edit"] = {"says": result.edit, "clause": result.edit_of, "verdict": result.edited or None}
        if result.trace is not None:
            row["trace"] = trace_json(result.trace)
        rows.append(row)
    asked = {**fields_of(questions, "asked", "rechecked"), "unknown": list(questions.unknown)}
    if questions.recheck:
        asked |= {"unanswered": questions.unanswered, "not_rechecked": questions.not_rechecked}
    return {"schema": 1, "results": rows, "changed": _changed(results), "questions": asked}


def _print(options: argparse.Namespace, results: Sequence[ProofResult], questions: SolverSession) -> None:
    print(f"prove: {', '.join(options.names) or 'all'}\n")
    rows = [
        (r.name, r.verdict, "VACUOUS" if r.vacuous else "no", f"{r.seconds:.1f}", r.scope) for r in results
    ]
    print(table(("name", "verdict", "vacuous", "s", "scope"), rows))
    if not options.quiet:
        for result in results:
            _print_one(result)
    if options.edits:
        _print_edits(results)
    seconds = sum(result.seconds for result in results)
    print(f"\n{summary(results)}")
    print(f"{questions.asked} questions to z3{recheck_summary(questions)}, {seconds:.0f} s of CPU", end="")
    print(f"; undecided: {', '.join(questions.unknown) or 'none'}")
    for line in _changed(results):
        print("CHANGED: {name} was {recorded} when docs/prove.md was made, and is {verdict}".format(**line))
    print("Not checked: what the assumptions exclude, and the parts of a protocol that the rules leave out.")
    print("The proof has its own copy of the rules: tests compare it with the model, this command does not.")
    print(f"again: quidnunc prove {shlex.join(options.names)}".rstrip())


def _print_edits(results: Sequence[ProofResult]) -> None:
    rows = [(r.name, r.edit_of, r.edit, r.edited) for r in results if r.edit]
    if rows:
        print(f"\n{table(('proved', 'a rule is edited', 'so that', 'then it is'), rows)}")


def _print_one(result: ProofResult) -> None:
    print(f"\n{result.name}: {result.verdict.upper()}\n  {result.text}\n  engine: {result.engine}")
    for assumption in result.assumptions:
        print(f"  assumes: {assumption}")
    for line in result.evidence:
        print(f"  - {line}")
    if result.edit:
        said = f", and is then {result.edited}" if result.edited else ""
        print(f"  fails if: {result.edit} ({result.edit_of}){said}")
    if result.trace is not None:
        print()
        print(
            "\n".join(f"  {line}" for line in table(result.trace.header(), result.trace.rows()).splitlines())
        )


# -- as a page --------------------------------------------------------------------------------------------


HEAD = """\
# What `quidnunc prove` decides

Each row is one statement and the engine that decided it. A proof is *vacuous* if its condition cannot occur.
`quidnunc prove NAME` prints the evidence, and the shortest trace where a statement is refuted. The pages in
[results](index.md#results) give the reasons.

*Fails if* names an edit of a rule that breaks the proof, and the verdict under that edit. `gone`: the line is
part of a proof, and the statement of that proof is refuted. The edits are in
`properties/proofs/edits.toml`, and a test tries them. A statement *by definition* repeats what a rule
says: it holds whatever the numbers in it are, needs no second rule, and is not counted as proved.
"""


def recheck_summary(questions: SolverSession) -> str:
    """What cvc5 made of the questions, as the end of a sentence; empty where it was not asked."""
    if not questions.recheck:
        return ""
    return (
        f"; cvc5 agreed on {questions.rechecked} of them and disagreed on none, ran out of time on "
        f"{questions.unanswered}, and had no time for {questions.not_rechecked}"
    )


def page(
    results: Sequence[ProofResult], questions: SolverSession, options: argparse.Namespace
) -> Iterator[str]:
    """The page in Markdown, line by line: a row for each result, and what the rows assume."""
    words = [*options.names, *(["--edits"] if options.edits else [])]
    words += ["--recheck", options.recheck] if options.recheck else []
    assumed = list(dict.fromkeys(a for result in results for a in result.assumptions))
    yield HEAD
    seconds = sum(result.seconds for result in results)
    yield f"Made by `quidnunc prove {shlex.join([*words, '--markdown'])}`:"
    yield f"{questions.asked} questions to z3{recheck_summary(questions)};"
    yield f"{seconds:.0f} s of CPU in all{', with those of cvc5' if questions.recheck else ''}."
    yield ""
    yield f"In all: {summary(results)}."
    yield ""
    yield "| line | says | verdict | fails if | scope | assumes | engine | s | vacuous |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for result in results:
        numbers = ", ".join(str(assumed.index(a) + 1) for a in result.assumptions) or "-"
        verdict = f"**{result.verdict}**" if result.verdict in ("proved", "undetermined") else result.verdict
        fails = f"{result.edit} (`{result.edit_of}`)" if result.edit else "-"
        fails += f": {result.edited}" if result.edited else ""
        cells = [f"`{result.name}`", result.text, verdict, fails, result.scope, numbers, result.engine]
        cells += [f"{result.seconds:.1f}", "**yes**" if result.vacuous else "no"]
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
    yield ""
    yield "Assumptions, by number:"
    yield ""
    yield from (f"{number}. {text}" for number, text in enumerate(assumed, 1))
