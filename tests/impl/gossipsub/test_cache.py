"""Windows of the message cache and lifetimes of seen ids."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quidnunc.impl.gossipsub import cache as gossipsub_cache
from quidnunc.impl.gossipsub.cache import MessageCache, SeenCache
from quidnunc.impl.wire import wire_pb2 as wire


def message(topic: str = "t1", size: int = 0) -> wire.Message:
    return wire.Message(topic=topic, data=bytes(size))


def test_a_message_is_kept_for_all_windows_and_gossiped_for_some() -> None:
    cache = MessageCache(5, 3)
    cache.put(b"a", message())
    for shifts in range(5):
        assert cache.get(b"a") is not None
        assert cache.gossip_ids("t1") == ([b"a"] if shifts < 3 else [])
        assert cache.gossip_ids("t2") == []
        cache.shift()
    assert cache.get(b"a") is None and len(cache) == 0


def test_what_is_accepted_again_moves_to_the_present_window() -> None:
    cache = MessageCache(2, 1)
    for _ in range(3):
        cache.put(b"a", message())
        cache.put(b"a", message())
        assert cache.gossip_ids("t1") == [b"a"] and len(cache) == 1
        cache.shift()
        assert cache.gossip_ids("t1") == [] and cache.get(b"a") is not None
    cache.shift()
    assert cache.get(b"a") is None and len(cache) == 0


def test_a_window_that_is_over_takes_nothing_from_a_newer_one() -> None:
    cache = MessageCache(2, 1)
    cache.put(b"a", message())
    cache.put(b"a", message(), windows_ago=1)
    assert cache.gossip_ids("t1") == [b"a"]


def test_answers_are_counted_per_peer_while_it_is_kept() -> None:
    cache = MessageCache(1, 1)
    cache.put(b"a", message())
    assert [cache.count_served(b"a", 1), cache.count_served(b"a", 1), cache.count_served(b"a", 2)] == [
        1,
        2,
        1,
    ]
    cache.shift()
    cache.put(b"a", message())
    assert cache.count_served(b"a", 1) == 1


def test_the_cache_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossipsub_cache, "MAX_CACHED_BYTES", 1000)
    cache = MessageCache(3, 3)
    for number in range(50):
        cache.put(bytes((number,)), message(size=200))
        if number % 7 == 0:
            cache.shift()
    assert len(cache) == 4
    assert set(cache.gossip_ids("t1")) == {bytes((number,)) for number in range(46, 50)}
    for _ in range(3):
        cache.shift()
    assert len(cache) == 0


def test_an_id_is_seen_for_its_time_from_the_first() -> None:
    seen = SeenCache(100)
    seen.add(b"a", 10)
    assert seen.has(b"a", 10) and seen.has(b"a", 109) and not seen.has(b"a", 110)
    assert not seen.has(b"b", 10)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=60))
def test_sweeping_forgets_exactly_what_is_over(steps: list[tuple[int, int]]) -> None:
    seen, since, now_ms = SeenCache(100), dict[bytes, int](), 0
    for ms, number in steps:
        now_ms += ms
        id_bytes = bytes((number,))
        if not seen.has(id_bytes, now_ms):
            seen.add(id_bytes, now_ms)
            since[id_bytes] = now_ms
        seen.sweep(now_ms)
        alive = {i for i, at in since.items() if now_ms < at + 100}
        assert {i for i in since if seen.has(i, now_ms)} == alive and len(seen) == len(alive)


def test_seen_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossipsub_cache, "MAX_SEEN", 10)
    seen = SeenCache(1000)
    for number in range(30):
        seen.add(bytes((number,)), number)
    assert len(seen) == 10 and seen.has(bytes((29,)), 30) and not seen.has(bytes((19,)), 30)
