"""Exported lines, checked from their text alone: SMT-LIB by cvc5, Promela by Spin."""

from __future__ import annotations

import re
import subprocess
from itertools import zip_longest
from pathlib import Path

STATUS = re.compile(r"^\(set-info :status (\w+)\)$", re.MULTILINE)
ANNOUNCED = re.compile(r"(\d+) answers come")


def answers_of_cvc5(text: str, limit_ms: int) -> list[str]:
    """What cvc5 answers to each question of a file."""
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("incremental", "true")
    solver.setOption("tlimit-per", str(limit_ms))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "instance")
    symbols, said = parser.getSymbolManager(), []
    while not (command := parser.nextCommand()).isNull():
        said.append(command.invoke(solver, symbols).strip())
    # cvc5 itself reports an error where an answer is not the `:status` in front of it.
    return [each for each in said if each]


def wrong_in_smtlib(text: str, limit_ms: int = 60_000) -> list[str]:
    """What cvc5 finds wrong with a file: an answer that is not announced, or not as announced."""
    expected = STATUS.findall(text)
    head = " ".join(line.removeprefix(";").strip() for line in text.splitlines() if line.startswith(";"))
    announced = ANNOUNCED.search(head)
    if announced is None or int(announced[1]) != len(expected):
        return [f"{len(expected)} questions are there, {announced and announced[1]} are announced"]
    found = answers_of_cvc5(text, limit_ms)
    return [
        f"question {number}: {answer}, and not {want}"
        for number, (want, answer) in enumerate(zip_longest(expected, found), 1)
        if want != answer
    ]


def spin_violates(text: str, folder: Path) -> bool:
    """Whether Spin finds the assertion of a model violated.

    Raises CalledProcessError, or AssertionError where the search was cut short."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "instance.pml").write_text(text, encoding="utf-8")
    steps = (["spin", "-a", "instance.pml"], ["cc", "-O1", "-DSAFETY", "-o", "pan", "pan.c"])
    for step in steps:
        subprocess.run(step, cwd=folder, check=True, capture_output=True, timeout=120)
    ran = subprocess.run(
        ["./pan", "-m1000000"], cwd=folder, check=True, capture_output=True, text=True, timeout=120
    )
    errors = re.search(r"errors: (\d+)", ran.stdout)
    assert errors and "max search depth too small" not in ran.stdout, ran.stdout
    assert ("assertion violated" in ran.stdout) == (errors[1] != "0"), ran.stdout
    return errors[1] != "0"
