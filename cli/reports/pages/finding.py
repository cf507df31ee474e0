"""A finding as it is told to somebody who does not have the kit: of a case, or of a row of `check --json`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from quidnunc.impl.own_names import own_setting
from quidnunc.model.events import Crashed
from quidnunc.model.rpc import Peer
from quidnunc.properties.cases.case import NOT_EXPLAINED, UNEXPLAINED, Case, Side, events_of, replay_command
from quidnunc.properties.cases.choosing import chosen_words
from quidnunc.properties.cases.deciding import names_in_play
from quidnunc.properties.cases.file import MARKS, RULER, body_of, parse, render
from quidnunc.properties.cases.rejudged import departures_by_text
from quidnunc.properties.cases.telling import CITING as CITING_NOTES
from quidnunc.properties.documents.clauses import Clause, load
from quidnunc.properties.notation.parameters import attribute_of, parameters_told
from quidnunc.properties.notation.words import peers_named
from quidnunc.reports.pages.configuration import DECIDES, RouterConfiguration, configuration_of
from quidnunc.reports.pages.links import SpecificationPlace, place_of
from quidnunc.reports.pages.mechanisms import SourceMechanism, mechanism_of
from quidnunc.reports.pages.sequence import SequenceDiagram, sequence_of

SIDES: Mapping[Side, str] = {
    "both": "as expected",
    "router": "not allowed",
    "model": "due, and missing",
    "later": "owed, not due yet",
    "may": "allowed, did not happen",
}
"""What each side of an output means, in words."""
WITH_ADDITIONS = ("js-libp2p", "py-libp2p")
"""Routers whose drivers switch additions off with `--profile spec`."""
VERDICTS: Mapping[str, str] = {
    "broken": "our own router does the same: the kit is at fault",
    "fails": "violates the specification",
    "deviates": "does not follow advice of the specification",
    "observed": "reads a place that the specification leaves open",
    "undecided": "violates the specification or reads it otherwise: the search ended before it was explained",
    "refuted": "a network of routers that follow the text breaks the statement",
    "expected": "is listed in the file of expectations",
    "fixed": "was mended, and must not come back",
    "suite": "must hold",
    "disputed": "quidnunc may be wrong",
}
"""Verdicts on a root cause, the worst first."""
WITHHELD = (
    "What makes the router crash is not shown here. Give the maintainers the case in private; "
    "`quidnunc check --private DIR` writes it."
)
PACKAGES: Mapping[str, tuple[tuple[int, str], ...]] = {
    "cometbft": ((2, "github.com/cometbft/cometbft/v2"), (0, "github.com/cometbft/cometbft")),
    "go-libp2p-pubsub": ((0, "github.com/libp2p/go-libp2p-pubsub"),),
    "js-libp2p": ((15, "@libp2p/gossipsub"), (1, "@chainsafe/libp2p-gossipsub"), (0, "libp2p-gossipsub")),
    "py-libp2p": ((0, "libp2p"),),
}
"""Router -> what its releases are published as, from which major version on, the newest first."""
TIMES = re.compile(r"(?<=: )\d+x (?=\S)")
"""In an output, how often it was sent."""
_MARKS: Mapping[str, Side] = {mark: side for side, mark in MARKS.items()}


RESTS_ON: Mapping[str, str] = {
    "algorithm": "The specification implies",
    "pseudo-code": "The specification implies, by its pseudo-code",
    "table": "The specification implies, by its table of parameters",
    "schema": "The specification implies, by its message format",
    "convention": "No sentence of the specification says so; it is commonly read thus",
}
"""Basis of a clause -> how it is told where no words of the document are quoted."""


@frozen
class CitedSentence:
    """The sentence that is broken: the words of the document where they are short, ours otherwise."""

    clause: Clause
    place: SpecificationPlace
    is_open: bool = False
    """Whether the router may read it otherwise."""

    @property
    def words(self) -> str:
        return " ".join((self.clause.quote or self.clause.text).split())

    @property
    def context(self) -> str:
        return " ".join(self.clause.context.split())

    @property
    def is_quote(self) -> bool:
        return bool(self.clause.quote)

    @property
    def lead(self) -> str:
        """What an issue says before words that are ours: on what they rest."""
        if self.is_open:
            return "One reading of the specification"
        return RESTS_ON.get(self.clause.basis, "The specification says, in our words")


@frozen
class OutputLine:
    """One line of output, and its side."""

    text: str
    side: Side
    is_further: bool = False
    """Of what is not allowed: the same is due or allowed beside it, and this is one more."""

    @property
    def says(self) -> str:
        if not self.is_further:
            return SIDES[self.side]
        return "more than is allowed" if TIMES.search(self.text) else "one more than is allowed"


@frozen(kw_only=True)
class ReportedFinding:
    """One root cause of one router, or one statement that a network breaks."""

    number: int = 0
    """By which a matrix names it; 0 outside one."""
    headline: str
    verdict: str
    router: str
    version: str = ""
    protocol: str
    cause: str = ""
    clause: str
    sentences: tuple[CitedSentence, ...] = ()
    """The root cause's own first; then the one that this run breaks, where that is another."""
    case: Case | None = None
    """None where it is withheld."""
    withheld: bool = False
    remark: str = ""
    """Where it was replayed: what came of it."""
    expected_as: str = ""
    """Of one that is expected: the verdict that a file of expectations lists."""

    @property
    def says(self) -> str:
        """The verdict in a sentence."""
        said = VERDICTS.get(self.verdict, self.verdict)
        return f"{said}: it {VERDICTS[self.expected_as]}" if self.expected_as in VERDICTS else said

    @property
    def package(self) -> str:
        """The package and its version, as its users have them; the name of a router that has none."""
        name, _, release = self.router.partition("@")
        version = release or self.version
        major = re.match(r"v?(\d+)", version)
        of_versions = PACKAGES.get(name, ())
        package = next((p for least, p in of_versions if major and int(major[1]) >= least), name)
        return f"{package} {version}".strip()

    @property
    def diagram(self) -> SequenceDiagram | None:
        return sequence_of(self.case) if self.case else None

    @property
    def events(self) -> int:
        return len(events_of(self.case)) if self.case else 0

    @property
    def text(self) -> str:
        """The case as its file has it."""
        return render(self.case) if self.case else ""

    @property
    def mechanism(self) -> SourceMechanism | None:
        return mechanism_of(self.case) if self.case else None

    @property
    def configuration(self) -> RouterConfiguration:
        """As Markdown; of a router whose names and defaults nobody has looked up, in the words of the kit."""
        known = configuration_of(self.case) if self.case else None
        return known or RouterConfiguration(tuple(self._in_words_of_the_kit()))

    def _in_words_of_the_kit(self) -> Iterator[str]:
        """The parameters that may matter in this run."""
        read = names_in_play(self.case) if self.case else None
        router = self.router.partition("@")[0]
        for said in self._told:
            name, equals, rest = said.partition("=")
            if not equals:
                # In one line, what the driver has lifted.
                names = said.partition(": ")[2].rstrip(".").split(", ")
                kept = [each for each in names if read is None or attribute_of(each) in read]
                if kept:
                    yield f"Switched off, or without a limit, in this run: {', '.join(kept)}."
            # When a heartbeat comes no rule says.
            elif (
                not name.isidentifier()
                or read is None
                or name.startswith("heartbeat")
                or attribute_of(name) in read
            ):
                value, _, decides = rest.partition(" (default ")
                default, _, means = decides.partition("): ")
                own = own_setting(router, attribute_of(name), value)
                shown = f"`{own}`" if own else f"`{name}={value}` (quidnunc's default: {default})"
                yield f"{shown}: {means}"

    @property
    def _told(self) -> tuple[str, ...]:
        return parameters_told(self.case.parameters) if self.case else ()

    @property
    def is_bare(self) -> bool:
        """Whether the router adds to the protocol, and that was off: as shipped it may do otherwise."""
        return (
            self.case is not None and self.case.profile == "spec" and self.router.startswith(WITH_ADDITIONS)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the run; parameters are told apart, and sentences are cited."""
        notes = self.case.notes if self.case else ()
        told = {*self._told}
        return tuple(
            _note(each, "that reading" if self.verdict == "observed" else "the specification")
            for each in notes
            if each not in told and not each.startswith(CITING_NOTES)
            # The sequence shows when it was.
            if not _TIME_ALONE.fullmatch(each) and not DECIDES.fullmatch(each)
        )

    @property
    def act(self) -> str:
        """What the router does, for somebody who does not have the kit. Where the cause was not found, the
        headline tells of the search, so this tells of the first output that departs."""
        seen = self.headline.partition(UNEXPLAINED)[0].partition(NOT_EXPLAINED)[0].strip()
        return _without_clause(seen) if seen else self._seen

    @property
    def of_cause(self) -> str:
        """What is known of the cause beside that, where it is not the headline."""
        if self.case is not None and self.case.explanation:
            return f"The cause is read from the router's source. Its peers see: {self._seen}"
        if NOT_EXPLAINED in self.headline:
            return "The cause was not looked for: the time was up."
        if UNEXPLAINED not in self.headline:
            return ""
        told = self.headline[self.headline.index(UNEXPLAINED) :]
        return told.replace(UNEXPLAINED, "The cause was not found.").replace(" Nearly: ", " Nearest: ")

    @property
    def _seen(self) -> str:
        said = {"router": "Sends what the specification does not allow", "model": "Does not send what is due"}
        for line in self.diverging:
            if line.text.startswith("choice "):
                return chosen_words(line.text.removeprefix("choice "))
            if line.side in said:
                return f"{said[line.side]}: {line.text}"
        return self.headline

    @property
    def diverging(self) -> tuple[OutputLine, ...]:
        """The outputs of the block that departs."""
        if self.case is None:
            return ()
        for block, lines in zip(self.case.blocks, body_of(self.case), strict=True):
            if block.departs:
                below = [(line[2:], _MARKS[line[:2]]) for line in lines[lines.index(RULER) + 1 :]]
                due = {each for text, side in below if side != "router" for each in _single(text)}
                return tuple(
                    OutputLine(text, side, side == "router" and due.issuperset(_single(TIMES.sub("", text))))
                    for text, side in below
                )
        return ()

    @property
    def expected(self) -> tuple[OutputLine, ...]:
        """What the text allows or demands at that step; of a network, the statement that breaks."""
        if self.case is not None and self.case.is_network:
            return (OutputLine(self.headline.removeprefix("Refuted: "), "both"),)
        due = tuple(each for each in self.diverging if each.side != "router")
        choices = tuple(each for each in due if each.text.startswith("choice "))
        # What was sent is the choice that is at fault: none of it is due.
        return tuple(evolve(each, text=f"another {each.text}") for each in choices) or due

    @property
    def observed(self) -> tuple[OutputLine, ...]:
        return tuple(each for each in self.diverging if each.side in ("both", "router"))

    @property
    def replay(self) -> str:
        """The command that plays it again."""
        if self.case is None or self.case.path == "<text>":
            return ""
        return replay_command(self.case.path, self.case.against)

    @property
    def replay_saved(self) -> str:
        """The same for whoever has saved the case."""
        return replay_command("finding.case", self.case.against if self.case else "")

    @property
    def search(self) -> str:
        """The command that found it, where it is one."""
        found = self.case.found_by if self.case else ""
        return found if found.startswith(("quidnunc ", "python -m ")) else ""


_TIME_ALONE = re.compile(r"The router departs [\d.]+ s after its start\.")
_TIME_AND_FACTS = re.compile(r"The router departs ([\d.]+) s after its start; just before, (.*)", re.DOTALL)


def _note(said: str, by: str) -> str:
    if then := _TIME_AND_FACTS.fullmatch(said):
        at = "" if float(then[1]) == 0 else f", {then[1]} s after the start"
        return f"By {by}, at that point{at}: {then[2]}"
    return said


def _without_clause(said: str) -> str:
    """A headline without the id of its clause: the sentence itself is cited."""
    return re.sub(r" \(([\w.-]+/[\w.-]+)\)", lambda m: "" if m[1] in load() else m[0], said)


def _single(text: str) -> set[tuple[Peer | None, str]]:
    """What goes to each peer: (a, `graft t1`) and (b, `graft t1`) of `a,b: graft t1`."""
    peers, colon, said = text.partition(": ")
    if not colon:
        return {(None, text)}
    try:
        return {(peer, said) for peer in peers_named(peers)}
    except ValueError:
        # Of a network, or of a choice.
        return {(None, text)}


def finding_of(case: Case, *, verdict: str = "", remark: str = "") -> ReportedFinding:
    """The finding that a case shows. One that ends the router is told without its events."""
    case = case.as_told
    router, _, version = case.against.partition(" ")
    crashes = any(isinstance(shown.what, Crashed) for block in case.blocks for shown in block.shown)
    withheld = crashes and router.partition(":")[0] != "ours"
    return ReportedFinding(
        headline=case.reason if not withheld else f"Ends in a crash while it handles {case.clause}.",
        verdict=verdict or verdict_of_case(case),
        router="a network of models" if case.is_network else router,
        version=version,
        protocol=case.protocol,
        cause=case.quirk if not withheld else "",
        clause=case.clause,
        sentences=()
        if withheld
        else tuple(
            evolve(each, is_open=case.status == "observed")
            for each in cited_sentences(*_clauses_broken(case))
        ),
        case=None if withheld else case,
        withheld=withheld,
        remark=remark,
    )


def finding_of_row(number: int, row: Mapping[str, Any], report: Mapping[str, Any]) -> ReportedFinding:
    """The finding of one of the `root_causes` of `check --json`, numbered from 1.

    Raises CaseError for a case that cannot be read.
    """
    verdict, clause = str(row["verdict"]), str(row["clauses"][0])
    if row["text"]:
        case = parse(row["text"], row["case"] or "<text>")
        found = finding_of(case, verdict=verdict)
        return evolve(found, number=number, cause="" if found.withheld else row["quirk"])
    return ReportedFinding(
        number=number,
        headline="Crashes.",
        verdict=verdict,
        router=report["against"],
        version=report["router_version"],
        protocol=report["protocols"][0],
        clause=clause,
        withheld=True,
    )


def verdict_of_case(case: Case) -> str:
    """What a case says of its router, which reports call a verdict."""
    if case.status != "open":
        return case.status
    if case.is_network:
        return "refuted"
    if case.control == "departs":
        return "broken"
    clause = load().get(case.clause)
    return clause.breach if clause else "fails"


def cited_sentences(*clauses: str) -> Iterable[CitedSentence]:
    """The sentence of each clause that is known, once."""
    for each in dict.fromkeys(clauses):
        known, place = load().get(each), place_of(each)
        if known is not None and place is not None:
            yield CitedSentence(known, place)


def _clauses_broken(case: Case) -> Iterable[str]:
    """The clause of the root cause; then the one that the argument names, where it forbids what the case
    shows or demands what is missing. The argument may also name one that only the cause is known by."""
    named = re.match(r"(\S+/\S+) \(", case.argument)
    known = load().get(named[1]) if named else None
    if known is not None and known.carried_by == case.clause:
        # The rule decides for both, and this sentence is the one about what is shown.
        yield known.id
        return
    yield case.clause
    if named and named[1] != case.clause:
        if any(each.clause == named[1] for each in departures_by_text(case) or ()):
            yield named[1]


def worst_first(findings: Iterable[ReportedFinding]) -> list[ReportedFinding]:
    """By verdict, then by clause."""
    order = [*VERDICTS]
    return sorted(
        findings,
        key=lambda f: (order.index(f.verdict) if f.verdict in order else len(order), f.clause, f.cause),
    )
