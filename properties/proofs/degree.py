"""How many members a mesh has after a heartbeat, for any parameters and any number of peers.

A heartbeat is followed by its counts alone: members, those of them that were dialled (outbound), candidates
of both kinds. Each of its phases, in the order of `gs1.0/heartbeat.order`, adds or takes some. Which peers
these are does not matter; how many of those that a phase is free to choose are outbound is left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.edits import EditableVariants
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import Expression

ALONE = "the heartbeat alone changes the mesh meanwhile; its phases run one after the other"
BACKED_OFF = (
    "a peer that was dropped or cut is no candidate in the same heartbeat: it is in backoff, or just pruned"
)


@frozen(eq=False)
class MemberCounts:
    """Members and candidates, and how many of each are outbound."""

    members: Expression
    outbound: Expression
    candidates: Expression
    outbound_candidates: Expression

    def plus(self, some: Expression, outbound: Expression) -> MemberCounts:
        """Candidates become members."""
        return MemberCounts(
            self.members + some,
            self.outbound + outbound,
            self.candidates - some,
            self.outbound_candidates - outbound,
        )

    def minus(self, some: Expression, outbound: Expression) -> MemberCounts:
        """Members go, and are no candidates."""
        return MemberCounts(
            self.members - some, self.outbound - outbound, self.candidates, self.outbound_candidates
        )


@frozen(kw_only=True)
class HeartbeatRevision:
    """Which phases there are."""

    quotas: bool = True
    """From v1.1 on: negative scores, D_out, opportunistic grafting."""
    cuts_at_d_high: bool = False
    fills: bool = True
    """False for a planted error, as are the next five."""
    cuts_to_d: bool = True
    keeps_quota: bool = True
    fills_quota: bool = True
    cuts_above_d_high: bool = True
    """Where not, it cuts above D already."""
    stops_at_d: bool = True
    """Where not, it fills and cuts to D_low, which keeps every bound and is not D."""


@frozen(eq=False)
class HeartbeatSymbols:
    """The symbols of one heartbeat, and what ties them together."""

    revision: HeartbeatRevision
    d: Expression
    d_low: Expression
    d_high: Expression
    d_out: Expression
    before: MemberCounts
    dropped: Expression
    opportunistic: Expression
    after: MemberCounts
    related: tuple[Expression, ...] = field(repr=False)

    @property
    def allowed(self) -> Expression:
        """Parameters as the texts have them; v1.1: D_out below D_low, and no more than half of D."""
        plain = z3.And(self.d_low > 0, self.d_low <= self.d, self.d <= self.d_high)
        return z3.And(plain, self.d_out >= 0, self.d_out < self.d_low, 2 * self.d_out <= self.d)


def _least(a: Expression, b: Expression) -> Expression:
    return z3.If(a < b, a, b)


def heartbeat(revision: HeartbeatRevision) -> HeartbeatSymbols:
    """One heartbeat of any counts."""
    d, d_low, d_high = z3.Int("D"), z3.Int("D_low"), z3.Int("D_high")
    d_out = z3.Int("D_out") if revision.quotas else z3.IntVal(0)
    names = ("members", "outbound", "candidates", "outbound_candidates")
    before = MemberCounts(*map(z3.Int, names))
    related = [
        z3.And(0 <= before.outbound, before.outbound <= before.members),
        z3.And(0 <= before.outbound_candidates, before.outbound_candidates <= before.candidates),
    ]
    now, dropped, opportunistic = before, z3.IntVal(0), z3.IntVal(0)
    if revision.quotas:
        dropped, of_them = z3.Int("dropped"), z3.Int("dropped_outbound")
        related += _some(dropped, of_them, now.members, now.outbound)
        now = now.minus(dropped, of_them)
    wanted = d if revision.stops_at_d else d_low
    target = wanted if revision.fills else d_low - 1
    missing = z3.If(now.members < d_low, _least(target - now.members, now.candidates), 0)
    missing = missing if revision.fills else z3.If(missing > 0, missing, 0)
    of_them = z3.Int("filled_outbound")
    related += _some(missing, of_them, now.candidates, now.outbound_candidates)
    now = now.plus(missing, of_them)
    most = d_high if revision.cuts_above_d_high else d
    many = now.members >= most if revision.cuts_at_d_high else now.members > most
    excess = z3.If(many, now.members - (wanted if revision.cuts_to_d else d_high + 1), 0)
    of_them = z3.Int("cut_outbound")
    related += _some(excess, of_them, now.members, now.outbound)
    if revision.quotas and revision.keeps_quota:
        related.append(now.outbound - of_them >= _least(d_out, now.outbound))
    now = now.minus(excess, of_them)
    if revision.quotas:
        short = z3.And(now.members >= d_low, now.outbound < d_out, z3.BoolVal(revision.fills_quota))
        more = z3.If(short, _least(d_out - now.outbound, now.outbound_candidates), 0)
        now = now.plus(more, more)
        opportunistic, of_them = z3.Int("opportunistic"), z3.Int("opportunistic_outbound")
        related += _some(opportunistic, of_them, now.candidates, now.outbound_candidates)
        now = now.plus(opportunistic, of_them)
    return HeartbeatSymbols(
        revision, d, d_low, d_high, d_out, before, dropped, opportunistic, now, tuple(related)
    )


def _some(
    some: Expression, outbound: Expression, of: Expression, of_outbound: Expression
) -> list[Expression]:
    """`some` out of `of`, of which `outbound` are of `of_outbound`."""
    return [
        some >= 0,
        some <= of,
        outbound >= 0,
        outbound <= some,
        outbound <= of_outbound,
        some - outbound <= of - of_outbound,
    ]


@frozen(kw_only=True)
class DegreeBound:
    """One statement about what a heartbeat leaves."""

    name: str
    clause: str
    text: str
    premise: Expression
    conclusion: Expression
    met: Expression
    """What must be possible besides, so that the statement is not empty."""


def of_1_0(beat: HeartbeatSymbols) -> Iterator[DegreeBound]:
    """What v1.0 and v1.1 have in common."""
    start, end = beat.before, beat.after
    yield DegreeBound(
        name="ceiling",
        clause="gs1.0/heartbeat.cut",
        text="after a heartbeat a mesh has at most D_high members"
        + (", opportunistic grafts aside" if beat.revision.quotas else ""),
        premise=z3.And(beat.allowed, beat.opportunistic == 0),
        conclusion=end.members <= beat.d_high,
        met=start.members > beat.d_high,
    )
    yield DegreeBound(
        name="floor",
        clause="gs1.0/heartbeat.fill",
        text="after a heartbeat a mesh has D_low members, or there is no candidate left",
        premise=beat.allowed,
        conclusion=z3.Or(end.members >= beat.d_low, end.candidates == 0),
        met=z3.And(start.members < beat.d_low, end.candidates > 0),
    )
    few, many = start.members < beat.d_low, start.members > beat.d_high
    plain = z3.And(start.outbound >= beat.d_out, beat.dropped == 0, beat.opportunistic == 0)
    yield DegreeBound(
        name="to-d",
        clause="gs1.0/heartbeat.fill",
        text="a mesh that a heartbeat fills or cuts has D members then, or fewer and no candidate is left"
        + (", where v1.1's other steps have nothing to do" if beat.revision.quotas else ""),
        premise=z3.And(beat.allowed, plain, z3.Or(few, many)),
        conclusion=z3.Or(end.members == beat.d, z3.And(end.members < beat.d, few, end.candidates == 0)),
        met=z3.And(many, start.candidates > 0, beat.d_low < beat.d, beat.d < beat.d_high),
    )
    between = z3.And(start.members >= beat.d_low, start.members <= beat.d_high)
    if beat.revision.cuts_at_d_high:
        between = z3.And(between, start.members < beat.d_high)
    calm = z3.And(between, plain)
    yield DegreeBound(
        name="no-churn",
        clause="gs1.0/heartbeat.no-churn",
        text="a heartbeat leaves a mesh as it is that has D_low to D_high members, and what v1.1 asks for",
        premise=z3.And(beat.allowed, calm),
        conclusion=z3.And(end.members == start.members, end.outbound == start.outbound),
        met=z3.And(calm, start.candidates > 0),
    )


def of_1_1(beat: HeartbeatSymbols) -> Iterator[DegreeBound]:
    """What outbound quotas add."""
    start, end = beat.before, beat.after
    most = beat.d_high
    if beat.revision.cuts_at_d_high:
        most = z3.If(beat.d > beat.d_high - 1, beat.d, beat.d_high - 1)
    yield DegreeBound(
        name="ceiling-with-quota",
        clause="gs1.1/outbound.fill",
        text="after a heartbeat a mesh has at most "
        + ("the greater of D and D_high - 1" if beat.revision.cuts_at_d_high else "D_high")
        + ", D_out and the opportunistic grafts together",
        premise=beat.allowed,
        conclusion=end.members <= most + beat.d_out + beat.opportunistic,
        # The bound is met, and not because quotas are missing.
        met=z3.And(
            end.members == most + beat.d_out + beat.opportunistic, beat.d_out > 0, beat.opportunistic > 1
        ),
    )
    yield DegreeBound(
        name="quota",
        clause="gs1.1/outbound.fill",
        text="after a heartbeat a mesh has D_out outbound members, or there is no outbound candidate left",
        premise=beat.allowed,
        conclusion=z3.Or(end.outbound >= beat.d_out, end.outbound_candidates == 0),
        met=z3.And(start.outbound < beat.d_out, end.outbound_candidates > 0),
    )
    quiet = z3.And(beat.dropped == 0, beat.opportunistic == 0)
    yield DegreeBound(
        name="quota-passes",
        clause="gs1.1/outbound.cut-quota",
        text="a mesh that its quota took above D_high has D members after the next heartbeat",
        premise=z3.And(beat.allowed, start.members > beat.d_high, start.outbound >= beat.d_out, quiet),
        conclusion=end.members == beat.d,
        met=z3.And(beat.d_out > 0, start.outbound > beat.d_out),
    )


REVISIONS = EditableVariants(
    {
        "1.0": HeartbeatRevision(quotas=False),
        "1.1": HeartbeatRevision(),
        "1.1-go": HeartbeatRevision(cuts_at_d_high=True),
    }
)


def bounds(beat: HeartbeatSymbols) -> Sequence[DegreeBound]:
    """Every statement about this revision."""
    return [*of_1_0(beat), *(of_1_1(beat) if beat.revision.quotas else ())]


def bound_results(questions: SolverSession) -> Iterator[ProofResult]:
    """Every bound of every revision."""
    for name, revision in REVISIONS.items():
        beat = heartbeat(revision)
        for each in bounds(beat):
            yield of_bound(questions, name, beat, each)


def of_bound(questions: SolverSession, name: str, beat: HeartbeatSymbols, bound: DegreeBound) -> ProofResult:
    """One bound: whether it always holds, and if not, the least mesh for which it does not."""
    label = f"mesh-degree.{name}.{bound.name}"
    answer, values = questions.solve(label, *beat.related, bound.premise, z3.Not(bound.conclusion))
    met, _ = questions.solve(f"{label}: its premise", *beat.related, bound.premise, bound.met)
    said = [f"{key} {values[key]}" for key in sorted(values) if values[key]]
    return ProofResult(
        name=label,
        text=bound.text,
        verdict="proved" if answer == "unsat" else "refuted" if answer == "sat" else "undetermined",
        scope=f"v{name.replace('-', ', ')}: every D, D_low, D_high and D_out that is allowed; any peers",
        assumptions=(ALONE, BACKED_OFF),
        engine="z3, whole numbers",
        vacuous=met != "sat",
        evidence=(f"with {', '.join(said)}",) if answer == "sat" else (),
    )
