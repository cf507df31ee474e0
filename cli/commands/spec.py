"""quidnunc spec: the documents of a protocol, sentence by sentence."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any

from quidnunc.arguments import checked_protocol
from quidnunc.options.spec import CASES
from quidnunc.output import print_json, table, write_text
from quidnunc.properties.cases.case import Case
from quidnunc.reports.pages.page import cases_in
from quidnunc.reports.pages.specification import (
    STATES,
    AnnotatedText,
    annotated_texts,
    specification_page,
)


def run(options: argparse.Namespace) -> int:
    protocol = checked_protocol(options.protocol)
    paths = options.cases or ([CASES] if CASES.is_dir() else [])
    cases = [case for path in paths for case in cases_in(path) if protocol in case.protocols]
    shown = annotated_texts(protocol, cases)
    named = [word for path in options.cases or () for word in ("--cases", str(path))]
    page = ["--html", str(options.html)] if options.html else []
    again = shlex.join(["quidnunc", "spec", protocol, *page, *named])
    if options.html:
        write_text(options.html, specification_page(protocol, shown, _routers(cases), again))
    if options.json:
        print_json({"schema": 1, "protocol": protocol, "texts": [_as_json(text) for text in shown]})
        return 0
    _print(protocol, shown)
    if options.html:
        print(f"wrote {options.html}")
    print(f"again: {again}")
    return 0


def _routers(cases: Sequence[Case]) -> list[str]:
    return sorted({case.against for case in cases if case.status == "open" and not case.is_network})


def _print(protocol: str, shown: Sequence[AnnotatedText]) -> None:
    states = [state for state in STATES if state != "prose"]
    rows = []
    for text in shown:
        counts = dict(text.states)
        rows.append((text.name, text.total, text.demanding, *(counts.get(state, 0) for state in states)))
    print(f"the documents of {protocol}, sentence by sentence\n")
    print(table(("text", "sentences", "demanding", *states), rows))
    print("\ndemanding: clauses name it, or its words may demand something and no reason is given why not")
    print("\n".join(f"{state}: {STATES[state][1]}" for state in states) + "\n")
    unchecked = [(text, each) for text in shown for each in text.sentences if each.state == "unchecked"]
    for text, each in unchecked:
        names = ", ".join((*(c.id for c in each.told), *each.again)) or "no clause names it"
        print(f"unchecked: {text.name}, sentence {each.number}: {names}")


def _as_json(text: AnnotatedText) -> dict[str, Any]:
    return {
        "name": text.name,
        "revision": text.revision,
        "url": text.url,
        "sentences": [
            {
                "number": each.number,
                "sentences": 1 + each.others,
                "state": each.state,
                "clauses": [*(c.id for c in each.told), *each.again],
            }
            for each in text.sentences
        ],
        "in_no_sentence": [c.id for c in text.unnamed],
    }
