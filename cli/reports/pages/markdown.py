"""A finding as the text of an issue, for those who maintain the router."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from quidnunc import __version__
from quidnunc.model.errors import IN_CLONE, install_command
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.choosing import chosen_words, lower_first
from quidnunc.properties.cases.file import NOTE, render
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import (
    PACKAGES,
    TIMES,
    WITHHELD,
    OutputLine,
    ReportedFinding,
    finding_of,
)
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
    r"\bbackoff=\d+": "`{0}` is in seconds.",
    r"\bpeers=([a-z][a-z,.]*)": "`{0}`: peer exchange, the PRUNE names {1}.",
    r"(?<= )address=\d+": "`{0}`: peers with the same number share an IP address.",
    r"(?<= )outbound$": "`{0}`: the router dialled; who is without it has dialled the router.",
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
    r"junk-key": "`{0}`: its key is malformed.",
    r"no-key": "`{0}`: it lacks the key.",
    r"no-author": "`{0}`: it lacks the author.",
    r"no-seqno": "`{0}`: it lacks the sequence number.",
    r"stamped": "`{0}`: it has an author or a sequence number, and is to have none.",
    r"size=(\d+)": "`{0}`: its data has {1} bytes.",
}
"""What a case says of a message, and what that means. An issue explains the words that it has."""
OF_FINDING = "-- this finding --"
"""In a test, the mark behind what is the same for every finding."""
CITING: Mapping[str, tuple[str, str]] = {
    "fails": (
        "departs from this sentence of the specification:",
        "departs from what the specification implies, as we read it.",
    ),
    "deviates": (
        "does not follow this advice of the specification:",
        "does not follow advice of the specification.",
    ),
    "observed": (
        "does what this sentence of the specification leaves open:",
        "does what the specification leaves open, as we read it.",
    ),
}
"""Verdict -> what is said before a sentence that is quoted, and before one in our words."""
RUN_AS: Mapping[str, str] = {"flood": "its default gossip, without DOG", "dog": "with DOG"}
"""Protocol -> how the router runs, where its name does not say it to those who maintain the router."""
ADDITIONS_OFF = "with what the router adds to the protocol switched off"
CHOICES: Mapping[str, str] = {
    "fanout.refill": "the peers to add to the fanout",
    "fanout.use": "the peers of the fanout to publish to",
    "gossip.targets": "the peers to gossip to",
    "mesh.cut": "the members that the cut keeps",
    "mesh.fill": "the peers to graft",
    "mesh.join": "the peers to graft",
    "mesh.opportunistic": "the peers to graft",
    "mesh.outbound": "the outbound peers to graft",
}
"""A choice of the router -> what it chooses."""
_PEERS_OF_RUN = re.compile(r" \((?:peers?|topics?) [^()]*\)")
_UNSAID = "not as the clause demands"
"""Of a choice, the reason that is none."""
MOST_NAMED = 3
"""More names than that are cut short."""


@frozen
class Reproduction:
    """A test that shows a finding without this kit."""

    text: str
    language: str
    """As Markdown calls it."""
    file: str = ""
    """In which it is to be saved."""
    place: str = ""
    """Where that file is to be."""
    command: str = ""
    """What runs it there."""

    @property
    def own(self) -> str:
        """What is of this finding alone."""
        return self.text.partition(OF_FINDING)[2].partition("\n")[2].strip("\n")


def issue_of(case: Case, reproduction: Reproduction | None = None) -> str:
    """Headline, sentence, sequence, expected and observed, versions, and how to reproduce."""
    it, shown = finding_of(case), render(lean(case))
    return rendered(
        "issue.md",
        it=it,
        claim=claim_of(it),
        expected=[*expected_lines(it)],
        observed=[*observed_lines(it)],
        configuration=it.configuration,
        words=words(case),
        case=shown,
        release=release_of(it),
        mechanism=it.mechanism,
        reproduction=reproduction,
        sequence=_sequence_of(it),
        plain=plain,
        heading=heading,
        code=code,
        fence=_fence(shown + (reproduction.text if reproduction else "")),
        withheld=WITHHELD,
        tool_version=__version__,
        install=f"`{install_command()}` {IN_CLONE}",
    )


def words(case: Case) -> str:
    """What the notation of a case means: of what it says, and of nothing else."""
    text = "\n".join(line for line in render(case).splitlines() if not line.startswith(NOTE))
    body = text.partition("\n\n")[2].partition("\n\n")[2]
    told = []
    if "/outbound." in case.clause and not re.search(r"^connect .* outbound$", body, re.MULTILINE):
        told.append("All connections are inbound: each peer dialled the router.")
    for pattern, (one, several) in NAMED.items():
        if names := list(
            dict.fromkeys(sorted(re.findall(pattern, body), key=lambda name: (len(name), name)))
        ):
            shown = ", ".join([*names[:MOST_NAMED], "…"] if len(names) > MOST_NAMED else names)
            told.append(f"{shown} {f'are {several}' if len(names) > 1 else f'is {one}'}.")
    named = "\n".join(line for line in body.splitlines() if re.search(r"\b(?:message|publish) ", line))
    marks = [(pattern, meaning, body) for pattern, meaning in NOTATION.items()]
    marks += [(rf"(?<= ){word}(?= |;|$)", meaning, named) for word, meaning in TERMS.items()]
    for pattern, meaning, place in marks:
        if found := re.search(pattern, place, re.MULTILINE):
            told.append(meaning.format(found[0], *found.groups()))
    return " ".join(told)


def lean(case: Case) -> Case:
    """What a replay needs of it, and no more: an issue tells the rest in words."""
    told = case.as_told
    return evolve(
        told, quirk="", explanation="", control=None, reproduced=None, found_by="", argument="", notes=()
    )


def release_of(it: ReportedFinding) -> str:
    """As `quidnunc routers build` names it; empty for what is no release."""
    name, _, release = it.router.partition("@")
    return f"{name}@{release or it.version}" if name in PACKAGES else ""


def claim_of(it: ReportedFinding) -> str:
    """The router, its version and what it is said to do, before the sentence that is cited."""
    run = f"`{it.package}` ({RUN_AS.get(it.protocol, it.protocol.replace('gossipsub-', 'gossipsub '))}"
    run += f", {ADDITIONS_OFF})" if it.is_bare else ")"
    quoted = bool(it.sentences) and it.sentences[0].is_quote
    if it.verdict in CITING and it.sentences:
        return f"{run} {CITING[it.verdict][0 if quoted else 1]}"
    return f"{run}: {it.says}."


def expected_lines(it: ReportedFinding) -> Iterator[str]:
    """What the router is to do at the last step, and what it is not to do."""
    if it.case is not None and it.case.is_network:
        yield from (code(line.text) for line in it.expected)
        return
    if choices := [*_choices(it)]:
        yield from (
            f"makes another choice of {each}, one that follows the sentence above" for each, _ in choices
        )
        return
    for line in it.diverging:
        if line.side == "later":
            yield f"{act_of_line(line.text)}, then or later"
        elif line.side in ("both", "model"):
            yield act_of_line(line.text)
    yield from (_refused(line) for line in it.diverging if line.side == "router")


def _choices(it: ReportedFinding) -> Iterator[tuple[str, str]]:
    """What the router chooses at fault where no one output of it is; and what is wrong with it, if said."""
    for line in it.diverging:
        if line.text.startswith("choice "):
            name, _, reason = line.text.removeprefix("choice ").partition(": ")
            said = lower_first(chosen_words(f"{name}: {reason}"))
            yield CHOICES.get(name, name), "" if _UNSAID in reason else said


def observed_lines(it: ReportedFinding) -> Iterator[str]:
    """What the router does then."""
    choices = [*_choices(it)]
    at_fault = any(not reason for _, reason in choices)
    yield from (f"**{reason}**" for _, reason in choices if reason)
    for line in it.diverging:
        if line.text.startswith("choice "):
            continue
        if line.side == "both":
            yield f"**{act_of_line(line.text)}**" if at_fault else act_of_line(line.text)
        elif line.side == "router":
            again = " once more" if line.is_further and not TIMES.search(line.text) else ""
            yield f"**{act_of_line(line.text, more=line.is_further)}{again}**"
        elif line.side == "model":
            yield f"**{act_of_line(line.text, does=False)}**"
        elif line.side == "later":
            yield act_of_line(line.text, does=False).replace("does not send", "has not sent", 1)


def _refused(line: OutputLine) -> str:
    if line.is_further:
        return f"{act_of_line(TIMES.sub('', line.text), does=False)} again"
    return act_of_line(line.text, does=False)


def act_of_line(text: str, *, does: bool = True, more: bool = False) -> str:
    """`a: graft t1` is: sends `graft t1` to a."""
    peers, colon, said = text.partition(": ")
    if colon and re.fullmatch(r"[a-z]+(?:(?:,|\.\.)[a-z]+)*", peers):
        times = re.match(r"(\d+)x ", said)
        often = f", {times[1]} {'more times' if more else 'times'}" if times else ""
        said = said[times.end() :] if times else said
        return f"{'sends' if does else 'does not send'} {code(said)} to {peers}{often}"
    verb, _, rest = text.partition(" ")
    if verb == "deliver":
        return f"{'delivers' if does else 'does not deliver'} {code(rest)} to the application"
    return f"{'shows' if does else 'does not show'} {code(text)}"


def _fence(text: str) -> str:
    """Longer than any row of ticks in what it stands around."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def mermaid(diagram: SequenceDiagram) -> str:
    """The diagram in the language of Mermaid, which GitHub draws."""
    names = {lane: f"p{at}" for at, lane in enumerate(diagram.lanes)}
    lines = ["sequenceDiagram"]
    lines += [f"    participant {name} as {_text(_lane(lane, diagram))}" for lane, name in names.items()]
    for step in diagram.steps:
        # What may or may not happen is no part of a finding.
        if step.side != "may":
            lines += _step_lines(step, names)
    return "\n".join(lines)


