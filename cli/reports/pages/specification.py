"""A protocol's documents, sentence by sentence: what each demands, what checks it, what routers do."""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from quidnunc import __version__
from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import UsageError, count
from quidnunc.properties.cases.case import Case
from quidnunc.properties.coverage import ClauseCoverage, coverage
from quidnunc.properties.coverage import place_of as place_of_rule
from quidnunc.properties.documents.named_sentences import SentenceDigest, SpecificationText, texts
from quidnunc.properties.proofs.citations import lines_on, verdict_of
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.statements.catalogue import CATALOGUES, statements_on
from quidnunc.properties.statements.decisions import cell, read_decisions, recorded
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import ReportedFinding, finding_of, worst_first
from quidnunc.reports.pages.links import place_of, url_of
from quidnunc.reports.pages.page import MAX_PAGE_BYTES, SIGNS

STATES: Mapping[str, tuple[str, str]] = {
    "unchecked": ("✖", "nothing checks it"),
    "exception": ("–", "routers are not asked to keep to it, and the reason is given"),
    "permits": ("○", "it permits something, and cannot be broken"),
    "elsewhere": ("·", "it is another protocol's, or a later version says otherwise"),
    "checked": ("✓", "a rule or the construction of the model has it, and a claim asks one router for it"),
    "prose": (" ", "it demands nothing"),
}
"""State of a sentence -> its sign, and what it means. A sentence has the first of its clauses' states."""
MAX_CASES = 12
"""Of the suite, named beside a clause."""


@frozen(kw_only=True)
class AnnotatedClause:
    """A clause of the protocol, and all that hangs on it."""

    coverage: ClauseCoverage
    state: str
    code: tuple[tuple[str, str], ...]
    """(place, source) of its rules."""
    findings: tuple[ReportedFinding, ...]
    networks: tuple[tuple[str, str], ...] = ()
    """(statement, what it came to) of the statements about networks of the protocol that rest on it."""
    lines: tuple[tuple[str, str], ...] = ()
    """(line of `prove`, its verdict) of what rests on it."""

    @property
    def id(self) -> str:
        return self.coverage.clause.id

    @property
    def anchor(self) -> str:
        return self.id.replace("/", "-").replace(".", "-")

    @property
    def quote(self) -> str:
        return " ".join(self.coverage.clause.quote.split())

    @property
    def words(self) -> str:
        return " ".join(self.coverage.clause.text.split())


@frozen(kw_only=True)
class AnnotatedSentence:
    """A sentence, or several after one another that demand nothing."""

    number: int
    state: str
    heading: str = ""
    """Where it is the first below its heading."""
    others: int = 0
    """How many sentences follow it that demand nothing either."""
    told: tuple[AnnotatedClause, ...] = ()
    """The clauses that it is the first to state."""
    again: tuple[str, ...] = ()
    """Clauses that are told at another sentence, or that are another protocol's."""


@frozen(kw_only=True)
class AnnotatedText:
    """One document."""

    name: str
    title: str
    revision: str
    url: str
    sentences: tuple[AnnotatedSentence, ...]
    unnamed: tuple[AnnotatedClause, ...]
    """Clauses that no sentence states: common practice, schemas and tables."""

    @property
    def states(self) -> list[tuple[str, int]]:
        counts = Counter(each.state for each in self.sentences if each.state != "prose")
        return [(state, counts[state]) for state in STATES if counts[state]]

    @property
    def demanding(self) -> int:
        return sum(each.state != "prose" for each in self.sentences)

    @property
    def total(self) -> int:
        return sum(1 + each.others for each in self.sentences)


def annotated_texts(protocol: str, cases: Iterable[Case] = ()) -> tuple[AnnotatedText, ...]:
    """The documents of a protocol; `cases` say what routers do."""
    found: dict[str, list[ReportedFinding]] = {}
    for case in cases:
        if case.status == "open" and not case.is_network:
            found.setdefault(case.clause, []).append(finding_of(case))
    sources = dict(_sources(protocol))
    decided = _decided(protocol)
    clauses = {
        each.clause.id: AnnotatedClause(
            coverage=each,
            state=_state(each),
            code=tuple((str(place), sources.get(str(place), "")) for place in each.rules),
            findings=tuple(worst_first(found.get(each.clause.id, ()))),
            networks=tuple(_networks(each.clause.id, decided)),
            lines=tuple((name, verdict_of(name)) for name in lines_on([each.clause.id], provers())),
        )
        for each in coverage(protocol)
    }
    concerned = {each.coverage.clause.document for each in clauses.values()}
    # A table of clauses may have several texts; what none of them states is told with the last.
    chosen = [text for text in texts().values() if concerned & {*text.documents}]
    chosen.sort(key=lambda text: (_mostly_elsewhere(text, clauses), text.name != protocol))
    left = dict(clauses)
    annotated = [_annotated(text, clauses, left) for text in chosen]
    return tuple(
        _with_unnamed(each, text, left, chosen[at + 1 :])
        for at, (each, text) in enumerate(zip(annotated, chosen, strict=True))
    )


