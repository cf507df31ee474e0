"""A finding as the text of an issue, for those who maintain the router."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from quidnunc import __version__
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import NOTE, render
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import WITHHELD, finding_of
from quidnunc.reports.pages.sequence import APPLICATION, ROUTER, SequenceDiagram, SequenceStep

ARROWS = {"both": "->>", "router": "->>", "model": "--x", "later": "-->>", "may": "-->>"}
"""Side of an output -> the arrow of Mermaid. What is missing ends in a cross."""
MARKS = {"router": "NOT ALLOWED: ", "model": "MISSING: ", "later": "owed: ", "may": "allowed: "}

NOTATION: Mapping[str, str] = {
    r"\b(?:tx|havetx|resetroute) \w": "`a: tx t` is transaction t that is sent to peer a.",
    r"^(?:[-+~=] |  )[a-z,.]+: (?!\d+x |tx |havetx |resetroute )": (
        "Under Expected and Observed, `a: graft t1` is a GRAFT for t1 that the router sends to peer a."
    ),
    r"\bm\d": "m1, m2, … are messages.",
    r"\bt\d": "t1, t2, … are topics.",
    r"[a-z]\.\.[a-z]": "`a..d` are the peers a to d.",
    r": \d+x ": "`2x` means: two more of the same.",
    r"backoff=\d": "A backoff is in seconds.",
    r"\bm\d+@\w": "`m1@content` is the id that m1 has where ids are made of the content.",
    r"^score ": "`score` is the application's part (P5) of a peer's score.",
    r"^verdict ": "`verdict` is what the application's validator says of a message.",
    r"^stall ": "`stall`: the peer stops reading.",
}
"""What is looked for in a case -> what an issue says of it."""
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
        words=words(case),
        reproduction=reproduction,
        mermaid=mermaid,
        plain=plain,
        code=code,
        fence=_fence(render(case) + (reproduction.text if reproduction else "")),
        withheld=WITHHELD,
        tool_version=__version__,
    )


def words(case: Case) -> str:
    """What the notation of a case means: of what it says, and of nothing else."""
    text = "\n".join(line for line in render(case).splitlines() if not line.startswith(NOTE))
    body = text.partition("\n\n")[2].partition("\n\n")[2]
    told = [meaning for pattern, meaning in NOTATION.items() if re.search(pattern, body, re.MULTILINE)]
    named = [line for line in body.splitlines() if re.search(r"\b(?:message|publish) ", line)]
    told += [m for word, m in TERMS.items() if any(re.search(rf" {word}(?= |;|$)", x) for x in named)]
    return " ".join(told)


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
