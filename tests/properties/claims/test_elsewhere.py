"""What holds by construction, each shown by a test that fails under a planted error.

The claims are in `properties/claims/elsewhere.toml`; the name of a test follows from its claim.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub import outbox as gossipsub_outbox
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mempool.cat.reactor import CatReactor
from quidnunc.impl.mempool.dog import reactor as dog_reactor
from quidnunc.impl.mempool.dog.metrics import DogMetrics
from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.pool import TransactionPool
from quidnunc.impl.ours.mempool import open_cat, open_dog
from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import Config
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.cat_codec import want_tx
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.framing import FrameDecoder, frame
from quidnunc.impl.wire.mempool_codec import MempoolCodec
from quidnunc.model.edits.ambiguities import reading_named
from quidnunc.model.edits.catalogue import NAMED
from quidnunc.model.events import (
    MEMPOOL,
    MESHSUB_1_1,
    MESHSUB_1_2,
    Adjust,
    Connect,
    Join,
    Receive,
    Sent,
    Submit,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.protocols import FLOOD
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Graft, HaveTx, IDontWant, IWant, Message, Prune, ResetRoute, Subscribe, Tx
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.cases.separating import separating_traces
from quidnunc.properties.claims.elsewhere import HELD
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import Play, WireSubject, play
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.networks.acts import act_of
from quidnunc.properties.networks.network import ActExecution, network_after
from tests.helpers.held_shown import SHOWN, Break, shown
from tests.helpers.mempool_node import Node
from tests.helpers.small_networks import network_of
from tests.properties.claims import test_elsewhere_parts as of_parts
from tests.properties.claims import test_elsewhere_routers as of_routers


def _unchecked(kind: type) -> Break:
    return lambda patch: patch.setattr(kind, "__attrs_post_init__", lambda self: None)


# -- settings -----------------------------------------------------------------------------------------------


@shown(broken=_unchecked(DogParameters))
def test_config_dog_or_limit() -> None:
    for limit in ({"max_persistent": 1}, {"max_non_persistent": 10}):
        with pytest.raises(ValueError, match="cannot both be on"):
            DogParameters(dog=True, **limit)  # type: ignore[arg-type]
        limited = DogParameters(dog=False, **limit)  # type: ignore[arg-type]
        driver = open_dog(Config(protocol="dog", parameters=limited))
        for peer in (1, 2):
            driver.connect(peer, MEMPOOL, False)
        driver.rpc(1, *reversed(_tx("t1")))
        assert driver.rpc(2, *reversed(_tx("t1"))).out == (), "with DOG off no duplicate is answered"


def _tx(symbol: str) -> tuple[int, bytes]:
    return MempoolCodec().encode(Tx(symbol))


@shown(broken=lambda patch: patch.setattr(DogMetrics, "named", lambda self: {}))
def test_config_metrics() -> None:
    """In drawn runs, after every event: what the node counts is what the model has."""
    looked = 0
    for number in range(8):
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, "dog", frozenset())
        config = Config(seed=number, protocol="dog", parameters=neighbours.parameters)
        driver = open_dog(config)
        run = Play(WireSubject(driver, config), Oracle(protocol_named("dog"), config.parameters))
        seen: set[str] = set()
        repeated = 0
        for _ in range(40):
            for event in neighbours.act(run.oracle.state, digits):
                before, at = run.oracle.state, len(run.moments)
                assert not run.do(event)
                for moment in run.moments[at:]:
                    for tx in _txs(moment.event):
                        repeated += tx in seen
                        seen.add(tx)
                found: Any = driver.state().state["metrics"]
                assert found.get("mempool.already_received_txs") == repeated
                routes = run.oracle.state.routes.values()
                disabled = found["mempool.disabled_routes"]
                assert sum(r.least for r in routes) <= disabled <= sum(r.most for r in routes)
                if isinstance(event, Adjust) and before.first_time:
                    assert found["mempool.redundancy"] == before.duplicates / before.first_time
                    looked += 1
    assert looked > 10


def _txs(event: object) -> list[str]:
    if isinstance(event, Submit):
        return [event.id]
    return [p.id for p in event.parts if isinstance(p, Tx)] if isinstance(event, Receive) else []


def _endless(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionPool, "full", property(lambda self: False))


@shown(broken=_endless)
def test_config_mempool_defaults() -> None:
    """The numbers, and that each is a bound of the node: tried on bounds of a thousandth."""
    p = DogParameters()
    assert (p.pool_size, p.cache_size, p.max_tx_bytes) == (5000, 10_000, 1 << 20)
    assert p.max_pool_bytes == 64 << 20
    assert _taken(DogParameters(dog=False), 5001, 1) == (5000, 5001)
    assert _taken(DogParameters(dog=False, max_pool_bytes=64 << 10), 65, 1 << 10) == (64, 65)
    assert _taken(DogParameters(dog=False, max_tx_bytes=1 << 10), 1, (1 << 10) + 1) == (0, 1)


def _taken(p: DogParameters, count: int, size: int) -> tuple[int, int]:
    """How many of so many transactions of that size are pooled."""
    driver = open_dog(Config(protocol="flood", parameters=p))
    for k in range(count):
        driver.submit(b"%05d" % k + bytes(max(0, size - 5)))
    pool: Any = driver.state().state["pool"]
    return len(pool), count


@shown(broken=_unchecked(Parameters))
def test_config_outbound() -> None:
    for d_out, d_low, d in ((4, 4, 8), (5, 4, 10), (3, 4, 5)):
        with pytest.raises(ValueError, match="D_out"):
            Parameters(d_out=d_out, d_low=d_low, d=d)
    assert Parameters(d_out=3, d_low=4, d=6) and Parameters(d_out=0, d_low=0, d=0, d_high=0)


@shown(broken=_unchecked(Parameters))
def test_config_thresholds() -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {"gossip_threshold": 0},
        {"publish_threshold": -9},
        {"graylist_threshold": -20},
        {"accept_px_threshold": -1.0},
        {"opportunistic_graft_threshold": -1},
    )
    for given in wrong:
        with pytest.raises(ValueError, match="threshold"):
            Parameters(**given)
    assert Parameters(publish_threshold=-10, opportunistic_graft_threshold=1)


BOOTSTRAPPER: dict[str, Any] = {"d": 0, "d_low": 0, "d_high": 0, "d_out": 0, "d_score": 0, "prune_peers": 16}


def _as_a_common_router(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(BOOTSTRAPPER, "d_high", 12)
    patch.setitem(BOOTSTRAPPER, "d", 6)


@shown(broken=_as_a_common_router)
def test_config_bootstrapper() -> None:
    """Beside the model: three peers graft it, and each is pruned and told of others of the topic."""
    parameters = Parameters(**BOOTSTRAPPER, flood_publish=False)
    config = Config(protocol="gossipsub-1.1", parameters=parameters)
    peers = (1, 2, 3)
    events = [
        Join("t1"),
        Connect(peers, MESHSUB_1_1),
        Receive(peers, (Subscribe("t1"),)),
        Receive(peers, (Graft("t1"),)),
    ]
    run = play(events, WireSubject(open_ours(config), config), protocol_named("gossipsub-1.1"), parameters)
    assert not any(moment.judged.departures for moment in run.moments)
    assert run.oracle.state.mesh_of("t1") == frozenset()
    prunes = {o.peer: o.part for m in run.moments for o in m.outputs if isinstance(o, Sent)}
    for peer in peers:
        part = prunes[peer]
        assert isinstance(part, Prune) and part.peers and peer not in part.peers


# -- mempool nodes ------------------------------------------------------------------------------------------


def _last_in_first_out(patch: pytest.MonkeyPatch) -> None:
    plain = ActExecution.send

    def turned(running: ActExecution, node: int, sent: Any) -> None:
        plain(running, node, sent)
        running.inbox = {to: tuple(reversed(waiting)) for to, waiting in running.inbox.items()}

    patch.setattr(ActExecution, "send", turned)


@shown(broken=_last_in_first_out)
def test_network_in_order() -> None:
    """Each message arrives once, those of one link in the order in which they were sent."""
    network = network_of(FLOOD, [(1, 2), (1, 3)])
    for act in ("submit A t1", "submit A t2", "submit A t3", "offer A", "offer A", "deliver A>B", "offer A"):
        network = network_after(network, act_of(act)).after
    assert [*network.nodes[2].pool] == ["t1"]
    for act in ("deliver A>B", "deliver A>C", "deliver A>B", "deliver A>C", "deliver A>C"):
        network = network_after(network, act_of(act)).after
    assert [*network.nodes[2].pool] == [*network.nodes[3].pool] == ["t1", "t2", "t3"]
    assert not any(network.inbox.values())


# -- bytes --------------------------------------------------------------------------------------------------


def _fixed_lengths(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gossipsub_outbox, "frame", lambda payload: len(payload).to_bytes(2, "big") + payload)


@shown(broken=_fixed_lengths)
def test_rpc_framing() -> None:
    """The lengths are read here digit by digit, and not by the decoder that our routers use."""
    router = GossipsubRouter(Parameters())
    hello = wire.RPC()
    hello.subscriptions.add(subscribe=True, topicid="t1")
    said = hello.SerializeToString()
    router.connect(1, MESHSUB_1_1, outbound=True)
    for byte in bytes((len(said),)) + said:
        router.receive(1, bytes((byte,)))
    assert router.core.members("t1") == {1}
    for size in (10, 300):
        router.join("t" * size)
    written = b"".join(data for _, data in router.take().frames)
    topics = []
    while written:
        length = at = 0
        while written[at] & 0x80:
            length |= (written[at] & 0x7F) << 7 * at
            at += 1
        length |= written[at] << 7 * at
        assert 0 < length < len(written)
        rpc, written = wire.RPC.FromString(written[at + 1 : at + 1 + length]), written[at + 1 + length :]
        topics += [len(each.topicid) for each in rpc.subscriptions]
    assert topics == [10, 300]


def _exact_size(patch: pytest.MonkeyPatch) -> None:
    plain = CatReactor.understands

    def understands(self: CatReactor, peer: int, channel: int, data: bytes) -> bool:
        return len(data) == 36 and plain(self, peer, channel, data)

    patch.setattr(CatReactor, "understands", understands)


@shown(broken=_exact_size)
def test_cat_origin_field() -> None:
    key = hashlib.sha256(b"t1\n").digest()
    driver = open_cat(Config(protocol="cat-classic", parameters=DogParameters()))
    driver.connect(1, MEMPOOL, False)
    named = b"\x0a\x20" + key + b"\x12\x04peer"
    reply = driver.rpc(1, b"\x12" + bytes((len(named),)) + named, 0x31)
    assert (reply.closed, reply.crashed) == ((), "")
    assert reply.out == ((1, 0x31, want_tx(key)),)


def _never_withdraws(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gossipsub_outbox.Outbox, "withdraw", lambda self, peer, message: None)


@shown(broken=_never_withdraws)
def test_iwant_withdrawn() -> None:
    """Of two answers that wait one is taken back, and no other peer's."""
    router = GossipsubRouter(Parameters())
    router.join("t1")
    for peer in (1, 2, 3):
        router.connect(peer, MESHSUB_1_2, outbound=True)
    codec = Codec(Parameters())
    for symbol in ("m1", "m2"):
        router.receive(3, frame(codec.encode([Message(symbol, "t1", 3)], sender=3)))
    router.take()
    for peer in (1, 2):
        router.stall(peer)
        router.receive(peer, frame(codec.encode([IWant(("m1", "m2"))], sender=peer)))
    router.receive(1, frame(codec.encode([IDontWant(("m1",))], sender=1)))
    for peer, answered in ((1, ["m2"]), (2, ["m1", "m2"])):
        router.resume(peer)
        found = [p for _, data in router.take().frames for p in FrameDecoder().feed(data)[0]]
        parts = [part for payload in found for part in codec.decode(payload)]
        assert [part.id for part in parts if isinstance(part, Message)] == answered


