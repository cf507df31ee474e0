"""Replay of network cases, and cases of what a search of networks has found."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from quidnunc.impl.seam import AdapterError
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.properties.cases import Outcome
from quidnunc.properties.network_case import Block, Family, NetworkCase, family_of, played, render_network
from quidnunc.properties.network_runs import ActError


@frozen(kw_only=True)
class NetworkReplayed:
    """What a replay came to; the same shape as that of a case of one router."""

    case: NetworkCase
    outcome: Outcome
    reason: str
    at: int | None = None
    """Which act broke the claim, from 0."""
    rewritten: NetworkCase

    @property
    def departs(self) -> bool:
        return self.outcome in ("same", "different", "departs")

    @property
    def as_expected(self) -> bool:
        return self.outcome in ("same", "holds")

    @property
    def divergence(self) -> str:
        """The block that breaks the claim, as text; empty where none does."""
        broken = [block for block in self.rewritten.blocks if block.broken]
        if not broken:
            return ""
        text = render_network(evolve(self.rewritten, blocks=(broken[-1],)))
        return text.rstrip("\n").rsplit("\n\n", 1)[1]


def replay_network(case: NetworkCase, protocol: str = "") -> NetworkReplayed:
    """Play the schedule by the rules of the case's protocol, or of another.

    Raises CaseError for a claim that there is none of. What can not happen is inconclusive.
    """
    try:
        again = played(case, protocol)
    except ActError as error:
        return NetworkReplayed(case=case, outcome="inconclusive", reason=str(error), rewritten=case)
    except SpecError as error:
        raise CaseError(str(error)) from None
    return _judged(case, again, other=protocol not in ("", case.protocol))


SEEDS = 16
"""Routers draw what the texts leave open, so that a schedule is tried with several seeds."""
_BEST: tuple[Outcome, ...] = ("departs", "same", "different", "holds", "inconclusive")


def replay_on(case: NetworkCase, router: str, protocol: str = "") -> NetworkReplayed:
    """Play the schedule to real routers, with the model beside each; the claim is asked of these models.

    What the case says of choices is passed over, so that RPCs may be others than recorded: of `SEEDS` seeds
    the first counts that leads to the same ones, or else to a claim broken by the last act. Where a router
    departs from its model the outcome is `departs`, whatever the claim says.
    A schedule that breaks nothing, or that can not happen there, says nothing of the claim: inconclusive.
    Raises CaseError for a claim that there is none of, ValueError for an unknown router.
    """
    family = family_of(protocol or case.protocol)
    try:
        family.look(case, protocol or case.protocol)
    except SpecError as error:
        raise CaseError(str(error)) from None
    best: NetworkReplayed | None = None
    for seed in range(SEEDS):
        found = _on_routers(case, family, router, protocol, seed)
        if best is None or _BEST.index(found.outcome) < _BEST.index(best.outcome):
            best = found
        if best.outcome == "departs":
            break
        if found.outcome == "same" and found.rewritten == case:
            return found
    assert best is not None
    return best


def _on_routers(case: NetworkCase, family: Family, router: str, protocol: str, seed: int) -> NetworkReplayed:
    try:
        world = family.placed(case, protocol or case.protocol, router, seed)
    except (AdapterError, SpecError) as error:
        return NetworkReplayed(case=case, outcome="inconclusive", reason=str(error), rewritten=case)
    why = ""
    try:
        again = played(case, protocol, world)
        world.departures += [hidden] if (hidden := world.hidden()) else []
    except ActError as error:
        again, why = case, str(error)
    finally:
        world.close()
    found = _judged(case, again, other=protocol not in ("", case.protocol))
    if world.departures:
        reason = f"on {router}, seed {seed}: {world.departures[0]}"
        return evolve(found, outcome="departs", reason=reason)
    if why:
        return evolve(found, outcome="inconclusive", reason=why)
    if found.outcome == "fixed":
        # The texts leave open what would break it, and the router does otherwise.
        return evolve(
            found, outcome="inconclusive", reason=f"on {router}, with {SEEDS} seeds, {found.reason}"
        )
    if found.outcome == "different" and found.at == len(case.acts) - 1:
        why = found.reason.split("; recorded was: ")[0]
        found = evolve(found, outcome="same", reason=f"{why}, by other RPCs than recorded")
    said = f"on {router}, seed {seed}: {found.reason}"
    if world.blurred:
        return evolve(found, outcome="inconclusive", reason=f"{said}; but a choice could not be seen")
    if world.silent:
        said += "; so by the models alone, as the router does not say what it holds"
    return evolve(found, reason=said)


def _judged(case: NetworkCase, again: NetworkCase, *, other: bool) -> NetworkReplayed:
    """What a replay came to. `other`: by another protocol than the case's."""
    why = next((block.broken for block in again.blocks if block.broken), "")
    before = next((block.broken for block in case.blocks if block.broken), "")
    at = len(again.acts) - 1 if why else None
    must_hold = case.status == "fixed"
    if not why:
        outcome: Outcome = "holds" if must_hold else "fixed"
        reason = f"{case.claim} holds in all of {len(case.acts)} acts"
    elif must_hold:
        outcome, reason = "departs", f"{case.claim} is broken: {why}"
    elif again.blocks == case.blocks or (other and before):
        # Another protocol may well say more on the way.
        outcome, reason = "same", f"{case.claim} is broken: {why}"
    else:
        outcome = "different"
        reason = f"{case.claim} is broken: {why}; recorded was: {before or 'nothing'}, or other RPCs"
    return NetworkReplayed(case=case, outcome=outcome, reason=reason, at=at, rewritten=again)


def denied(says: str) -> str:
    """What a case of a statement shows."""
    plain = says[:2].istitle() and not says[:2].isupper() and says[1:2].islower()
    return f"Not so: {says[0].lower() + says[1:] if plain else says}"


def new_case(case: NetworkCase, acts: tuple[Any, ...]) -> NetworkCase:
    """A case of these acts, with what they lead to. Raises CaseError where they break nothing."""
    found = played(evolve(case, blocks=(Block(acts),)))
    if not found.blocks or not found.blocks[-1].broken:
        raise CaseError(f"{case.path}: this schedule does not break {case.claim}")
    return found


def network_data(case: NetworkCase) -> dict[str, Any]:
    """The case as data, for `--emit json`."""
    family = family_of(case.protocol)
    return {
        "nodes": [chr(64 + i) for i in case.nodes],
        "attackers": [chr(64 + i) for i in sorted(case.attackers)],
        "links": [[chr(64 + a), chr(64 + b)] for a, b in case.links],
        "before": [family.act_text(each) for each in case.before],
        "blocks": [
            {
                "acts": [family.act_text(each) for each in block.acts],
                "said": [*block.said],
                "broken": block.broken or None,
            }
            for block in case.blocks
        ],
    }
