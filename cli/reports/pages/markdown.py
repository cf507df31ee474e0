"""A finding as the text of an issue, for those who maintain the router."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from quidnunc import __version__
from quidnunc.properties.cases.case import UNEXPLAINED, Case
from quidnunc.properties.cases.file import render
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import WITHHELD, ReportedFinding, finding_of
from quidnunc.reports.pages.sequence import APPLICATION, ROUTER, SequenceDiagram, SequenceStep

ARROWS = {"both": "->>", "router": "->>", "model": "--x", "later": "-->>", "may": "-->>"}
"""Side of an output -> the arrow of Mermaid. What is missing ends in a cross."""
MARKS = {"router": "NOT ALLOWED: ", "model": "MISSING: ", "later": "owed: ", "may": "allowed: "}

WORDS = (
    "m1, m2, … are messages, t1, t2, … topics, and a, b, … the peers of the router. From the application, "
    "`score` sets its own part (P5) of a peer's score, and `verdict` is what its validator says of a message."
)


TERMS: Mapping[str, str] = {
    r"by self": "`by self`: the message names the router as its author.",
    r"by (?!self)\S+": "`by d`: the author of the message is d, who need not be its sender.",
    r"unsigned": "`unsigned`: it has no signature.",
    r"forged": "`forged`: its signature is wrong.",
    r"foreign-key": "`foreign-key`: its signature and its key are another peer's.",
    r"other-key": "`other-key`: its key is another peer's.",
    r"junk-key": "`junk-key`: its key is none.",
    r"no-key": "`no-key`: it lacks the key.",
    r"no-author": "`no-author`: it lacks the author.",
    r"no-seqno": "`no-seqno`: it lacks the sequence number.",
    r"stamped": "`stamped`: it has an author or a sequence number, and is to have none.",
    r"size=\d+": "`size=600`: its data has so many bytes.",
}
"""What a case says of a message, and what that means. An issue explains the words that it has."""


@frozen
class Reproduction:
    """A test that shows a finding without this kit."""

    text: str
    language: str
    """As Markdown calls it."""


def issue_of(case: Case, reproduction: Reproduction | None = None) -> str:
    """Headline, sentence, sequence, expected and observed, versions, and how to reproduce."""
    return rendered(
        "issue.md",
        it=finding_of(case),
        headline=headline,
        words=WORDS,
        terms=terms,
        reproduction=reproduction,
        mermaid=mermaid,
        plain=plain,
        code=code,
        fence=_fence(render(case) + (reproduction.text if reproduction else "")),
        withheld=WITHHELD,
        tool_version=__version__,
    )


def headline(it: ReportedFinding) -> str:
    """What the router does. Where the cause was not found, its text tells of the search, so this tells of the
    first output that departs."""
    if not it.headline.startswith(UNEXPLAINED):
        return it.headline
    said = {"router": "Sends what the specification does not allow", "model": "Does not send what is due"}
    for line in it.diverging:
        if line.text.startswith("choice "):
            return f"Chooses as the specification does not allow: {line.text.removeprefix('choice ')}"
        if line.side in said:
            return f"{said[line.side]}: {line.text}"
    return it.headline


def terms(text: str) -> Sequence[str]:
    """What the words of its messages mean, for those that a case has."""
    said = [line for line in text.splitlines() if re.search(r"\b(?:message|publish) ", line)]
    return [
        meaning for word, meaning in TERMS.items() if any(re.search(rf" {word}(?= |;|$)", x) for x in said)
    ]


def _fence(text: str) -> str:
    """Longer than any row of ticks in what it stands around."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def mermaid(diagram: SequenceDiagram) -> str:
    """The diagram in the language of Mermaid, which GitHub draws."""
    names = {lane: f"p{at}" for at, lane in enumerate(diagram.lanes)}
    lines = ["sequenceDiagram"]
    lines += [f"    participant {name} as {_text(_lane(lane, diagram))}" for lane, name in names.items()]
    for step in diagram.steps:
        lines += _step_lines(step, names)
    return "\n".join(lines)


def _step_lines(step: SequenceStep, names: dict[str, str]) -> list[str]:
    text = _text(MARKS.get(step.side, "") + step.text)
    everybody = [*names.values()]
    over = everybody[0] if len(everybody) == 1 else f"{everybody[0]},{everybody[-1]}"
    if step.kind == "message":
        arrow = ARROWS[step.side]
        drawn = [
            f"    {names[source]}{arrow}{names[target]}: {text}"
            for source in step.sources
            for target in step.targets
        ]
        return ["    rect rgba(220, 60, 60, 0.2)", *drawn, "    end"] if step.diverges else drawn
    place = ",".join(names[lane] for lane in step.sources) or over
    return [f"    Note over {place}: {text}"]


def _text(text: str) -> str:
    """`text` on one line of Mermaid: what it would read as its own is written as an entity."""
    return re.sub(r"[#;<>`]", lambda m: f"#{ord(m[0])};", text)


def _lane(lane: str, diagram: SequenceDiagram) -> str:
    return lane if not diagram.timed or lane in (ROUTER, APPLICATION) else f"peer {lane}"


def code(text: str) -> str:
    """`text` as code within a line."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def plain(text: str) -> str:
    """`text` in Markdown, as it stands: nothing of it is markup, and nobody is mentioned."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text).replace("@", "@\u200b")