def _keeps_what_left(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionPool, "remove", lambda self, key: True)


@shown(broken=_keeps_what_left)
def test_pool_removed() -> None:
    for protocol in ("flood", "dog"):
        node = Node(protocol, None)
        node.connect(1, 2)
        node.stall(2)
        for symbol in ("a", "b", "c"):
            node.receive(1, Tx(symbol))
        node.commit("b")
        assert node.resume(2) == [(2, Tx("a")), (2, Tx("c"))]


def _believes_it_was_sent(patch: pytest.MonkeyPatch) -> None:
    plain = DogReactor.send_control

    def believed(self: DogReactor, peer: int, data: bytes) -> bool:
        plain(self, peer, data)
        return True

    patch.setattr(DogReactor, "send_control", believed)


@shown(broken=_believes_it_was_sent)
def test_control_unsent() -> None:
    """The queue of a peer that does not read is full: what is sent to it then is lost, and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dog_reactor, "MAX_WAITING_CONTROLS", 1)
        node = Node("dog", None)
        node.connect(1)
        node.stall(1)
        for symbol in ("u1", "u2"):
            node.submit(symbol)
            node.adjust()
        node.receive(1, Tx("a"))
        node.receive(1, Tx("a"))
        assert node.state()["blocked"] is False
        assert [part for _, part in node.resume(1) if part == ResetRoute()] == [ResetRoute()]
        assert node.receive(1, Tx("a")) == [(1, HaveTx("a"))]


# -- readings -----------------------------------------------------------------------------------------------


def _same_reading(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(NAMED["pubsub"], A1, evolve(reading_named(A1), change=lambda protocol: protocol))


A1 = "idontwant-not-honoured"


@shown(broken=_same_reading)
def test_idontwant_ignored() -> None:
    """By the trace that separates the two readings of the text, and drawn runs under the one in question."""
    case, protocol = separating_traces()[A1], protocol_named("gossipsub-1.2")
    read_so = reading_named(A1).change(protocol)
    parameters = parameters_of(case)
    for spec, name, agrees in ((read_so, A1, True), (protocol, A1, False), (read_so, "", False)):
        config = Config(seed=case.seed, protocol="gossipsub-1.2", parameters=parameters)
        subject = WireSubject(open_ours(config, name or None), config)
        run = play(events_of(case), subject, spec, parameters)
        assert any(moment.judged.departures for moment in run.moments) != agrees


# -- the tests themselves -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_each_fails_under_its_planted_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, test = SHOWN[name]
    broken(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test()


def test_each_claim_that_a_test_holds_has_it() -> None:
    assert {claim.test for claim in HELD.values() if claim.test} == set(SHOWN)
    for claim in HELD.values():
        if claim.test:
            module = SHOWN[claim.test][1].__module__
            assert module in (__name__, of_parts.__name__, of_routers.__name__)
            assert claim.by == f"{module.replace('.', '/')}.py::{claim.test}"


@pytest.mark.parametrize("claim", [c for c in HELD.values() if c.network], ids=lambda c: c.id)
def test_each_claim_of_a_network_is_one_of_its_own(claim: Any) -> None:
    """The network is explored in tests/properties/solver/test_explore.py."""
    pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
    from quidnunc.properties.proofs.mesh.mesh_link import mesh_link

    network = mesh_link(claim.network, peers=2, d_high=1)
    clauses = {each.clause for each in (*network.claims, *network.rules)}
    assert set(claim.clauses) <= clauses
