"""The suite tells by its name what is planted in our router, in code that knows nothing of the edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.driver import MempoolDriver
from quidnunc.impl.mutant import Usual, around, patch
from quidnunc.impl.ours.dog_variants import SWITCHES
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.routers import mutants_by_name, open_router
from quidnunc.impl.seam import Config, parameters_of
from quidnunc.model.mempool.dog.variants import TURNED
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.search.rows import RootCause
from quidnunc.properties.search.verdicts import verdict_of_root
from quidnunc.properties.search.worker import hello_from
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.run import run_suite

PROTOCOL = "gossipsub-1.2"
Plant = Callable[[GossipsubRouter], None]


def keeper(seam: str, by: Callable[..., object]) -> Plant:
    """An edit of who keeps the scores, where there is one."""

    def plant(r: GossipsubRouter) -> None:
        if r.core.keeper is not None:
            around(f"core.keeper.{seam}", by)(r)

    return plant


def fanout_from_first_publish(r: GossipsubRouter, for_publish: Usual, topic: str) -> object:
    before = r.fanout.published_ms.get(topic)
    chosen = for_publish(topic)
    if before is not None and topic in r.fanout.published_ms:
        r.fanout.published_ms[topic] = before
    return chosen


def cache_dropped(r: GossipsubRouter, leave: Usual, topic: str) -> None:
    leave(topic)
    cache = r.gossip.cache
    for id_bytes in [i for i, message in cache._messages.items() if message.topic == topic]:
        cache._drop(id_bytes)


def fanout_moved_whole(r: GossipsubRouter, join: Usual, topic: str, from_fanout: Sequence[int]) -> None:
    usual = r.mesh.eligible_at_join
    r.mesh.eligible_at_join = lambda topic: {*usual(topic), *from_fanout}  # type: ignore[method-assign]
    join(topic, from_fanout)
    r.mesh.eligible_at_join = usual  # type: ignore[method-assign]


def unheard_while_waiting(r: GossipsubRouter, came_again: Usual, peer: int, id_bytes: bytes) -> None:
    watched = r.gossip.watch.messages.get(id_bytes)
    if watched is not None and watched.verdict:
        came_again(peer, id_bytes)


def grafted_once(r: GossipsubRouter) -> None:
    if r.core.keeper is None:
        return
    kept, first = r.core.keeper, dict[tuple[int, str], int]()
    grafted = kept.grafted

    def from_the_first(peer: int, topic: str, now_ms: int) -> None:
        grafted(peer, topic, first.setdefault((peer, topic), now_ms))

    patch(kept, "grafted", from_the_first)


def capped_late(r: GossipsubRouter) -> None:
    """First deliveries are counted without a cap, which a score has where it is worked out."""
    if r.core.keeper is None:
        return
    kept = r.core.keeper
    in_topic = kept.in_topic

    def first_delivery(peer: int, topic: str) -> None:
        counters = kept._counters(peer, topic)
        if counters is not None:
            counters.first_deliveries += 1

    def worked_out(p: Any, s: Any) -> float:
        counted, cap = s.first_deliveries, p.first_message_deliveries_cap
        s.first_deliveries = min(counted, cap)
        value = in_topic(p, s)
        s.first_deliveries = counted
        return value

    patch(kept, "first_delivery", first_delivery)
    patch(kept, "in_topic", worked_out)


def capped_each(r: GossipsubRouter) -> None:
    if r.core.keeper is None:
        return
    kept = r.core.keeper
    in_topic, capped = kept.in_topic, kept.capped
    patch(kept, "in_topic", lambda p, s: capped(in_topic(p, s)))
    patch(kept, "capped", lambda topics: topics)


def behaves_again(r: GossipsubRouter, disconnected: Usual, peer: int, now_ms: int) -> None:
    disconnected(peer, now_ms)
    assert r.core.keeper is not None
    r.core.keeper.records[peer].misbehaved = 0


def wanted_again(r: GossipsubRouter, on_prune: Usual, peer: int, topic: str, seconds: int | None) -> object:
    r.gossip.unwanted.pop(peer, None)
    return on_prune(peer, topic, seconds)


def gossips_first(r: GossipsubRouter) -> None:
    r.beats.insert(0, r.beats.pop(r.beats.index(r.gossip.emit)))


def ends_at_an_unknown_topic(r: GossipsubRouter) -> None:
    def read_grafts(peer: int, control: Any) -> None:
        for graft in control.graft:
            if graft.topicID not in r.core.joined:
                return
            r.mesh.on_graft(peer, graft.topicID)

    r.control[r.control.index(r.read_grafts)] = read_grafts


def ends_at_a_prune_of_an_unknown_topic(r: GossipsubRouter) -> None:
    def read_prunes(peer: int, control: Any) -> None:
        for prune in control.prune:
            if prune.topicID not in r.core.joined:
                return
            r.mesh.on_prune(peer, prune.topicID, prune.backoff if prune.HasField("backoff") else None)

    r.control[r.control.index(r.read_prunes)] = read_prunes


def ends_at_an_ihave_of_an_unknown_topic(r: GossipsubRouter) -> None:
    on_ihave = r.gossip.on_ihave

    def read_ihaves(peer: int, control: Any) -> None:
        read, joined = type(control)(), r.core.joined
        read.CopyFrom(control)
        del read.ihave[sum(1 for _ in takewhile(lambda entry: entry.topicID in joined, control.ihave)) :]
        on_ihave(peer, read)

    r.control[r.control.index(on_ihave)] = read_ihaves


def decaying(name: str, other: str) -> Plant:
    def plant(r: GossipsubRouter) -> None:
        if r.core.keeper is None:
            return
        decay = r.core.keeper.decay_topic

        def swapped(p: Any, s: Any, now_ms: int) -> None:
            decay(evolve(p, **{name: getattr(p, other)}), s, now_ms)

        patch(r.core.keeper, "decay_topic", swapped)

    return plant


def time_adds_up(r: GossipsubRouter) -> None:
    if r.core.keeper is None:
        return
    keeper = r.core.keeper
    pruned, quanta = keeper.pruned, keeper.quanta
    past: Counter[int] = Counter()

    def went(peer: int, topic: str) -> None:
        left = keeper.records[peer].topics.get(topic) if peer in keeper.records else None
        past[id(left)] += left.in_mesh_ms if left is not None else 0
        pruned(peer, topic)

    patch(keeper, "pruned", went)
    patch(keeper, "quanta", lambda p, s: quanta(p, evolve(s, in_mesh_ms=s.in_mesh_ms + past[id(s)])))


def first_before_verdict(r: GossipsubRouter) -> None:
    """P2 and P3 of the first copy count as it comes, and not with its verdict."""
    watch, keeper = r.gossip.watch, r.core.keeper
    if keeper is None:
        return
    came, judged, first, credit = watch.came, watch.judged, keeper.first_delivery, watch.credit_member

    def counted(peer: int, id_bytes: bytes, topic: str) -> None:
        came(peer, id_bytes, topic)
        first(peer, topic)
        credit(peer, topic)

    def told(id_bytes: bytes, judgement: Any) -> None:
        known = watch.messages.get(id_bytes)
        forwarder = known.first if known is not None else None
        patch(watch, "credit_member", lambda peer, topic: peer == forwarder or credit(peer, topic))
        judged(id_bytes, judgement)
        patch(watch, "credit_member", credit)

    patch(watch, "came", counted)
    patch(watch, "judged", told)
    patch(keeper, "first_delivery", lambda peer, topic: None)


def kept_though_refused(r: GossipsubRouter) -> None:
    on_graft = r.mesh.on_graft

    def refused_and_kept(peer: int, topic: str) -> None:
        inside = topic in r.mesh.of and r.mesh.backing_off(peer, topic) is not None
        member = inside and peer in r.mesh.of[topic]
        on_graft(peer, topic)
        if inside and not member:
            r.mesh.admit(peer, topic)

    patch(r.mesh, "on_graft", refused_and_kept)


def mutant(name: str) -> Plant:
    return mutants_by_name()[name].apply


PLANTED: dict[str, tuple[Plant, tuple[str, ...]]] = {
    "fanout-not-renewed": (
        around("fanout.for_publish", fanout_from_first_publish),
        ("fanout-ttl", "expire"),
    ),
    "cache-dropped-at-leave": (around("leave", cache_dropped), ("left-topic",)),
    "join-takes-fanout-in-backoff": (around("mesh.join", fanout_moved_whole), ("join-fanout-backoff",)),
    "copies-uncounted-while-validating": (
        around("gossip.watch.came_again", unheard_while_waiting),
        ("copies-while-validating",),
    ),
    "time-in-mesh-from-first-graft": (grafted_once, ("time-in-mesh-anew",)),
    "time-in-mesh-adds-up": (time_adds_up, ("time-in-mesh-anew",)),
    "first-deliveries-before-verdict": (first_before_verdict, ("score-retained",)),
    "first-deliveries-capped-late": (capped_late, ("first-capped-at-once",)),
    "topics-capped-one-by-one": (capped_each, ("topic-cap-of-all",)),
    "behaviour-lost-at-disconnection": (keeper("disconnected", behaves_again), ("behaviour-retained",)),
    "prune-forgets-unwanted": (around("mesh.on_prune", wanted_again), ("idontwant-and-prune",)),
    "first-gossip-adaptively": (gossips_first, ("gossip_adaptively-3", "mesh-low", "mesh-high")),
    "unknown-topic-prune-ends-prunes": (ends_at_a_prune_of_an_unknown_topic, ("rpc-to-its-end",)),
    "decay-mesh-failure-penalty-decay-as-mesh-message-deliveries-decay": (
        decaying("mesh_failure_penalty_decay", "mesh_message_deliveries_decay"),
        ("note_pruned",),
    ),
    "decay-invalid-message-deliveries-decay-as-mesh-failure-penalty-decay": (
        decaying("invalid_message_deliveries_decay", "mesh_failure_penalty_decay"),
        ("recognise",),
    ),
    "unknown-topic-ihave-ends-ihaves": (
        ends_at_an_ihave_of_an_unknown_topic,
        ("start_counting_anew", "rpc-to-its-end"),
    ),
    "refused-in-backoff-kept": (kept_though_refused, ("penalise_regraft", "peer-gone")),
    "near-first-for-ever": (mutant("near-first-for-ever"), ("read_messages-1",)),
    "offers-heeded-from-negative": (mutant("px-from-negative"), ("px-from-negative",)),
    "ends-its-kind-unknown-topic": (ends_at_an_unknown_topic, ("rpc-to-its-end",)),
}
"""Name of the edit -> what is planted, and cases in which it shows."""


def causes(
    plant: Plant, cases: Sequence[str], monkeypatch: pytest.MonkeyPatch, verdict: str = "fails"
) -> list[str]:
    def opened(config: Config) -> WireSubject:
        router = GossipsubRouter(
            parameters_of(config, Parameters, "ours"), protocol=PROTOCOL, seed=config.seed
        )
        plant(router)
        return WireSubject(PubsubDriver(router, name="ours"), evolve(config))

    every = dict(suite_of(PROTOCOL))
    monkeypatch.setattr(suite_run, "suite_of", lambda _: [(name, every[name]) for name in cases])
    campaign = run_suite(PROTOCOL, "ours", opened, hello=hello_from(opened, PROTOCOL, "shipped"))
    return [row.quirk for row in campaign.roots.values() if verdict_of_root(row) in (verdict, "fails")]


def test_one_of_what_no_must_forbids_is_told_by_its_name_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = mutant("cancels-to-answerer")
    assert causes(plant, ["idontwant-answer"], monkeypatch, "deviates") == ["cancels-to-sender-too"]


@pytest.mark.parametrize("name", PLANTED)
def test_it_is_told_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, cases = PLANTED[name]
    assert causes(plant, cases, monkeypatch) == [name]


def test_without_it_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = dict.fromkeys(case for _, cases in PLANTED.values() for case in cases)
    assert causes(lambda r: None, tuple(cases), monkeypatch) == []


DOG = "dog"
ALLOWED = frozenset(
    {"committed-answered", "exact-bounds", "own-never-filtered", "reset-may-be-lost"}
    | {"self-route-refused", "some-sender-filters"}
)
"""What another text of DOG says and no case of the suite tells from ours: most of it, ours allows."""


def lower_bound_included(r: DogReactor) -> None:
    patch(r.redundancy, "too_low", lambda ratio: ratio <= r.redundancy.lower)


def rounded_down(r: DogReactor) -> None:
    usual = r.redundancy.ratio
    patch(r.redundancy, "ratio", lambda: usual() // 1 if r.redundancy.first_time else usual())


def of_all(r: DogReactor) -> None:
    counted, usual = r.redundancy, r.redundancy.ratio

    def share() -> float:
        came = counted.duplicates + counted.first_time
        return counted.duplicates / came if counted.first_time else usual()

    patch(counted, "ratio", share)


def deviation_as_it_is(r: DogReactor) -> None:
    target, delta = r.parameters.target_redundancy, r.parameters.delta_percent / 100
    r.redundancy.lower, r.redundancy.upper = target - delta, target + delta


def uncounted_while_blocked(r: DogReactor) -> None:
    usual = r.redundancy.count_duplicate
    patch(r.redundancy, "count_duplicate", lambda source: None if r.redundancy.blocked else usual(source))


ARITHMETIC: dict[str, Callable[[DogReactor], None]] = {
    "lower-bound-asks": lower_bound_included,
    "redundancy-rounded-down": rounded_down,
    "redundancy-of-all": of_all,
    "deviation-not-of-target": deviation_as_it_is,
    "blocked-duplicates-uncounted": uncounted_while_blocked,
}
"""Name of the edit -> what is planted in the controller."""


def dog_rows(plant: Callable[[DogReactor], None]) -> list[RootCause]:
    def opened(config: Config) -> WireSubject:
        parameters = parameters_of(config, DogParameters, "ours")
        reactor = DogReactor(parameters, dog=parameters.dog, seed=config.seed)
        plant(reactor)
        return WireSubject(MempoolDriver(reactor, name="ours", protocols=(DOG,)), config)

    campaign = run_suite(DOG, "ours", opened, hello=hello_from(opened, DOG, "shipped"))
    return [*campaign.roots.values()]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_what_is_wrong_with_redundancy_is_told_by_its_name(name: str) -> None:
    assert [row.quirk for row in dog_rows(ARITHMETIC[name])] == [name]


@pytest.mark.parametrize("name", sorted(set(SWITCHES) - ALLOWED))
def test_what_another_text_of_dog_says_is_told_by_its_name(name: str) -> None:
    (row,) = dog_rows(SWITCHES[name])
    assert row.quirk == name
    texts = [text for text, switches in TURNED.items() if name in switches]
    assert not texts or any(text in note for note in row.case.notes for text in texts)


@pytest.mark.parametrize(
    ("protocol", "mutant", "clause"),
    [
        ("cat-classic", "cat-announces-by-the-letter", "cat-classic/receive.announce"),
        ("cat", "cat-own-is-pushed", "cat/submit.push"),
        ("peer-limit", "limit-newcomer-displaces", "peer-limit/slot.held"),
    ],
)
def test_what_no_sentence_forbids_is_observed(protocol: str, mutant: str, clause: str) -> None:
    def opened(config: Config) -> WireSubject:
        return WireSubject(open_router(f"ours:{mutant}", config), config)

    campaign = run_suite(protocol, "ours", opened, hello=hello_from(opened, protocol, "shipped"))
    assert {(row.clause, verdict_of_root(row)) for row in campaign.roots.values()} == {(clause, "observed")}
