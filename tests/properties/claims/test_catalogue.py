"""Claims rest on clauses that a protocol rules, and can apply."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.impl.seam import CAPABILITIES
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.rules import rule
from quidnunc.properties.claims.catalogue import (
    breach_of,
    check_claims,
    claim_on,
    claims_of,
    clauses_asked,
    clauses_of,
    ground_of,
    level_of,
)
from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.claims.tables import ALL
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.occasions.occasion import by_permits, when
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.machine import search
from quidnunc.properties.search.verdicts import verdicts_of
from tests.helpers.puppet import MODEL, hunt


def test_each_has_a_name_of_its_own() -> None:
    ids = [c.id for c in ALL]
    assert len(ids) == len(set(ids))
    assert all("." in i and i == i.lower() for i in ids)


def test_each_rests_on_clauses_of_the_tables() -> None:
    known = load()
    assert [(c.id, clause) for c in ALL for clause in c.clauses if clause not in known] == []
    assert all(c.clauses for c in ALL)


def test_a_clause_has_one_claim() -> None:
    resting = [clause for c in ALL for clause in c.clauses]
    assert len(resting) == len(set(resting))


def test_what_they_need_a_driver_can_say() -> None:
    assert {need for c in ALL for need in c.needs} <= CAPABILITIES


BY_CONSTRUCTION = "pubsub/id.pure"
"""No rule decides it."""


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (
            claim("stray.one", "It.", "gs1.0/graft.accept", "gs1.0/no.such"),
            "claim stray.one names clause gs1.0/no.such, which does not exist",
        ),
        (claim("stray.two", "It.", BY_CONSTRUCTION), "which no rule decides: give it when"),
        (claim("stray.three", "It.", when(BY_CONSTRUCTION, by_permits)), "concerns no protocol"),
    ],
    ids=["no-clause", "no-rule", "no-protocol"],
)
def test_a_claim_that_would_apply_to_no_protocol_is_refused(planted: Claim, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        check_claims((*ALL[:3], planted), PROTOCOLS.values(), load())


def test_a_clause_of_a_rule_of_your_own_exists() -> None:
    @rule("mine/graft.unknown-topic")
    def refuse(r: object, g: object, choose: object) -> None:
        return None

    mine = PROTOCOLS["gossipsub-1.2"].with_rule("unknown_topic", refuse)
    own = claim("mine.refused", "It.", "mine/graft.unknown-topic")
    check_claims([own], [mine], load())
    with pytest.raises(SpecError, match="does not exist"):
        check_claims([own], PROTOCOLS.values(), load())


def test_each_is_asked_of_some_protocol() -> None:
    asked = {c.id for p in PROTOCOLS.values() for c in claims_of(p)}
    assert asked == {c.id for c in ALL}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_ruled_must_has_a_claim(name: str) -> None:
    """Of the clauses that a rule bears, those that can fail are asked for."""
    protocol = protocol_named(name)
    alone = {c for c in clauses_of(protocol) if claim_on(c, protocol) is None}
    assert {c for c in alone if level_of(c) == "M"} == set()


def test_versions_are_asked_what_they_say() -> None:
    ids = {name: {c.id for c in claims_of(p)} for name, p in PROTOCOLS.items()}
    assert "backoff.no-graft" not in ids["gossipsub-1.0"]
    assert "backoff.no-graft" in ids["gossipsub-1.1"]
    assert "idontwant.honoured" in ids["gossipsub-1.2"]
    assert "mesh.floor" not in ids["floodsub"]
    assert not ids["flood"] & ids["floodsub"]
    assert ids["flood"] < ids["dog"] | {"flood.txs-only"}


def test_a_breach_of_an_unknown_clause_fails_and_has_no_keyword() -> None:
    assert (breach_of("gs9.9/nothing"), level_of("gs9.9/nothing"), ground_of("gs9.9/nothing")) == (
        "fails",
        "I",
        "",
    )
    assert (breach_of("gs1.1/backoff.announce"), level_of("gs1.1/backoff.announce")) == ("deviates", "I")
    assert breach_of("gs1.1/iwant.retransmission") == "observed"
    # Of clauses together, the strictest word.
    both = ("gs1.2-draft/idontwant.may-skip", "gs1.2/idontwant.skip")
    assert (level_of(*both), ground_of(*both)) == ("M", "MUST")


def test_a_claim_has_the_keyword_of_the_protocol_that_asks_it() -> None:
    """The draft says `could` where the final text says MUST."""
    levels = {}
    for name in ("gossipsub-1.2-draft", "gossipsub-1.2"):
        spec = protocol_named(name)
        claim = next(c for c in claims_of(spec) if c.id == "idontwant.honoured")
        levels[name] = level_of(*clauses_asked(claim, spec))
    assert levels == {"gossipsub-1.2-draft": "I", "gossipsub-1.2": "M"}


def test_the_claim_on_a_clause() -> None:
    protocol = protocol_named("gossipsub-1.2")
    found = claim_on("gs1.1/backoff.regraft", protocol)
    assert found is not None
    assert found.id == "backoff.regraft-refused"
    assert claim_on("gs1.1/backoff.regraft", protocol_named("gossipsub-1.0")) is None
    assert claim("a.b", "A.", "c", needs=["score"]).needs == {"score"}


EXCHANGE_CLAIMS = {
    *("px.offered", "px.none-to-negative", "px.only-non-negative"),
    *("px.trusted-only", "px.not-from-negative", "px.records-checked"),
}


@pytest.mark.parametrize(
    ("exchanges", "idle"),
    [
        pytest.param({"peer-exchange"}, set(), id="with-peer-exchange"),
        # A router that does not say it exchanges peers is given no parameters that ask for it.
        pytest.param(set(), EXCHANGE_CLAIMS, id="without-peer-exchange"),
    ],
)
def test_a_conforming_router_makes_the_claims_apply(exchanges: set[str], idle: set[str]) -> None:
    """The model as a router, in 60 runs: all that is asked applies but what is named, and nothing fails."""
    hunting = hunt("gossipsub-1.2", protocol_named("gossipsub-1.2"))
    hunting.hello = evolve(MODEL, capabilities=MODEL.capabilities | exchanges)
    found = search(hunting, runs=60, seed=4)
    campaign = Campaign("gossipsub-1.2", "model", 4, capabilities=CAPABILITIES, runs=found.runs)
    campaign.applied = found.applied
    said = {v.claim.id: v.verdict for v in verdicts_of(campaign)}
    assert set(said.values()) <= {"not-refuted", "inconclusive"}
    assert {i for i, verdict in said.items() if verdict == "inconclusive"} == idle
