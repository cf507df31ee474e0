"""Our CAT reactor behind the seam: bytes and channels, beside the model, its limits, and its mutants."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from quidnunc.impl.mempool.cat import requests as cat_requests
from quidnunc.impl.mutants.cat import CAT_MUTANTS
from quidnunc.impl.ours.mempool import open_cat
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.impl.wire.cat_codec import VERSIONS, CatCodec, codec_of, seen_tx, want_tx
from quidnunc.impl.wire.mempool_codec import MempoolCodec
from quidnunc.model.events import MEMPOOL
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Play, WireSubject
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws

EACH = pytest.mark.parametrize("protocol", VERSIONS)


def opened(protocol: str, peers: int = 3, **parameters: int) -> Driver:
    driver = open_cat(Config(protocol=protocol, parameters=DogParameters(**parameters)))  # type: ignore[arg-type]
    for peer in range(1, peers + 1):
        driver.connect(peer, MEMPOOL, False)
    return driver


def give(driver: Driver, peer: int, codec: CatCodec, part: Part) -> list[tuple[int, Part]]:
    channel, data = codec.encode(part)
    reply = driver.rpc(peer, data, channel)
    assert not reply.closed and not reply.crashed
    return [(to, said) for to, on, bytes_ in reply.out for said in codec.decode(on, bytes_)]


@EACH
def test_parts_come_back_from_their_bytes(protocol: str) -> None:
    codec = CatCodec(protocol)
    for part in (Tx("a"), SeenTx("a"), WantTx("a"), SeenTx("x" + "0" * 64)):
        assert codec.decode(*codec.encode(part)) == (part,)
    for other in (HaveTx("a"), ResetRoute()):
        with pytest.raises(ValueError, match="is no message of CAT"):
            codec.encode(other)


def test_channels_and_fields_are_those_of_the_nodes_in_use() -> None:
    key = hashlib.sha256(b"a\n").digest()
    classic, current = CatCodec("cat-classic"), CatCodec("cat")
    assert classic.encode(Tx("a")) == (0x30, b"\x0a\x04\x0a\x02a\n")
    assert classic.encode(SeenTx("a")) == (0x31, b"\x12\x22\x0a\x20" + key)
    assert classic.encode(WantTx("a")) == (0x31, b"\x1a\x22\x0a\x20" + key)
    assert current.encode(Tx("a"))[0] == 0x31
    assert current.encode(SeenTx("a")) == (0x31, b"\x12\x38\x0a\x20" + key + b"\x1a\x14" + key[:20])
    assert current.encode(WantTx("a")) == (0x32, b"\x1a\x22\x0a\x20" + key)
    assert isinstance(codec_of("dog"), MempoolCodec) and isinstance(codec_of("cat"), CatCodec)


@pytest.mark.parametrize(
    ("protocol", "channel", "data"),
    [
        ("cat-classic", 0x31, seen_tx(bytes(31), signed=False)),
        ("cat-classic", 0x31, want_tx(b"")),
        ("cat-classic", 0x30, want_tx(bytes(32))),
        ("cat-classic", 0x32, want_tx(bytes(32))),
        ("cat", 0x31, want_tx(bytes(32))),
        ("cat", 0x31, seen_tx(bytes(32), signed=False)),
        ("cat", 0x31, b"\x0a\x00"),
        ("cat", 0x31, b"\x0a\x06\x0a\x01a\x0a\x01b"),
        ("cat", 0x31, b"\xff\xff"),
        ("cat", 0x31, bytes(500)),
    ],
)
def test_what_is_no_message_closes_the_connection(protocol: str, channel: int, data: bytes) -> None:
    reply = opened(protocol).rpc(1, data, channel)
    assert (reply.closed, reply.out, reply.crashed) == ((1,), (), "")


def test_what_cannot_be_opened_or_asked_is_refused_by_name() -> None:
    with pytest.raises(AdapterError, match="does not speak 'dog'"):
        open_cat(Config(protocol="dog"))
    with pytest.raises(AdapterError, match="no mempool mutant 'no-such'"):
        open_cat(Config(protocol="cat"), "no-such")
    with pytest.raises(AdapterError, match="takes DogParameters, got Parameters"):
        open_cat(Config(protocol="cat", parameters=Parameters()))
    with pytest.raises(AdapterError, match="it has no 'stall'"):
        opened("cat").stall(1)
    with pytest.raises(TypeError, match="edits a CatReactor, not a str"):
        CAT_MUTANTS["cat-never-serves"].apply("a router")


@EACH
def test_a_transaction_is_announced_wanted_and_served(protocol: str) -> None:
    driver, codec = opened(protocol), CatCodec(protocol)
    assert give(driver, 1, codec, SeenTx("a")) == [(1, WantTx("a"))]
    assert sorted(give(driver, 1, codec, Tx("a")), key=repr) == [(2, SeenTx("a")), (3, SeenTx("a"))]
    assert give(driver, 2, codec, WantTx("a")) == [(2, Tx("a"))]
    assert give(driver, 3, codec, SeenTx("a")) == []


@EACH
def test_an_advance_passes_every_lapse_on_its_way(protocol: str) -> None:
    driver, codec = opened(protocol), CatCodec(protocol)
    for peer in (1, 2, 3):
        give(driver, peer, codec, SeenTx("a"))
    reply = driver.advance(3 * VERSIONS[protocol].timeout_ms)
    assert [to for to, _, _ in reply.out] in ([2, 3], [3, 2])


def test_announcements_of_one_peer_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cat_requests, "MAX_KEYS_PER_PEER", 3)
    driver, codec = opened("cat-classic"), CatCodec("cat-classic")
    asked = [give(driver, 1, codec, SeenTx(f"t{k}")) for k in range(5)]
    assert asked == [[(1, WantTx(f"t{k}"))] for k in range(3)] + [[], []]
    assert give(driver, 2, codec, SeenTx("t4")) == [(2, WantTx("t4"))]


def departures(protocol: str, number: int, mutant: str | None) -> tuple[Departure, ...]:
    """Those of the first step that has any, in the run of that number."""
    digits = SeededDraws(number)
    neighbours = draw_mempool_neighbours(digits, protocol, frozenset({"stall", "raw"}))
    config = Config(seed=number, protocol=protocol, parameters=neighbours.parameters)
    run = Play(
        WireSubject(open_cat(config, mutant), config), Oracle(protocol_named(protocol), config.parameters)
    )
    for _ in range(30):
        state: Any = run.oracle.state
        for event in neighbours.act(state, digits):
            found = run.do(event)
            if found:
                return found
    return ()


@EACH
def test_ours_never_departs(protocol: str) -> None:
    for number in range(60):
        assert departures(protocol, number, None) == (), number


@pytest.mark.parametrize("name", sorted(CAT_MUTANTS))
def test_the_model_notices_each_mutant(name: str) -> None:
    protocol = CAT_MUTANTS[name].protocol
    assert any(departures(protocol, number, name) for number in range(60))
