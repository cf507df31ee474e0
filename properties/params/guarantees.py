"""What parameters of a score guarantee: verdict, cheapest attack, assumptions, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from attrs import Factory, frozen

from quidnunc.properties.params.advice import Advice, in_sight, longer_memory, no_starving, shed
from quidnunc.properties.params.attack import Attack, simulate_attack, starving_attack
from quidnunc.properties.params.citations import row_of
from quidnunc.properties.params.claims import CellSolver, PropertyCell, cells, no_shadowing
from quidnunc.properties.params.punish import (
    MAX_DECAYS,
    Penalty,
    delivery_quota,
    invalid_until_graylisted,
    neighbours_until,
    penalties,
)
from quidnunc.properties.params.score import never_fractions
from quidnunc.properties.params.values import ZERO, NetworkParameters, decimal
from quidnunc.properties.solver.questions import SolverSession

Verdict: TypeAlias = Literal["holds", "fails", "depends", "unknown"]
"""`depends`: on what the file does not say; the line names it."""

REAL = "counters are real numbers, as under decay"
REACHED = "the counters shown are reached by a run"
KEPT = "a counter that never decays, or is forgotten at each decay, is a whole number"


@frozen(kw_only=True)
class Guarantee:
    """One guarantee; what it always says is in `guarantees.toml`."""

    id: str
    verdict: Verdict
    found: tuple[str, ...] = ()
    """What was found: the cheapest attack, or the figures."""
    text: str = Factory(lambda one: row_of(one.id).text, takes_self=True)
    assumptions: tuple[str, ...] = Factory(lambda one: row_of(one.id).assumptions, takes_self=True)
    advice: tuple[Advice, ...] = ()
    clauses: tuple[str, ...] = Factory(lambda one: row_of(one.id).clauses, takes_self=True)
    """The sentences of the specifications that it rests on."""

    @property
    def advisories(self) -> tuple[str, ...]:
        """Public advisories that describe what its failure allows."""
        return row_of(self.id).advisories if self.verdict == "fails" else ()


def guarantees(
    network: NetworkParameters, questions: SolverSession, progress: Callable[[str], None]
) -> Iterator[Guarantee]:
    """Every line, in the order of the report."""
    progress(f"{network.name}: attacks")
    yield starving_line(network, questions)
    progress(f"{network.name}: properties")
    found = tuple(cells(network, questions))
    yield shadow_line(network, found, questions)
    yield punished_line(network, found, questions)
    yield good_line(network, found)
    yield from _plain_lines(found)
    progress(f"{network.name}: penalties")
    held = tuple(penalties(network))
    yield forgiven_line(network, held)
    yield kept_line(network, held)
    yield graylist_line(network)
    yield quiet_line(network)
    yield neighbours_line(network)


# -- attacks ------------------------------------------------------------------------------------------------


def starving_line(network: NetworkParameters, questions: SolverSession) -> Guarantee:
    """Whether a peer can be silent in a topic for ever and keep a score above zero."""
    copies, first = (starving_attack(network, questions, means) for means in ("copies", "first"))
    if not (copies.confirmed and first.confirmed):
        return Guarantee(id="no-starving", verdict="unknown")
    found = list(_attack_lines(network, copies))
    if first.starved > copies.starved:
        found += _attack_lines(network, first)
    fails = bool(first.starved)
    return Guarantee(
        id="no-starving",
        verdict="fails" if fails else "holds",
        found=tuple(found) or ("starving one topic costs more than all others together can add",),
        advice=tuple(no_starving(network, questions)) if fails else (),
    )


def _attack_lines(network: NetworkParameters, attack: Attack) -> Iterator[str]:
    if not attack.starved:
        return
    means = "passing on copies in time, never first" if attack.means == "copies" else "being first"
    share = f"{attack.starved} of {attack.topics} topics starved for ever"
    yield f"{share} at a score of {decimal(attack.score)}, {means}"
    starved = [part for part in attack.parts if part.starved]
    silent = [f"{p.starved} x {p.topic.name}" if p.starved > 1 else p.topic.name for p in starved]
    yield f"starved: {', '.join(silent)}"
    for part in attack.parts:
        if part.kept and part.messages:
            firsts = f", {decimal(part.first)} of them first" if part.first else ""
            each = "each of the others" if part.topic.count > 1 else "it"
            yield f"{part.topic.name}: {decimal(part.messages)} messages per decay interval in {each}{firsts}"
    played = simulate_attack(network, attack)
    if played.settled:
        yield (
            f"played: from {played.intervals} decays after the last starved message on nothing changes; "
            f"in whole counters, right after a decay, the score was never below {decimal(played.least)}"
        )


def shadow_line(
    network: NetworkParameters, found: Sequence[PropertyCell], questions: SolverSession
) -> Guarantee:
    """No topic below zero under a total above zero."""
    of_all = [c for c in found if c.property == "no-shadowing" and not c.application]
    refuted = [c for c in of_all if c.verdict == "refuted"]
    in_whole = {c.topic for c in refuted if c.whole}
    shown = [c for c in refuted if c.whole or c.topic not in in_whole or c.decays]
    lines = [_shadow(cell) for cell in shown]
    free = [c for c in found if c.property == "no-shadowing" and c.application and c.verdict == "refuted"]
    only_free = {c.topic for c in free} - {c.topic for c in of_all if c.verdict == "refuted"}
    lines += _whole_besides(of_all)
    lines += _if_it_decayed(network, of_all, questions)
    if only_free:
        lines.append(f"with an application score above zero also {', '.join(sorted(only_free))}")
    elif free:
        lines.append("an application score above zero hides more")
    return Guarantee(
        id="no-shadowing",
        verdict=_verdict(of_all),
        found=tuple(lines),
        assumptions=_of_counters(network, shown),
    )


def _of_counters(network: NetworkParameters, shown: Sequence[PropertyCell]) -> tuple[str, ...]:
    """What is taken for granted of the counters."""
    unknown = list(dict.fromkeys(c.topic for c in shown if c.decays is None))
    if shown and not unknown:
        return (REACHED,)
    kept = (KEPT,) if any(never_fractions(topic) for topic in network.topics) else ()
    where = f" in {', '.join(unknown)}" if len(unknown) < len({c.topic for c in shown}) else ""
    return (REAL, *kept, f"any counters under their caps{where}, reachable or not")


def _if_it_decayed(
    network: NetworkParameters, of_all: Sequence[PropertyCell], questions: SolverSession
) -> Iterator[str]:
    """What fails only if counters decay that, by the file, do not."""
    failing = {c.topic for c in of_all if c.verdict == "refuted"}
    for topic in network.topics:
        if topic.name in failing or topic.invalid_message_deliveries_decay != 1:
            continue
        asked = CellSolver(network, "v1.1", questions)
        cell = no_shadowing(asked, topic, whole=False, application=False, as_if_decaying=True)
        if cell.verdict == "refuted":
            yield f"if invalid messages decayed, which by this file they do not: {_shadow(cell)}"


def _whole_besides(of_all: Sequence[PropertyCell]) -> Iterator[str]:
    """Where whole counters have another verdict than those that decay."""
    by_topic = {(c.topic, c.whole): c.verdict for c in of_all}
    for topic in dict.fromkeys(c.topic for c in of_all):
        if by_topic[topic, False] == "refuted" and by_topic[topic, True] == "proved":
            yield f"{topic}: with whole counters, as before their first decay, it does not hide"


def _shadow(cell: PropertyCell) -> str:
    own, total = cell.totals
    counters = "whole" if cell.whole or cell.decays == 0 else "decayed" if cell.decays else "real"
    return (
        f"{cell.topic} at {decimal(own)} hides under {decimal(total)} ({counters} counters: "
        f"{_counters(cell)}; the other topics add {decimal(cell.others)})"
    )


def _counters(cell: PropertyCell) -> str:
    """What is not zero of a witness."""
    assert cell.before is not None
    names = {
        "time_ms": "ms in the mesh",
        "first": "first deliveries",
        "meshed": "mesh deliveries",
        "failures": "mesh failures",
        "invalid": "invalid messages",
    }
    if cell.decays:
        since = f"{cell.decays} decay{'s' if cell.decays > 1 else ''} ago"
        names["invalid"] = f"of invalid messages, {since}"
    parts = [
        f"{decimal(getattr(cell.before, name))} {text}"
        for name, text in names.items()
        if getattr(cell.before, name)
    ]
    return ", ".join(parts) or "all zero"


def punished_line(
    network: NetworkParameters, found: Sequence[PropertyCell], questions: SolverSession
) -> Guarantee:
    """What is bad lowers the total."""
    of_all = [c for c in found if c.property == "punished" and (c.settled or not c.topic)]
    lines = []
    for term in ("P3", "P3b", "P4", "P6", "P7"):
        wrong = sorted({c.topic for c in of_all if c.term == term and c.verdict == "refuted"})
        void = sorted({c.topic for c in of_all if c.term == term and c.verdict == "vacuous"})
        if wrong:
            lines.append(f"{term}: worse, and not punished{_in(wrong)}")
        if void:
            lines.append(f"{term}: cannot get worse at all{_in(void)}")
    hidden = network.topic_score_cap and network.greatest > network.topic_score_cap
    if hidden:
        lines.append(
            f"topics add up to {decimal(network.greatest)} and count for {decimal(network.topic_score_cap)}: "
            f"the first {decimal(network.greatest - network.topic_score_cap)} of any penalty is hidden"
        )
    return Guarantee(
        id="punished",
        verdict=_verdict(of_all),
        found=tuple(lines),
        advice=tuple(in_sight(network, questions)) if hidden else (),
    )


def _in(topics: Sequence[str]) -> str:
    return f" in {', '.join(topics)}" if any(topics) else ""


def good_line(network: NetworkParameters, found: Sequence[PropertyCell]) -> Guarantee:
    """What is good never lowers a topic's score."""
    of_all = [c for c in found if c.property == "good-is-good" and c.verdict != "vacuous"]
    early = sorted({c.topic for c in of_all if c.verdict == "refuted" and not c.settled})
    lines = [f"before the activation is over, more time in the mesh lowers the score in {', '.join(early)}"]
    return Guarantee(
        id="good-is-good",
        verdict=_verdict([c for c in of_all if c.settled]),
        found=tuple(lines) if early else (),
    )


