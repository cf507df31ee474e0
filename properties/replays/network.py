"""Cases of networks: a schedule is played, and must break its claim with its last act (docs/cases.md).

The routers are those of the model, so that replay is about the claim; `replay_on` puts real routers into
their places. What may be claimed differs between the two families of protocols: `NetworkClaims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from quidnunc.impl.seam import AdapterError
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.properties.cases.case import Case, CaseBlock, CaseOutput, NodeOutput
from quidnunc.properties.cases.file import body_of
from quidnunc.properties.cases.outcome import CaseReplay, Outcome
from quidnunc.properties.networks.acts import name_of, parts_text
from quidnunc.properties.networks.network import Move, NodeSetup
from quidnunc.properties.networks.places import FAMILIES
from quidnunc.properties.networks.routers import Routers, place_routers
from quidnunc.properties.networks.runs import ActError, BrokenClaim
from quidnunc.properties.networks.world import Look, World
from quidnunc.properties.statements import line_claims
from quidnunc.properties.statements.catalogue import ALIASES, statement_named
from quidnunc.properties.statements.dog.catalogue import DOG
from quidnunc.properties.statements.dog.revisions import DOG as DOG_REVISIONS
from quidnunc.properties.statements.gossipsub.catalogue import GOSSIPSUB
from quidnunc.properties.statements.gossipsub.revisions import COLUMNS
from quidnunc.properties.statements.statement import Catalogue, Statement


@frozen(kw_only=True)
class NetworkClaims:
    """What may be claimed of networks of one family of protocols."""

    nodes: str
    """What such a network is of."""
    catalogue: Catalogue
    parameters: type
    lines: Mapping[str, Look]
    """Refuted lines of `quidnunc prove`, by their names."""
    lines_of: tuple[str, ...]
    """The protocols that these are about."""

    def statement(self, case: Case) -> Statement:
        """The statement that a case is about. Raises SpecError for another claim."""
        found = statement_named(case.claim)
        if found is None or found.look is None or found not in self.catalogue.statements:
            raise SpecError(
                f"{place_in_front(case, 'claim')}: no claim {case.claim!r} on networks of {self.nodes}"
            )
        return found

    def look(self, case: Case) -> Look:
        """What a case is looked at for. Raises SpecError for an unknown claim."""
        line = self.lines.get(case.claim)
        look = line if line is not None else self.statement(case).look
        assert look is not None
        return look

    def world(self, case: Case, protocol: str) -> World:
        """The world of a case, in which nothing but the acts before has happened. Raises SpecError."""
        if protocol not in self.catalogue.columns or not isinstance(case.parameters, self.parameters):
            raise SpecError(f"{case.path}: {protocol} is no protocol of {self.nodes} in a network")
        revision = self.catalogue.revision(protocol)
        rules = revision.protocol
        if case.claim not in self.lines:
            edit = self.statement(case).edit
            rules = edit(rules) if edit is not None else rules
        elif reading := line_claims.READ_SO.get(case.claim):
            rules = edited(rules, [edit_named(reading, rules)])
        return World(
            family=FAMILIES[rules.family],
            setups=tuple(NodeSetup(i, rules, case.parameters) for i in case.nodes if i not in case.attackers),
            dials=case.links,
            transport=revision.transport,
            attackers=case.attackers,
            prelude=case.before,
        )

    def about(self, claim: str, protocol: str) -> bool:
        """Whether a claim is about a protocol; of another it may ask for what that has not."""
        if claim in self.lines:
            return protocol in self.lines_of
        found = statement_named(claim)
        return found is not None and found in self.catalogue.statements and protocol in found.revisions

    def placed(self, case: Case, protocol: str, router: str, seed: int) -> Routers:
        """The same with real routers. Raises SpecError where the claim is of no router, AdapterError for one
        that cannot run so."""
        reading = line_claims.READ_SO.get(case.claim, "")
        edits = case.claim not in self.lines and self.statement(case).edit is not None
        if edits or (reading and not router.endswith(f":{reading}")):
            raise SpecError(f"{case.path}: {case.claim} is of edited rules, which {router} does not have")
        return place_routers(self.world(case, protocol), router=router, seed=seed)


CLAIMS: Mapping[str, NetworkClaims] = {
    "pubsub": NetworkClaims(
        nodes="pubsub routers",
        catalogue=GOSSIPSUB,
        parameters=Parameters,
        lines=line_claims.PUBSUB,
        lines_of=tuple(name for name in COLUMNS if name != "floodsub"),
    ),
    "mempool": NetworkClaims(
        nodes="mempool nodes",
        catalogue=DOG,
        parameters=DogParameters,
        lines=line_claims.MEMPOOL,
        lines_of=DOG_REVISIONS,
    ),
}


def place_in_front(case: Case, name: str) -> str:
    """`path:line` of a field of a case's front matter; the path alone where the file is not to be had."""
    try:
        lines = Path(case.path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return case.path
    at = next((number for number, line in enumerate(lines, 1) if line.startswith(f"{name}:")), 0)
    return f"{case.path}:{at}" if at else case.path


def claims_on(protocol: str) -> NetworkClaims:
    """What may be claimed of networks of a protocol. Raises SpecError for an unknown one."""
    return CLAIMS[protocol_named(protocol).family]


def said(move: Move[Any]) -> Iterator[str]:
    """`A>B: graft t; message m1 t` for each RPC, and `B delivers m1`."""
    for step in move.steps:
        for peer, rpc in move.after.family.rpcs(step.node, step.sent):
            yield f"{name_of(step.node)}>{name_of(peer)}: {parts_text(rpc)}"
        yield from (f"{name_of(step.node)} delivers {each}" for each in step.delivered)


# -- playing ------------------------------------------------------------------------------------------------


def played_case(case: Case, protocol: str = "", world: Any = None) -> Case:
    """The case with its blocks anew, as the rules of its protocol (or another) have them, to where the claim
    breaks; in `world`, where its nodes are not those of the model. Raises ActError where an act cannot
    happen, and SpecError for an unknown claim."""
    protocol = protocol or case.protocol
    # A file of old may name its statement by number.
    case = evolve(case, claim=ALIASES.get(case.claim, case.claim))
    claims = claims_on(protocol)
    look = claims.look(case)
    world = claims.world(case, protocol) if world is None else world
    network, memory = world.start(), None
    blocks, silent = list[CaseBlock](), list[Any]()
    for act in case.acts:
        move = world.move(network, act)
        memory = look(memory, move)
        network = move.after
        silent.append(act)
        shown = [CaseOutput("both", NodeOutput(line)) for line in said(move)]
        broken = isinstance(memory, BrokenClaim)
        if isinstance(memory, BrokenClaim):
            shown.append(CaseOutput("router", memory))
        if shown:
            blocks.append(CaseBlock(tuple(silent), tuple(shown)))
            silent = []
        if broken:
            break
    if silent:
        blocks.append(CaseBlock(tuple(silent)))
    return evolve(case, blocks=tuple(blocks))


def replay_network(case: Case, protocol: str = "") -> CaseReplay:
    """Play the schedule by the rules of the case's protocol, or of another.

    Raises CaseError for a claim that there is none of. What cannot happen is inconclusive.
    """
    try:
        again = played_case(case, protocol)
    except ActError as error:
        return CaseReplay(case=case, outcome="inconclusive", reason=str(error), rewritten=case)
    except SpecError as error:
        raise CaseError(str(error)) from None
    return _judged(case, again, other=protocol not in ("", case.protocol))


SEEDS = 16
"""Routers draw what the texts leave open, so that a schedule is tried with several seeds."""
_BEST: tuple[Outcome, ...] = ("departs", "same", "different", "holds", "inconclusive")


def replay_on(case: Case, router: str, protocol: str = "") -> CaseReplay:
    """Play the schedule to real routers, with the model beside each; the claim is asked of these models.

    What the case says of choices is passed over, so that RPCs may be others than recorded: of `SEEDS` seeds
    the first counts that leads to the same ones, or else to a claim broken by the last act. Where a router
    departs from its model the outcome is `departs`, whatever the claim says.
    A schedule that breaks nothing, or that cannot happen there, says nothing of the claim: inconclusive.
    Raises CaseError for a claim that there is none of, ValueError for an unknown router.
    """
    claims = claims_on(protocol or case.protocol)
    try:
        claims.look(case)
    except SpecError as error:
        raise CaseError(str(error)) from None
    best: CaseReplay | None = None
    for seed in range(SEEDS):
        found = _on_routers(case, claims, router, protocol, seed)
        if best is None or _BEST.index(found.outcome) < _BEST.index(best.outcome):
            best = found
        if best.outcome == "departs":
            break
        if found.outcome == "same" and found.rewritten == case:
            return found
    assert best is not None
    return best


def _on_routers(case: Case, claims: NetworkClaims, router: str, protocol: str, seed: int) -> CaseReplay:
    try:
        world = claims.placed(case, protocol or case.protocol, router, seed)
    except (AdapterError, SpecError) as error:
        return CaseReplay(case=case, outcome="inconclusive", reason=str(error), rewritten=case)
    why = ""
    try:
        again = played_case(case, protocol, world)
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
        why = found.reason.split("; recorded: ")[0]
        found = evolve(found, outcome="same", reason=f"{why}, with other RPCs than recorded")
    said = f"on {router}, seed {seed}: {found.reason}"
    if world.blurred:
        return evolve(found, outcome="inconclusive", reason=f"{said}; but a choice does not show")
    if world.silent:
        said += "; judged by the models alone, because the router does not report its state"
    return evolve(found, reason=said)


def _judged(case: Case, again: Case, *, other: bool) -> CaseReplay:
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
        instead = _first_difference(case, again) if before == why else before or "nothing"
        reason = f"{case.claim} is broken: {why}; recorded: {instead}"
    return CaseReplay(case=case, outcome=outcome, reason=reason, at=at, rewritten=again)


def _first_difference(case: Case, again: Case) -> str:
    """The first line of the body that is not as recorded."""
    recorded, seen = (chain.from_iterable(body_of(each)) for each in (case, again))
    lines = zip_longest(recorded, seen, fillvalue="nothing")
    old, new = next((each for each in lines if each[0] != each[1]), ("the same", "in other blocks"))
    return f"{old.strip()!r}, now {new.strip()!r}"
