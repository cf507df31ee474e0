"""Nodes of different mempool protocols beside each other: what each makes of the bytes of the others."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.ours.mempool import open_mempool
from quidnunc.impl.seam import Config, Driver, Reply
from quidnunc.impl.wire.cat_codec import codec_of
from quidnunc.model.choices import AngelicChoices
from quidnunc.model.events import MEMPOOL, Connect, Event, Receive
from quidnunc.model.machine import family_of
from quidnunc.model.mempool.protocols import DOG, FLOOD
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws

WRITERS: dict[str, tuple[Part, ...]] = {
    "flood": (Tx("b"),),
    "dog": (Tx("b"), HaveTx("a"), HaveTx("new"), ResetRoute()),
    "cat-classic": (Tx("b"), SeenTx("a"), SeenTx("new"), WantTx("a")),
    "cat": (Tx("b"), SeenTx("a"), WantTx("a")),
}
READERS = ("flood", "dog", "cat-classic", "cat")

TABLE: dict[tuple[str, str], tuple[str, ...]] = {
    # What the four readers make of it, in their order. Each node has "a" of peer 1, and 2 is who writes.
    ("flood", "tx b"): ("1: tx b", "1: tx b", "1: seentx b", "nothing"),
    ("dog", "tx b"): ("1: tx b", "1: tx b", "1: seentx b", "nothing"),
    ("cat-classic", "tx b"): ("1: tx b", "1: tx b", "1: seentx b", "nothing"),
    # On 0x31 the others have no transactions.
    ("cat", "tx b"): ("closed", "closed", "closed", "nothing"),
    # HaveTx is SeenTx to CAT: of what it has it means nothing, of what it has not, "ask me".
    ("dog", "havetx a"): ("nothing", "route 1 to 2 disabled", "nothing", "closed"),
    ("dog", "havetx new"): ("nothing", "nothing", "2: wanttx new", "closed"),
    # ResetRoute is a WantTx without a key.
    ("dog", "resetroute"): ("nothing", "nothing", "closed", "closed"),
    # SeenTx is HaveTx to DOG, and cuts the CAT node off from who sent the transaction first.
    ("cat-classic", "seentx a"): ("nothing", "route 1 to 2 disabled", "nothing", "closed"),
    ("cat-classic", "seentx new"): ("nothing", "nothing", "2: wanttx new", "closed"),
    # WantTx is ResetRoute to DOG, which knows nothing of the key; the current CAT has it on another channel.
    ("cat-classic", "wanttx a"): ("nothing", "nothing", "2: tx a", "closed"),
    # With its signer SeenTx is longer than the longest control message of CometBFT.
    ("cat", "seentx a"): ("closed", "closed", "nothing", "nothing"),
    ("cat", "wanttx a"): ("closed", "closed", "closed", "2: tx a"),
}


def ready(reader: str) -> Driver:
    """A node with two peers that has the transaction "a" of the first."""
    driver = open_mempool(Config(protocol=reader, parameters=DogParameters(dog=reader == "dog")))
    codec = codec_of(reader)
    for peer in (1, 2):
        driver.connect(peer, MEMPOOL, False)
    if reader == "cat":
        channel, data = codec.encode(SeenTx("a"))
        driver.rpc(1, data, channel)
    channel, data = codec.encode(Tx("a"))
    driver.rpc(1, data, channel)
    return driver


def what_happened(driver: Driver, reader: str, reply: Reply) -> str:
    """What a reply shows, in the words of the table."""
    assert not reply.crashed
    if reply.closed:
        return "closed"
    codec = codec_of(reader)
    for symbol in ("a", "b", "new"):
        codec.tx_bytes(symbol)
    said = [
        f"{peer}: {type(part).__name__.lower()} {getattr(part, 'id', '')}".strip()
        for peer, channel, data in reply.out
        for part in codec.decode(channel, data)
    ]
    routes = driver.state().state.get("routes", [])
    assert isinstance(routes, list)
    said += [f"route {source} to {target} disabled" for source, target in routes]
    return "; ".join(said) or "nothing"


def name_of(part: Part) -> str:
    return f"{type(part).__name__.lower()} {getattr(part, 'id', '')}".strip()


@pytest.mark.parametrize("writer", WRITERS)
def test_what_each_makes_of_the_bytes_of_another(writer: str) -> None:
    for part in WRITERS[writer]:
        channel, data = codec_of(writer).encode(part)
        made = []
        for reader in READERS:
            driver = ready(reader)
            made.append(what_happened(driver, reader, driver.rpc(2, data, channel)))
        assert tuple(made) == TABLE[writer, name_of(part)], name_of(part)


def test_the_table_is_complete() -> None:
    assert set(TABLE) == {(writer, name_of(p)) for writer, parts in WRITERS.items() for p in parts}
    assert all(len(made) == len(READERS) for made in TABLE.values())


def test_a_request_of_cat_frees_a_route_of_dog() -> None:
    driver = ready("dog")
    for part in (SeenTx("a"), WantTx("a")):
        channel, data = codec_of("cat-classic").encode(part)
        assert driver.rpc(2, data, channel) == Reply()
        assert driver.state().state["routes"] == ([[1, 2]] if isinstance(part, SeenTx) else [])


def test_dog_switched_off_is_flood() -> None:
    """On random runs the model allows and obliges to the same, and our router does the same to the byte."""
    machine, steps, controls = family_of(DOG), 0, 0
    for number in range(40):
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, "flood", frozenset())
        parameters = neighbours.parameters
        assert not parameters.dog
        flood, off = machine.start(FLOOD, parameters), machine.start(DOG, parameters)
        configs = [Config(seed=number, protocol=name, parameters=parameters) for name in ("flood", "dog")]
        wires = [WireSubject(open_mempool(config), config) for config in configs]
        for _ in range(25):
            for event in neighbours.act(flood, digits):
                for peer in getattr(event, "peers", (None,)):
                    single: Any = event if peer is None else evolve(event, peers=(peer,))  # type: ignore[misc]
                    assert machine.applicable(flood, single) == machine.applicable(off, single)
                    if not machine.applicable(flood, single):
                        continue
                    one, other = (wire.do(single) for wire in wires)
                    assert one == other, single
                    after = [machine.step(n, single, AngelicChoices(frozenset(one))) for n in (flood, off)]
                    assert after[0].permits == after[1].permits, single
                    flood, off = (each.router for each in after)
                    steps += 1
                    controls += any(isinstance(p, HaveTx | ResetRoute) for p in getattr(event, "parts", ()))
        assert (flood.pool, flood.peers) == (off.pool, off.peers)
    assert steps > 800 and controls > 50


def test_dog_switched_on_is_not_flood() -> None:
    """The comparison can fail."""
    machine = family_of(DOG)
    first: list[Event] = [Connect((1,), MEMPOOL), Connect((2,), MEMPOOL), Receive((1,), (Tx("a"),))]
    permits = []
    for protocol in (FLOOD, DOG):
        node = machine.start(protocol, DogParameters())
        for event in first:
            node = machine.step(node, event, AngelicChoices(frozenset())).router
        permits.append(machine.step(node, Receive((2,), (Tx("a"),)), AngelicChoices(frozenset())).permits)
    assert permits[0] == () and len(permits[1]) == 1