def _plain_lines(found: Sequence[PropertyCell]) -> Iterator[Guarantee]:
    of_all = [c for c in found if c.property == "fair"]
    yield Guarantee(id="fair", verdict=_verdict(of_all))


def _verdict(found: Sequence[PropertyCell]) -> Verdict:
    """Of cells together: what holds only because nothing that it speaks of occurs does not fail."""
    verdicts = {cell.verdict for cell in found}
    if "refuted" in verdicts:
        return "fails"
    return "unknown" if "undetermined" in verdicts or "proved" not in verdicts else "holds"


# -- penalties ----------------------------------------------------------------------------------------------


def duration(network: NetworkParameters, decays: int | None) -> str:
    """So many decays, and the time that they take."""
    if decays is None:
        return "for ever"
    seconds = decays * network.decay_interval_ms / 1000
    more = "more than " if decays >= MAX_DECAYS else ""
    return f"{more}{decays} decay{'s' if decays != 1 else ''} ({decimal(seconds)} s)"


def forgiven_line(network: NetworkParameters, held: Sequence[Penalty]) -> Guarantee:
    """Every penalty ends."""
    lines = [
        f"{p.offence}{_at(p)}: {decimal(p.score)} at once, below zero {duration(network, p.zero)}"
        + (f", graylisted {duration(network, p.graylist)}" if p.graylist != 0 else "")
        for p in held
    ]
    for_ever = any(p.zero is None for p in held)
    return Guarantee(id="forgiven", verdict="fails" if for_ever else "holds", found=tuple(lines))


