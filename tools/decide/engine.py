"""Decide one statement in one revision, by a search of small networks.

A statement is refuted by a run, the shortest that was found; or not refuted in so many drawn runs, and in all
runs of up to so many acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from quidnunc.properties.networks.acts import act_of
from quidnunc.properties.networks.network import Move
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import World
from quidnunc.properties.statements.catalogue import statement_named
from quidnunc.properties.statements.decisions import Decision
from quidnunc.properties.statements.statement import Catalogue, Statement
from tools.decide.place import Place, StatementSearch, world_of_statement
from tools.decide.plans import PLANS
from tools.decide.runs import WorldSearchResult, breadth_first, judge_run, minimised_run, walks
from tools.decide.searches import dog, gossipsub

SEARCHES: Mapping[str, StatementSearch] = {**gossipsub.SEARCHES, **dog.SEARCHES}
"""By the id of the statement."""


def decide(
    catalogue: Catalogue, statement: Statement, revision: str, known: Sequence[Decision] = ()
) -> Decision | None:
    """Search for a run that refutes the statement; None where no network decides it of that revision.

    What refutes it in other revisions (`known`) is tried as well.
    """
    if statement.look is None or revision not in statement.revisions:
        return None
    found = [*_searched(catalogue, statement, revision), *_tried(catalogue, statement, revision, known)]
    refuted = [each for each in found if each.events]
    if refuted:
        return min(refuted, key=lambda each: (len(each.events), not each.shortest))
    # Of the places the one that was gone through to the greatest depth is named, and all runs are counted.
    best = max(found, key=lambda each: (each.complete, each.depth))
    return evolve(
        best,
        runs=sum(each.runs for each in found),
        states=sum(each.states for each in found),
        applied=had_occasion(catalogue, statement, revision),
    )


def _searched(catalogue: Catalogue, statement: Statement, revision: str) -> Iterator[Decision]:
    assert statement.look is not None
    plan, search = PLANS[catalogue.name], SEARCHES[statement.id]
    effort = plan.effort_of_rounds if search.rounds else plan.effort
    for place in search.places:
        if revision in place.not_of:
            continue
        world = world_of_statement(statement, place, catalogue.revision(revision))
        every = breadth_first(world, statement.look, effort.states * search.times)
        if every.acts is not None:
            yield _decision(statement, revision, place, every, shortest=True)
            continue
        drawn = plan.search(world, statement.look, runs=effort.runs * search.times, length=effort.length)
        looked_at = evolve(drawn, depth=every.depth, complete=every.complete, states=every.states)
        yield _decision(statement, revision, place, looked_at)


def _tried(
    catalogue: Catalogue, statement: Statement, revision: str, known: Sequence[Decision]
) -> Iterator[Decision]:
    assert statement.look is not None
    search = SEARCHES[statement.id]
    names = {place.name for place in search.places}
    elsewhere = (each for each in known if each.revision != revision and each.place in names)
    runs = [(place_named(statement, each.place), each.events) for each in elsewhere if each.events]
    for place, run in (*runs, *search.tried):
        if revision in place.not_of:
            continue
        world = world_of_statement(statement, place, catalogue.revision(revision))
        tried = judge_run(world, statement.look, tuple(map(act_of, run)), strict=False)
        if tried.acts is not None:
            acts, why = minimised_run(world, statement.look, tried.acts)
            yield _decision(statement, revision, place, WorldSearchResult(acts, why))


def _decision(
    statement: Statement,
    revision: str,
    place: Place,
    found: WorldSearchResult,
    *,
    shortest: bool = False,
) -> Decision:
    return Decision(
        statement.id,
        revision,
        place.name,
        tuple(map(str, found.acts or ())),
        found.why,
        found.runs,
        found.states,
        found.depth,
        found.complete,
        shortest=shortest,
    )


def had_occasion(catalogue: Catalogue, statement: Statement, revision: str) -> bool:
    """Whether a drawn run in some place has what the statement is about."""
    search = SEARCHES[statement.id]
    occasion = search.occasion
    if occasion is None:
        return True

    def look(memory: Memory, move: Move[Any]) -> Memory:
        return BrokenClaim("here") if occasion(move) else None

    at = catalogue.revision(revision)
    places = (place for place in search.places if revision not in place.not_of)
    worlds = [world_of_statement(statement, place, at) for place in places]
    effort = PLANS[catalogue.name].effort
    return any(walks(w, look, runs=effort.runs, length=effort.length).acts is not None for w in worlds)


def place_named(statement: Statement, name: str) -> Place:
    """A place that a statement is looked at in. Raises ValueError where it is not, any more."""
    search = SEARCHES[statement.id]
    places = {place.name: place for place in (*search.places, *(place for place, _ in search.tried))}
    if name not in places:
        raise ValueError(f"{statement.id} is no longer decided in {name!r}: use --search")
    return places[name]


def world_of(catalogue: Catalogue, decision: Decision) -> World:
    """Where a decision was found. Raises ValueError if its statement is no longer looked at there."""
    statement = statement_named(decision.statement)
    assert statement is not None
    place = place_named(statement, decision.place)
    return world_of_statement(statement, place, catalogue.revision(decision.revision))


def still_refutes(catalogue: Catalogue, decision: Decision) -> WorldSearchResult:
    """The recorded run, judged again. Raises ActError where it cannot happen any more."""
    statement = statement_named(decision.statement)
    assert statement is not None and statement.look is not None
    return judge_run(world_of(catalogue, decision), statement.look, tuple(map(act_of, decision.events)))