def _sequence_of(it: ReportedFinding) -> str:
    """What the text leaves open is not forbidden: it is against one reading."""
    drawn = mermaid(it.diagram) if it.diagram else ""
    return drawn.replace("NOT ALLOWED: ", "NOT BY THAT READING: ") if it.verdict == "observed" else drawn


def _step_lines(step: SequenceStep, names: dict[str, str]) -> list[str]:
    text = _text(MARKS.get(step.side, "") + step.text)
    if chosen := re.fullmatch(r"chooses ([\w.]+): (.*)", step.text):
        said = f"this choice of {CHOICES.get(chosen[1], chosen[1])}"
        if _UNSAID not in chosen[2]:
            said = lower_first(chosen_words(f"{chosen[1]}: {chosen[2]}"))
        text = _text(f"NOT ALLOWED: {said}")
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
    if not diagram.timed or lane in (ROUTER, APPLICATION):
        return lane
    return f"peer {lane}" if lane.isalpha() else f"peers {lane}"


def code(text: str) -> str:
    """`text` as code within a line."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def heading(act: str) -> str:
    """What the router does, without the peers and topics of this run, which the sequence has."""
    return plain(_PEERS_OF_RUN.sub("", act))


def plain(text: str) -> str:
    """`text` in Markdown, as it stands: nothing of it is markup but code, and nobody is mentioned."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(each if at % 2 else _escaped(each) for at, each in enumerate(parts)).replace(
        "@", "@\u200b"
    )


def _escaped(text: str) -> str:
    """Underscores within a word are no markup, and brackets that no link follows are none."""
    return re.sub(r"([\\`*<>#|~]|(?<!\w)_|_(?!\w)|\[(?=[^\]]*\][(\[:]))", r"\\\1", text)