def kept_line(network: NetworkParameters, held: Sequence[Penalty]) -> Guarantee:
    """Nobody sheds a penalty by reconnecting."""
    sooner = shed(network, held)
    away_ms = network.retain_score_ms
    found: tuple[str, ...]
    if away_ms is None:
        need = f"it must be {duration(network, max((p.zero or 0 for p in held), default=0))} or more"
        need = "it would have to be for ever" if any(p.zero is None for p in held) else need
        found = (f"the file has no RetainScore, which Go takes for 0; {need}",) if held else ()
        verdict: Verdict = "depends" if held else "holds"
    else:
        found = tuple(
            f"{p.offence}{_at(p)}: gone after {decimal(away_ms / 1000)} s away, "
            f"and not {duration(network, p.zero)}"
            for p in sooner
        )
        verdict = "fails" if sooner else "holds"
    return Guarantee(
        id="kept", verdict=verdict, found=found, advice=tuple(longer_memory(network)) if sooner else ()
    )


def _at(penalty: Penalty) -> str:
    return f" in {penalty.topic}" if penalty.topic else ""


def graylist_line(network: NetworkParameters) -> Guarantee:
    """How much it takes to be graylisted, from nothing and from the top."""
    threshold = network.graylist_threshold
    if threshold is None:
        missing = ("the file has no graylist threshold",)
        return Guarantee(id="graylist", verdict="depends", found=missing, assumptions=())
    lines, fails = [], False
    for topic in network.topics:
        from_nothing = invalid_until_graylisted(network, topic, ZERO)
        # A cap cuts the sum of topics: what is above it must be lost first.
        from_top = invalid_until_graylisted(network, topic, network.greatest)
        fails |= from_nothing is None
        lines.append(
            f"{topic.name}: {from_nothing} invalid messages from a score of 0, {from_top} from the top"
            if from_nothing is not None
            else f"{topic.name}: invalid messages cost nothing"
        )
    return Guarantee(id="graylist", verdict="fails" if fails else "holds", found=tuple(lines))


