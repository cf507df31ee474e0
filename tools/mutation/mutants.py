"""The search for planted departures: is each mutant of our routers killed, how soon, and by which claim?

A claim is worth its name only with a mutant that it kills. `python -m tools.mutation`
searches all of them and writes the table; `--write FOLDER` keeps one killing case of each.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from quidnunc.impl.mutant import Mutant
from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Hello
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.cases.telling import departing_run, sentence_of
from quidnunc.properties.claims.catalogue import claim_on, claims_of
from quidnunc.properties.explain.root_cause import Finding
from quidnunc.properties.explain.runs import blamed_beside
from quidnunc.properties.judge.play import Opener, WireSubject
from quidnunc.properties.mutants import claim_expected, mutant_named, protocol_of_mutant
from quidnunc.properties.search.machine import FindingSearch, ReplayableFinding, search
from tools.mutation.accepted import ACCEPTED

RUNS = 400
"""After so many runs a mutant has survived."""
SOON_RUNS = {"steered": 100, "plain": 50}
"""After so many where only how soon a mutant is noticed is asked, with steering and without: a median."""
CHUNK = 20
"""Runs per call of the engine, which cannot be stopped early and goes on with empty runs."""
MAX_INPUT_LINES = 12
TRIES = 24
"""Seeds that are tried for a killing case."""
CHOOSY_TRIES = 6
"""So many of them for one by the very claim expected."""


@frozen
class KilledMutant:
    """A mutant that was found out."""

    mutant: str
    protocol: str
    seed: int
    runs: int
    """How many it took, the one that found it included."""
    claims: tuple[str, ...]
    """The claims that it fails: of each edit that accounts for it, of each departure, and of each term of the
    score that its run needs. Those of readings come last, because a reading that shows is no failure."""
    found: ReplayableFinding

    @property
    def claim(self) -> str:
        """The claim expected where it is among them, one that is accepted where not, or else the first."""
        mutant = mutant_named(self.mutant)
        expected = [c for c in self.claims if c == claim_expected(mutant)]
        return next(iter([*expected, *(c for c in self.claims if is_expected(mutant, c)), *self.claims]))

    @property
    def expected(self) -> bool:
        return is_expected(mutant_named(self.mutant), self.claim)


def is_expected(mutant: Mutant, claim: str) -> bool:
    """Whether this claim may be the one that kills the mutant."""
    accepted = ACCEPTED.get(mutant.name)
    return claim == claim_expected(mutant) or (accepted is not None and claim in accepted.claims)


def opener_of(name: str | None) -> Opener:
    """Configuration -> our router, in process; `name` is that of a mutant."""

    spec = "ours" if name is None else f"ours:{name}"
    return lambda config: WireSubject(open_router(spec, config), config)


def limit_of(*, kind: str, runs: int) -> int:
    """How many runs a search may take, of `runs` at most."""
    return min(runs, SOON_RUNS.get(kind, runs))


def search_mutant(name: str, *, seed: int, runs: int = RUNS, steered: bool = True) -> KilledMutant | None:
    """Look for the mutant, to the first finding; None where it survives `runs` runs.

    The same seed gives the same answer. Raises ValueError where there is no such mutant.
    """
    mutant = mutant_named(name)
    protocol = protocol_of_mutant(mutant)
    hunt = _searched(mutant, protocol, seed, runs, steered=steered, counting=False)
    found = next(iter(hunt.found.values()), None)
    if found is None:
        return None
    return KilledMutant(name, protocol, seed, hunt.runs, _claims_of(found, protocol), found)


def runs_to_notice(name: str, *, seed: int, runs: int = RUNS, steered: bool = True) -> int | None:
    """How many runs it takes to the first departure, whatever it is; None where `runs` do not suffice."""
    mutant = mutant_named(name)
    hunt = _searched(mutant, protocol_of_mutant(mutant), seed, runs, steered=steered, counting=True)
    return hunt.runs if hunt.departed else None


def seed_of_chunk(seed: int, number: int) -> int:
    """The engine's seed in one call of it."""
    return seed * 1_000_003 + number


def hello_of_mutant(name: str | None, protocol: str) -> Hello:
    """What it says of itself, or our router where no mutant is named."""
    spec = protocol_named(protocol)
    first = opener_of(name)(Config(protocol=protocol, parameters=family_of(spec).parameters()))
    first.close()
    return first.hello


