"""Networks of which some nodes are of one mempool protocol and some of another."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.mempool.protocols import FLOOD
from quidnunc.model.rpc import HaveTx, SeenTx, Tx, WantTx
from quidnunc.model.rules import nobody, without
from quidnunc.properties.regress.mixed import MixedNetworks, carried, delivers, read_by, run_mixed_networks
from quidnunc.properties.regress.sides import side_named
from tests.helpers.small_networks import network_of
from tests.impl.mempool.test_mempool_mixed import READERS, TABLE, WRITERS, name_of

LINE = "line of four"


def mixture(old: str, new: str) -> MixedNetworks:
    return run_mixed_networks(side_named(old), side_named(new))


@pytest.mark.parametrize(("old", "new"), [("flood", "dog"), ("dog-go", "dog"), ("dog-adr", "dog")])
def test_nodes_of_flood_and_of_the_variants_of_dog_keep_delivering_to_each_other(old: str, new: str) -> None:
    found = mixture(old, new)
    assert found.keeps_delivering and found.both.delivered == found.both.runs == 56
    assert found.new.delivered == found.new.runs == 4


def test_the_two_versions_of_cat_do_not_deliver_to_each_other() -> None:
    """Neither takes what the other announces or sends, though each kind alone delivers."""
    found = mixture("cat-classic", "cat")
    assert found.old.delivered == found.old.runs and found.new.delivered == found.new.runs
    assert not found.both.delivered and not found.keeps_delivering


def test_a_node_that_forwards_nothing_is_found() -> None:
    dog = side_named("dog")
    handlers = {**dog.protocol.handlers, "targets": without(nobody)}
    silent = evolve(dog, name="silent", protocol=evolve(dog.protocol, handlers=handlers))
    found = run_mixed_networks(dog, silent)
    assert found.old.delivered == found.old.runs and found.both.delivered < found.both.runs
    assert "NEW" in found.both.lost
    assert delivers((dog, silent), LINE, (False,) * 4, 0) and not delivers(
        (dog, silent), LINE, (True,) * 4, 0
    )


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_read_of_another_is_what_our_nodes_read(writer: str) -> None:
    for part in WRITERS[writer]:
        for reader, made in zip(READERS, TABLE[writer, name_of(part)], strict=True):
            assert (carried(writer, reader, part) is None) == (made == "closed"), (reader, part)


def test_what_the_one_announces_is_a_havetx_to_the_other() -> None:
    assert carried("cat-classic", "dog", SeenTx("t1")) == (HaveTx("t1"),)
    assert carried("dog", "cat-classic", HaveTx("t1")) == (SeenTx("t1"),)
    assert carried("cat-classic", "cat", Tx("t1")) == (Tx("t1"),)
    assert carried("cat-classic", "cat", WantTx("t1")) is None
    assert read_by({1: "flood", 2: "dog"}) is None


def test_a_connection_that_is_closed_is_noticed_by_both_and_what_is_on_it_is_lost() -> None:
    network = network_of(
        FLOOD,
        ((1, 2), (2, 3)),
        "submit A t1, submit B t2, offer A, offer B, deliver A>B",
        read=lambda writer, reader, part: None if writer == 1 else (part,),
    )
    assert [*network.nodes[1].peers] == [] and [*network.nodes[2].peers] == [3]
    assert not network.inbox[1] and network.waiting(3) == [(2, Tx("t2"))]