# -- who means well -----------------------------------------------------------------------------------------


def quiet_line(network: NetworkParameters) -> Guarantee:
    """Nothing is held against an honest member of a quiet topic."""
    lines: list[str] = []
    verdicts: list[Verdict] = []
    for topic in network.topics:
        found = delivery_quota(network, topic)
        if found is None:
            continue
        if found.rate is None:
            verdicts.append("fails")
            lines.append(
                f"{topic.name}: no rate is enough: right after a decay a full counter is below the "
                f"threshold, which costs up to {decimal(found.cost)}"
            )
            continue
        known = topic.messages_per_interval
        need = max(found.rate, found.at_first or ZERO)
        verdicts.append("depends" if known is None else "holds" if known >= need else "fails")
        lines.append(
            f"{topic.name}: each member must deliver {decimal(found.rate)} messages per decay interval, "
            f"{decimal(found.at_first or ZERO)} until the activation is over"
            + ("" if known is None else f" (there are {decimal(known)})")
            + f"; a full counter lasts through {duration(network, found.silence)} of silence, "
            f"which then costs {decimal(found.cost)}"
        )
    worst: Verdict = "fails" if "fails" in verdicts else "depends" if "depends" in verdicts else "holds"
    return Guarantee(
        id="quiet", verdict=worst, found=tuple(lines) or ("no topic punishes what is not delivered",)
    )


def neighbours_line(network: NetworkParameters) -> Guarantee:
    """Honest peers that share an address."""
    lines = []
    places: list[tuple[str, Fraction | None]] = [
        ("below zero", ZERO),
        ("graylisted", network.graylist_threshold),
    ]
    for name, threshold in places:
        number = None if threshold is None else neighbours_until(network, threshold, ZERO)
        if number is not None:
            lines.append(f"from {number} peers behind one address on all of them are {name}")
    return Guarantee(
        id="neighbours",
        verdict="depends" if lines else "holds",
        found=tuple(lines) or ("addresses do not count",),
    )
