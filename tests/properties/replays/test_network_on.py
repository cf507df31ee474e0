"""Cases of networks on our real routers: which break the claim there too, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse
from quidnunc.properties.replays.network import replay_on

FOLDER = Path(__file__).parents[3] / "counterexamples"
PATHS = {
    path.stem: path for name in ("networks", "proofs") for path in sorted((FOLDER / name).glob("*.case"))
}

LATE = "our node offers at once what is new to it, and the schedule needs an offer that comes late"
LEAVES = "nobody leaves a network of real mempool nodes here"
OTHERWISE = "the text allows what breaks the claim, and our router does something else that it allows"
EDITED = "the claim is of edited rules, which our router does not have"
AT_ONCE = "a step of our router is done at once, and no other comes in between"
NOT_BROKEN: Mapping[str, str] = {
    "dissemination.own-goes-to-all.dog": LATE,
    "dog.reaches-all-with-one-havetx-each.dog": LATE,
    "dog.controller-repairs-isolation.dog": LATE,
    "dog.long-interval-prevents-loss.dog": LATE,
    "dog.no-redundancy-still-reaches-all.dog": LATE,
    "attack.positive-target-withstands-one-peer.dog": LATE,
    "dog.as-fast-as-flood.dog": LATE,
    "dissemination.withheld-arrives-elsewhere.dog": LATE,
    "redundancy.in-bounds-hears-everyone.dog": LATE,
    "routes.of-peers-only.dog-quint": LEAVES,
    "reset.goes-to-a-peer.dog-quint": LEAVES,
    "dog.reaches-all-after-a-disconnect.dog": LEAVES,
    "mesh-link-backoff-any": OTHERWISE,
    "mesh.leave-prunes-each-member.gossipsub-1.0": OTHERWISE,
    "backoff.no-graft-before-its-end.gossipsub-1.1": OTHERWISE,
    "idontwant.sent-once.gossipsub-1.2-draft": OTHERWISE,
    "idontwant.sent-at-first-copy.gossipsub-1.2-draft": OTHERWISE,
    "havetx.one-between-unblocks.dog-go": AT_ONCE,
    "controller.restarts-its-counters.dog-go": AT_ONCE,
    "metrics.count-disabled-routes.dog-go": AT_ONCE,
    "routes.form-spanning-trees.dog": EDITED,
    "attack.idontwant-before-signature.gossipsub-1.2-draft": EDITED,
    "mesh-star-inbound-go.rest": EDITED,
    "mesh-star-inbound-go.quiet": EDITED,
}
"""Cases whose claim our routers do not break by the schedule, and why."""


def read(name: str) -> Case:
    return parse(PATHS[name].read_text(encoding="utf-8"), name)


@pytest.mark.parametrize("name", sorted(PATHS))
def test_our_routers_break_the_claim_too(name: str) -> None:
    found = replay_on(read(name), "ours")
    assert found.outcome == ("inconclusive" if name in NOT_BROKEN else "same"), found.reason
    assert found.as_expected == (name not in NOT_BROKEN)


def test_each_reason_is_of_a_case() -> None:
    assert NOT_BROKEN.keys() <= PATHS.keys()
    assert len(NOT_BROKEN) < len(PATHS) / 3


@pytest.mark.parametrize(
    ("name", "router"),
    [
        ("mesh-link", "ours:fill-never"),
        ("mesh-link", "ours:graft-not-taken"),
        ("subscriptions.known-to-all-neighbours.gossipsub-1.1", "ours:graylist-off"),
        ("routes.not-disabled-while-low.dog", "ours:send-twice"),
        ("dog.reaches-all-with-one-havetx-each.dog", "ours:cut-the-other-way"),
    ],
)
def test_a_router_that_departs_is_said_to(name: str, router: str) -> None:
    found = replay_on(read(name), router)
    assert found.outcome == "departs", found.reason
    assert found.reason.startswith(f"on {router}, seed ") and found.departs


def test_what_breaks_the_claim_by_other_rpcs_is_the_same() -> None:
    found = replay_on(read("gossip.advertised-is-served-however-late.gossipsub-1.0"), "ours")
    assert found.outcome == "same" and found.reason.endswith("with other RPCs than recorded")


def test_a_case_that_is_fixed_holds_or_departs() -> None:
    case = read("subscriptions.known-to-all-neighbours.gossipsub-1.1")
    assert replay_on(evolve(case, status="fixed"), "ours").outcome == "departs"
    shorter = evolve(case, status="fixed", blocks=case.blocks[:1])
    assert replay_on(shorter, "ours").outcome == "holds"


def test_wrong_names() -> None:
    with pytest.raises(ValueError, match="no router 'nobody'"):
        replay_on(read("subscriptions.known-to-all-neighbours.gossipsub-1.1"), "nobody")
    with pytest.raises(CaseError, match="no claim"):
        replay_on(evolve(read("subscriptions.known-to-all-neighbours.gossipsub-1.1"), claim="P999"), "ours")


def test_somebody_elses_router_is_a_node_too() -> None:
    pytest.importorskip("libp2p", reason="py-libp2p is not installed: pip install '.[py-libp2p]'")
    found = replay_on(read("mesh.members-announced-the-topic.gossipsub-1.0"), "py-libp2p")
    assert found.outcome == "same" and found.reason.endswith("because the router does not report its state")
    assert "mempool" in replay_on(read("routes.never-to-self.dog"), "py-libp2p").reason
