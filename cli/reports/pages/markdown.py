"""A finding as the text of an issue, for those who maintain the router."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from attrs import frozen

from quidnunc import __version__
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import NOTE, render
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import WITHHELD, ReportedFinding, finding_of
from quidnunc.reports.pages.sequence import APPLICATION, ROUTER, SequenceDiagram, SequenceStep

ARROWS = {"both": "->>", "router": "->>", "model": "--x", "later": "-->>", "may": "-->>"}
"""Side of an output -> the arrow of Mermaid. What is missing ends in a cross."""
MARKS = {"router": "NOT ALLOWED: ", "model": "MISSING: ", "later": "owed: ", "may": "allowed: "}

NAMED: Mapping[str, tuple[str, str]] = {
    r"\b(?:tx|havetx|submit|commit) (\w+)": ("a transaction", "transactions"),
    r"\b(m\d+)\b": ("a message", "messages"),
    r"\b(t\d+)\b": ("a topic", "topics"),
}
"""How a case names things -> what they are: one, and several."""
NOTATION: Mapping[str, str] = {
    r"\b([a-z])\.\.([a-z])\b": "`{0}` are the peers {1} to {2}.",
    r"(?<=: )(\d+)x(?= )": "`{0}` stands for {1} of the same.",
    r"\bbackoff=\d+": "`{0}` is in seconds.",
    r"\b(m\d+)@content\b": "`{0}` is the id that {1} has where ids are made of the content.",
    r"\b(m\d+)@origin\b": "`{0}` is the id that {1} has where ids are made of author and sequence number.",
    r"\b(m\d+)@(?:hexed|text)\b": "`{0}` is the id of {1} in another spelling than its bytes.",
    r"^score(?= )": "`{0}` is the application's part (P5) of a peer's score.",
    r"^verdict(?= )": "`{0}` is what the application's validator says of a message.",
    r"^stall(?= )": "`{0}`: the peer stops reading.",
}
"""What is looked for in a case -> what an issue says of the first that is found."""
TERMS: Mapping[str, str] = {
    r"by self": "`{0}`: the message names the router as its author.",
    r"by (?!self)(\S+)": "`{0}`: the author of the message is {1}, who need not be its sender.",
    r"unsigned": "`{0}`: it has no signature.",
    r"forged": "`{0}`: its signature is wrong.",
    r"foreign-key": "`{0}`: its signature and its key are another peer's.",
    r"other-key": "`{0}`: its key is another peer's.",
    r"junk-key": "`{0}`: its key is none.",
    r"no-key": "`{0}`: it lacks the key.",
    r"no-author": "`{0}`: it lacks the author.",
    r"no-seqno": "`{0}`: it lacks the sequence number.",
    r"stamped": "`{0}`: it has an author or a sequence number, and is to have none.",
    r"size=\d+": "`{0}`: its data has so many bytes.",
}
"""What a case says of a message, and what that means. An issue explains the words that it has."""
MOST_NAMED = 3
"""More names than that are cut short."""


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
    told = [] if case.is_network else [*_direction(finding_of(case))]
    for pattern, (one, several) in NAMED.items():
        if names := list(dict.fromkeys(re.findall(pattern, body))):
            shown = ", ".join([*names[:MOST_NAMED], "…"] if len(names) > MOST_NAMED else names)
            told.append(f"{shown} {f'are {several}' if len(names) > 1 else f'is {one}'}.")
    named = "\n".join(line for line in body.splitlines() if re.search(r"\b(?:message|publish) ", line))
    marks = [(pattern, meaning, body) for pattern, meaning in NOTATION.items()]
    marks += [(rf"(?<= ){word}(?= |;|$)", meaning, named) for word, meaning in TERMS.items()]
    for pattern, meaning, place in marks:
        if found := re.search(pattern, place, re.MULTILINE):
            told.append(meaning.format(found[0], *found.groups()))
    return " ".join(told)


def _direction(it: ReportedFinding) -> Iterator[str]:
    """Of the first line that has a peer: it is the router that sends."""
    for line in it.diverging:
        peers, colon, _ = line.text.partition(": ")
        if colon and re.fullmatch(r"[a-z]+(?:(?:,|\.\.)[a-z]+)*", peers):
            to = f"peer {peers}" if peers.isalpha() else f"each of the peers {peers}"
            yield f"Under Expected and Observed, `{line.text}` stands for what the router sends to {to}."
            return


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
