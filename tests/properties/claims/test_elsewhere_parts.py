"""What holds of the bitmap application and of networks of it, each shown by a test that fails under a planted
error (tests/properties/claims/test_elsewhere.py)."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub.partial import PartialMessages
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.model.events import MESHSUB_1_3, FeedbackKind
from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from tests.helpers.bitmap_app import BitmapApp, PeerPartsView
from tests.helpers.held_shown import Break, shown
from tests.helpers.partial_network import GROUP, Kind, Network
from tests.impl.gossipsub.test_partial_app import Beside, payloads, told

# -- an application of partial messages ---------------------------------------------------------------------


def _asks_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BitmapApp, "_parts_for", lambda self, view, mine: mine)


@shown(broken=_asks_nobody)
def test_parts_answered() -> None:
    beside = Beside("partial-messages")
    beside.give(0, 1, 2)
    for wants, answered in ((0b0010, [0b0010]), (0b1000, []), (0b1101, [0b0101])):
        assert payloads(beside.partial(has=0, wants=wants)) == answered


def _first_counts(patch: pytest.MonkeyPatch) -> None:
    plain = BitmapApp._metadata
    said: list[tuple[int, int]] = []

    def first(self: BitmapApp, data: bytes) -> tuple[int, int]:
        said.append(plain(self, data))
        return said[0]

    patch.setattr(BitmapApp, "_metadata", first)


@shown(broken=_first_counts)
def test_parts_replaced() -> None:
    beside = Beside("partial-messages")
    beside.partial(has=0b1000, wants=0b0111)
    beside.partial(has=0b0000, wants=0b1000)
    assert payloads(beside.give(0, 3)) == [0b1000]


def _forgets_what_it_told(patch: pytest.MonkeyPatch) -> None:
    plain = PeerPartsView.decoded.__func__  # type: ignore[attr-defined]

    def forgotten(cls: type, state: object, length: int) -> PeerPartsView:
        view = plain(PeerPartsView, state, length)
        return PeerPartsView(view.has, view.wants, -1, view.heard)

    patch.setattr(PeerPartsView, "decoded", classmethod(forgotten))


@shown(broken=_forgets_what_it_told)
def test_parts_inferable() -> None:
    """What was told once is not told again, nor what a peer has to one that has it."""
    beside = Beside("partial-messages")
    assert told(beside.give(0)) == [(0b0001, 0b1110)]
    assert told(beside.give()) == []
    beside.give(1, 2, 3)
    assert told(beside.partial(has=0b1111, wants=0)) == []


def _needs_the_whole(patch: pytest.MonkeyPatch) -> None:
    plain = BitmapApp.publish

    def of_whole(self: BitmapApp, group: bytes) -> None:
        if self.is_complete(group):
            plain(self, group)

    patch.setattr(BitmapApp, "publish", of_whole)


@shown(broken=_needs_the_whole)
def test_parts_group_id() -> None:
    """Nobody has the whole at first, and yet all name the same group and complete it."""
    net = Network("partial-messages", ["requests"] * 3, length=3)
    for a, b in ((1, 2), (2, 3), (1, 3)):
        net.connect(a, b)
    net.advance(2)
    for node in (1, 2, 3):
        net.give(node, [node - 1])
    net.advance(3)
    assert net.lacking() == []
    apps = [node.app for node in net.nodes.values()]
    assert [set(app.held) for app in apps if app is not None] == [{GROUP}] * 3


def _never_sends_parts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartialMessages, "publish", lambda self, topic, group, decide: None)


@shown(broken=_never_sends_parts)
def test_parts_expected() -> None:
    """2 requests: of 1, which supports, it gets parts and metadata, and of 3, which does not, the whole."""
    net = Network("partial-messages", ["supports", "requests"], length=4)
    net.connect(1, 2)
    net.advance(2)
    net.give(1, range(4))
    net.advance(3)
    assert net.lacking() == [] and net.nodes[2].full == []
    net = Network("partial-messages", ["requests", "full"], length=4)
    net.connect(1, 2)
    net.advance(2)
    net.publish_whole(2)
    net.advance(3)
    assert net.lacking() == [] and len(net.nodes[1].full) == 1


@shown(broken=_never_sends_parts)
def test_parts_roll_out() -> None:
    for kinds, some_parts in ((["supports"] * 4, False), (["requests", *["supports"] * 2, "requests"], True)):
        roles: list[Kind] = [*kinds]  # type: ignore[list-item]
        net = Network("partial-messages", roles, length=4)
        for a, b in ((1, 2), (2, 3), (3, 4), (4, 1)):
            net.connect(a, b)
        net.advance(2)
        net.publish_whole(2)
        net.advance(3)
        assert net.lacking() == [] and net.full_to_requesters == []
        carried = [n for n, node in net.nodes.items() if node.kind == "requests" and node.full]
        assert carried == []
        assert bool(net.sent["partial"]) == some_parts


# -- what parts are worth -----------------------------------------------------------------------------------

TOPIC_SCORES = TopicScoreParameters(
    topic="t1",
    first_message_deliveries_weight=1.0,
    first_message_deliveries_cap=10.0,
    invalid_message_deliveries_weight=-2.0,
)
SCORES = ScoreParameters(topics=(TOPIC_SCORES,), behaviour_penalty_weight=-5.0)


def scores_after(reading: str, *kinds: FeedbackKind) -> float:
    """The score of a peer after such feedback on it."""
    router = GossipsubRouter(Parameters(scores=SCORES), protocol=reading)
    router.join("t1", requests=True, supports=True)
    router.connect(1, MESHSUB_1_3, outbound=True)
    for kind in kinds:
        router.feedback("t1", 1, kind)
    return router.core.score(1)


def _reads_as(reading: str) -> Break:
    plain = GossipsubRouter.feedback

    def read(self: GossipsubRouter, topic: str, peer: int, kind: FeedbackKind) -> None:
        self.core.features = evolve(self.core.features, partial=reading)
        plain(self, topic, peer, kind)

    return lambda patch: patch.setattr(GossipsubRouter, "feedback", read)


@shown(broken=_reads_as("go"))
def test_parts_feedback_unsaid() -> None:
    assert scores_after("partial-messages", "useful", "invalid", "ignored") == 0.0