def _searched(
    mutant: Mutant, protocol: str, seed: int, runs: int, *, steered: bool, counting: bool
) -> FindingSearch:
    opener = opener_of(mutant.name)
    hello = hello_of_mutant(mutant.name, protocol)

    def over(hunt: FindingSearch) -> bool:
        return bool(hunt.found) or (counting and hunt.departed > 0) or hunt.runs >= runs

    hunt = FindingSearch(protocol, opener, hello, steered=steered, counting=counting, stop_when=over)
    for number in range(runs):
        if over(hunt):
            break
        search(hunt, runs=CHUNK, seed=seed_of_chunk(seed, number))
    return hunt


def _claims_of(found: ReplayableFinding, protocol: str) -> tuple[str, ...]:
    finding, spec = found.finding, protocol_named(protocol)
    readings = [q.clause for q in finding.quirks if q.kind == "reading"]
    clauses = [q.clause for q in finding.quirks if q.kind != "reading"]
    clauses += [*finding.blamed, *blamed_beside(finding.moments, spec, found.parameters), *readings]
    claims = [(claim_on(clause, spec), clause) for clause in clauses]
    return tuple(dict.fromkeys(claim.id if claim is not None else clause for claim, clause in claims))


# -- killing cases ------------------------------------------------------------------------------------------


def killing_case(name: str, *, runs: int = RUNS) -> Case:
    """A short case that the mutant fails by a claim expected, and that our router passes.

    One by the very claim that rests on the mutant's clause is preferred. Raises ValueError where none of
    `TRIES` seeds leads to any, naming what was wrong with the last.
    """
    problem, second = f"it survives {runs} runs", None
    for seed in range(TRIES):
        if second is not None and seed >= CHOOSY_TRIES:
            break
        killed = search_mutant(name, seed=seed, runs=runs)
        if killed is None:
            continue
        case = case_of(killed)
        problem = problem_with(case)
        if not problem and killed.claim == claim_expected(mutant_named(name)):
            return case
        second = second or (case if not problem else None)
    if second is None:
        raise ValueError(f"no killing case of {name} from {TRIES} seeds: {problem}")
    return second


def case_of(killed: KilledMutant) -> Case:
    """The case of a kill, as found."""
    mutant, finding = mutant_named(killed.mutant), _of_claim(killed)
    return from_finding(
        finding,
        reason=f"A planted departure. {mutant.summary}",
        claim=killed.claim,
        protocol=killed.protocol,
        against=f"ours:{mutant.name}",
        parameters=killed.found.parameters,
        seed=killed.found.seed,
        found_by="make mutants",
        argument=sentence_of(_broken_by(finding, killed)),
    )


def _broken_by(finding: Finding, killed: KilledMutant) -> str:
    """The clause that the last step breaks."""
    filed = finding.clause if finding.quirks else ""
    spec, parameters = protocol_named(killed.protocol), killed.found.parameters
    told = departing_run(finding.moments, spec, parameters, finding.departure, filed)
    return told.clause if told is not None else finding.clause


def _of_claim(killed: KilledMutant) -> Finding:
    """The finding with what speaks of the claim in front: among its edits, or its departures."""
    protocol = protocol_named(killed.protocol)
    claim = next((c for c in claims_of(protocol) if c.id == killed.claim), None)
    clauses = claim.clauses if claim is not None else (killed.claim,)
    finding = killed.found.finding
    quirks = tuple(q for q in finding.quirks if q.clause in clauses)
    departures = finding.moments[-1].judged.departures
    told = zip(departures, finding.blamed, strict=True)
    shown = (d for d, clause in told if clause in clauses)
    # Edits that account for the run and speak of another claim are left out of a case of this one.
    return evolve(finding, quirks=quirks, departure=next(shown, finding.departure))


def problem_with(case: Case) -> str:
    """What keeps `case` from being a killing case; empty where nothing does."""
    return next(_problems(case), "")


def _problems(case: Case) -> Iterator[str]:
    lines = len(events_of(case))
    if lines > MAX_INPUT_LINES:
        yield f"its case has {lines} input lines, above {MAX_INPUT_LINES}"
    mutant = mutant_named(case.against.removeprefix("ours:"))
    if not is_expected(mutant, case.claim):
        yield f"its case is of {case.claim}, where {claim_expected(mutant)} was expected"
    seen = replay_router(case, opener_of(mutant.name))
    if seen.outcome != "same":
        yield f"its case replays as {seen.outcome}: {seen.reason}"
    control = replay_router(evolve(case, status="suite", against="ours"), opener_of(None))
    if control.outcome != "holds":
        yield f"our own router does not pass its case: {control.reason}"
