"""Keys of every type and none, values at bounds, peers that come back: all are drawn, and each is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from quidnunc.impl.gossipsub.relay import ArrivedMessage
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.seam import Config
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.signing import author_bytes, signature_fault
from quidnunc.impl.wire.symbols import holds_key
from quidnunc.model.events import Connect, Disconnect, Receive, Score
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import OTHER_AUTHORS, RSA_AUTHOR, Message, Prune
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play, WireSubject
from quidnunc.properties.neighbours.draw import draw_neighbours
from quidnunc.properties.neighbours.edges import (
    BAD_KEYS,
    OVERHEAD,
    backoff_at_bound,
    score_at_bound,
    size_at_bound,
)
from quidnunc.properties.neighbours.scores import CAPABILITY
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.notation.lines import Notation
from tests.helpers.puppet import EVERYTHING

NAME = "gossipsub-1.2"
CAN = EVERYTHING - {CAPABILITY}
RUNS = 250
MOST_RUNS = 250


def drawn_run(
    number: int, subject: Callable[[Parameters], Any], capabilities: frozenset[str] = CAN
) -> tuple[list[Any], bool]:
    """The events of one run by number, and whether the subject departed."""
    digits = SeededDraws(number)
    neighbours = draw_neighbours(digits, NAME, capabilities)
    spec = protocol_named(NAME)
    run = Play(subject(neighbours.parameters), Oracle(spec, neighbours.parameters))
    happened = []
    for _ in range(30):
        events = neighbours.act(run.oracle.state, digits)
        run.subject.declare(neighbours.take_undeclared())
        for event in events:
            happened.append(event)
            if run.do(event):
                return happened, True
    return happened, False


def conforming(parameters: Parameters) -> ModelSubject:
    return ModelSubject(protocol_named(NAME), parameters, 0)


@pytest.fixture(scope="module")
def happened() -> list[list[Any]]:
    return [drawn_run(number, conforming)[0] for number in range(RUNS)]


def messages_of(events: list[Any]) -> list[Message]:
    received = [e for e in events if isinstance(e, Receive)]
    return [part for e in received for part in e.parts if isinstance(part, Message)]


def test_messages_have_every_kind_of_key(happened: list[list[Any]]) -> None:
    sent = {m for events in happened for m in messages_of(events)}
    good = {(m.author in OTHER_AUTHORS and m.author, m.key) for m in sent if not m.flaw}
    assert {(author, False) for author in OTHER_AUTHORS} | {(False, True), (False, False)} <= good
    bad = {(m.flaw, m.author if m.author in OTHER_AUTHORS else None) for m in sent if m.flaw}
    assert set(BAD_KEYS) <= bad


def test_only_authors_that_a_router_verifies_are_good() -> None:
    without = CAN - {f"{kind}-keys" for kind in OTHER_AUTHORS.values()} | {"rsa-keys"}
    sent = [m for n in range(40) for m in messages_of(drawn_run(n, conforming, without)[0]) if not m.flaw]
    assert {m.author for m in sent} & OTHER_AUTHORS.keys() == {RSA_AUTHOR}


def test_versions_are_mixed(happened: list[list[Any]]) -> None:
    """In every run in which several peers arrive, twice or more; that is nearly every run."""
    met = [{e.protocol for e in events if isinstance(e, Connect)} for events in happened]
    assert sum(STREAM_PROTOCOLS[NAME][-1] in each for each in met) > 0.8 * RUNS
    assert sum(len(each) >= 3 for each in met) > 0.6 * RUNS


def test_values_are_below_at_and_above_bounds() -> None:
    p = Parameters(
        idontwant_min_bytes=500, max_message_bytes=1000, prune_backoff_s=6, unsubscribe_backoff_s=3
    )
    draws = [SeededDraws(number) for number in range(3000)]
    # Data of 999 are a message of more than 1000.
    assert {499, 500, 501, 600, 1000 - OVERHEAD, 1001} == {size_at_bound(600, d, p) for d in draws}
    backoffs = {2, 3, 4, 5, 6, 7, 2**32, 2**63 - 1, None}
    assert backoffs == {backoff_at_bound(None, d, p) for d in draws}
    near = {bound + step for bound in (-40, -20, -10, 0) for step in (-1, 0, 1)}
    assert near | {10**6, -(10**6), 99} == {score_at_bound(99, d, p) for d in draws}
    assert size_at_bound(0, draws[0], p) == 0


def test_values_at_bounds_come_up_in_runs(happened: list[list[Any]]) -> None:
    parts = [p for events in happened for e in events if isinstance(e, Receive) for p in e.parts]
    backoffs = {part.backoff_s for part in parts if isinstance(part, Prune)}
    assert {2, 3, 4, 5, 6, 7, 2**32, 2**63 - 1} <= backoffs
    scores = {e.value for events in happened for e in events if isinstance(e, Score)}
    assert {-41, -40, -39, -21, -20, -19, -11, -10, -9, -1, 0, 1} <= scores


def test_peers_come_back(happened: list[list[Any]]) -> None:
    found = 0
    for events in happened:
        gone = [e.peers for e in events if isinstance(e, Disconnect)]
        found += sum(isinstance(e, Connect) and e.peers in gone for e in events)
    assert found > RUNS // 2


@pytest.mark.parametrize(
    "text",
    [
        "a: message m1 t1 with-key",
        "a: message m1 t1 by rsa-author",
        "a: message m1 t1 by secp256k1-author with-key",
        "a: message m1 t1 by ecdsa-author no-key",
        "a: message m1 t1 by b other-key",
        "a: message m1 t1 junk-key",
    ],
)
def test_keys_are_written_in_cases(text: str) -> None:
    event = Notation().event(text)
    assert Notation().event_text(event) == text
    (message,) = messages_of([event])
    made = Codec(Parameters()).message(message, sender=1)
    assert signature_fault(made, "StrictSign") == message.flaw


def test_a_key_that_means_nothing_is_refused() -> None:
    for message, policy in (
        (Message("m1", "t", 1, flaw="no-key"), "StrictSign"),
        (Message("m1", "t", 1, flaw="forged", key=True), "StrictSign"),
        (Message("m1", "t", None, key=True), "StrictNoSign"),
    ):
        codec = Codec(Parameters(signature_policy=policy, message_id="content"))
        with pytest.raises(ValueError, match="key"):
            codec.message(message, sender=1)


# Planted: what fails without the inputs.


def takes_flaw(flaw: str) -> Callable[[GossipsubRouter], None]:
    return _check(lambda m: signature_fault(m, "StrictSign") in ("", flaw))


def refuses(what: Callable[[Any], bool]) -> Callable[[GossipsubRouter], None]:
    return _check(lambda m: not signature_fault(m, "StrictSign") and not what(m))


def _check(passes: Callable[[Any], bool]) -> Callable[[GossipsubRouter], None]:
    def plant(router: GossipsubRouter) -> None:
        if router.core.parameters.signature_policy == "StrictSign":
            at = router.relay.checks.index(router.relay.is_sound)
            checks: list[Any] = router.relay.checks

            def passed(arrival: ArrivedMessage) -> bool:
                return passes(arrival.message)

            checks[at] = passed

    return plant


def keeps_unwanted(router: GossipsubRouter) -> None:
    router.gossip.forget = lambda peer: None  # type: ignore[method-assign]


def forgets_backoff(router: GossipsubRouter) -> None:
    forget = router.mesh.forget

    def without_backoff(peer: int) -> None:
        forget(peer)
        for key in [key for key in router.mesh.backoff_ends_ms if peer in key]:
            del router.mesh.backoff_ends_ms[key]

    router.mesh.forget = without_backoff  # type: ignore[method-assign]


def keeps_queues(router: GossipsubRouter) -> None:
    router.outbox.forget = lambda peer: None  # type: ignore[method-assign]


def keeps_served(router: GossipsubRouter) -> None:
    cache = router.gossip.cache
    drop = cache._drop

    def dropped(id_bytes: bytes) -> None:
        served = cache._served.get(id_bytes, {})
        drop(id_bytes)
        cache._served[id_bytes] = served

    cache._drop = dropped  # type: ignore[method-assign]


def is_hashed(message: Any) -> bool:
    return author_bytes(message)[:1] == b"\x12"


PLANTED: dict[str, Callable[[GossipsubRouter], None]] = {
    "takes another peer's key": takes_flaw("other-key"),
    "takes a junk key": takes_flaw("junk-key"),
    "takes a message whose key is nowhere": takes_flaw("no-key"),
    "refuses a key that is not needed": refuses(lambda m: m.HasField("key") and not is_hashed(m)),
    "refuses authors whose id is a hash": refuses(is_hashed),
    "keeps IDONTWANT beyond a connection": keeps_unwanted,
    "forgets a backoff with the connection": forgets_backoff,
    "keeps what waits for a stalled peer that is gone": keeps_queues,
    "remembers how often it served a message that it forgot": keeps_served,
}


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_router_that_fails_at_an_edge_is_noticed(name: str) -> None:
    def planted(parameters: Parameters) -> WireSubject:
        router = GossipsubRouter(parameters, protocol=NAME, seed=0, own=0)
        PLANTED[name](router)
        config = Config(protocol=NAME, parameters=parameters)
        return WireSubject(PubsubDriver(router, name="planted"), config)

    assert any(drawn_run(number, planted)[1] for number in range(MOST_RUNS))


def test_an_author_with_a_hash_for_an_id_needs_a_key() -> None:
    assert [holds_key(author) for author in OTHER_AUTHORS] == [False, True, False]