def _with_unnamed(
    each: AnnotatedText,
    text: SpecificationText,
    left: Mapping[str, AnnotatedClause],
    later: Sequence[SpecificationText],
) -> AnnotatedText:
    mine = {*text.documents}.difference(*(other.documents for other in later))
    return evolve(each, unnamed=tuple(c for c in left.values() if c.coverage.clause.document in mine))


def _annotated(
    text: SpecificationText, clauses: Mapping[str, AnnotatedClause], left: dict[str, AnnotatedClause]
) -> AnnotatedText:
    """The sentences of a text; what is told here is taken out of `left`."""
    quoted_here = text.quoted
    sentences: list[AnnotatedSentence] = []
    heading = ""
    for number, each in enumerate(text.prints, 1):
        shown = each.heading if each.heading != heading else ""
        heading = each.heading
        before = sentences[-1] if sentences else None
        if _demands_nothing(each) and before and before.state == "prose" and not shown:
            sentences[-1] = evolve(before, others=before.others + 1)
            continue
        told = tuple(
            left.pop(name)
            for name in each.names
            if name in left and (name in each.quoting or name not in quoted_here)
        )
        sentences.append(
            AnnotatedSentence(
                number=number,
                state=_state_of(each, clauses),
                heading=shown,
                told=told,
                again=tuple(name for name in each.names if name not in {c.id for c in told}),
            )
        )
    return AnnotatedText(
        name=text.name,
        title=text.title,
        revision=text.revision,
        url=url_of(text.source),
        sentences=tuple(sentences),
        unnamed=(),
    )


def _mostly_elsewhere(text: SpecificationText, clauses: Mapping[str, AnnotatedClause]) -> bool:
    """Whether most of what it demands is of other protocols, which share some clauses with this one."""
    demanding = [each for each in text.prints if each.names]
    return sum(any(name in clauses for name in each.names) for each in demanding) * 2 < len(demanding)


def _demands_nothing(sentence: SentenceDigest) -> bool:
    return not sentence.names and (sentence.prose or not sentence.normative)


def _state_of(sentence: SentenceDigest, clauses: Mapping[str, AnnotatedClause]) -> str:
    if _demands_nothing(sentence):
        return "prose"
    states = {clauses[name].state if name in clauses else "elsewhere" for name in sentence.names}
    return next((state for state in STATES if state in states), "unchecked")


def _state(each: ClauseCoverage) -> str:
    if each.clause.status == "ruled" and not each.rules:
        # It has a rule in another protocol alone: a claim that names it is about what took its place.
        return "elsewhere"
    if each.held:
        return "checked"
    if each.clause.status == "exception":
        return "exception"
    return "permits" if each.clause.optional and each.clause.status != "not-modelled" else "unchecked"


def _decided(protocol: str) -> Mapping[str, str]:
    """Statement -> what small networks of the protocol came to."""
    decisions = (d for each in CATALOGUES.values() for d in read_decisions(recorded(each)))
    return {
        d.statement: f"refuted by a run of {len(d.events)} acts" if d.events else cell(d)
        for d in decisions
        if d.revision == protocol
    }


def _networks(clause: str, decided: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for each in statements_on(clause):
        if each.id in decided:
            yield each.id, decided[each.id]


def _sources(protocol: str) -> Iterator[tuple[str, str]]:
    """(place, source) of every rule of a protocol."""
    for _, each in PROTOCOLS[protocol].rules():
        try:
            source = inspect.getsource(inspect.unwrap(each.apply))
        except (OSError, TypeError):
            continue
        yield str(place_of_rule(each)), textwrap.dedent(source).strip()


def specification_page(
    protocol: str, shown: Sequence[AnnotatedText], routers: Sequence[str], again: str
) -> str:
    """The page; `routers` are those whose cases were read. Raises UsageError where it would be too large."""
    told = [c for each in shown for c in (*(c for s in each.sentences for c in s.told), *each.unnamed)]
    text = rendered(
        "specification.html",
        protocol=protocol,
        texts=shown,
        routers=routers,
        states=STATES,
        signs=SIGNS,
        anchors={each.id: each.anchor for each in told},
        place_of=place_of,
        max_cases=MAX_CASES,
        count=count,
        again=again,
        tool_version=__version__,
    )
    if len(text.encode()) > MAX_PAGE_BYTES:
        raise UsageError(f"the page would be larger than {MAX_PAGE_BYTES / 1e6:.0f} MB: name fewer cases")
    return text
