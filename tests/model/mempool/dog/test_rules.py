"""Flood and DOG of the model, rule by rule: what each event allows, obliges and changes."""

from __future__ import annotations

import pytest
from attrs import frozen

from quidnunc.model.choices import AngelicChoices, PartialSet, ScriptedChoices
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Closed,
    Commit,
    Connect,
    Disconnect,
    Event,
    Output,
    Raw,
    Receive,
    Resume,
    Sent,
    Stall,
    Submit,
)
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.mempool.node import Node, started_node
from quidnunc.model.mempool.node_step import applicable, step
from quidnunc.model.mempool.protocols import DOG, FLOOD
from quidnunc.model.mempool.protocols import MEMPOOL as PROTOCOLS
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Graft, HaveTx, Part, ResetRoute, Tx
from quidnunc.model.rules import Protocol

RESET = ResetRoute()


@frozen
class After:
    """The end of a run: the node, and what its last event obliges to and leaves free."""

    node: Node
    must: frozenset[Output]
    may: frozenset[Output]
    because: tuple[str, ...]
    problems: int
    blurred: bool

    def to(self, peer: int) -> frozenset[Part]:
        """The parts that must go to `peer`."""
        return frozenset(o.part for o in self.must if isinstance(o, Sent) and o.peer == peer)


def just(*outputs: Output) -> frozenset[Output]:
    return frozenset(outputs)


def of(peer: int, *parts: Part) -> Receive:
    return Receive((peer,), parts)


def joined(*peers: int) -> list[Event]:
    return [Connect((peer,), MEMPOOL) for peer in peers]


def lone(event_of: type[Disconnect] | type[Stall] | type[Resume], peer: int) -> Event:
    return event_of((peer,))


def after(
    *events: Event | list[Event],
    protocol: Protocol = DOG,
    seen: set[Output] | None = None,
    **parameters: float,
) -> After:
    """Play `events`; the last one is judged along the outputs `seen`, the others take the first choice."""
    node = started_node(protocol, DogParameters(**parameters))  # type: ignore[arg-type]
    flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
    for event in flat[:-1]:
        assert applicable(node, event), event
        node = step(node, event, ScriptedChoices()).router
    angel = AngelicChoices(
        frozenset(seen or ()), blind=frozenset(p for p, x in node.peers.items() if x.stalled)
    )
    assert applicable(node, flat[-1]), flat[-1]
    last = step(node, flat[-1], angel)
    return After(
        last.router,
        frozenset(p.output for p in last.permits if p.must),
        frozenset(p.output for p in last.permits if not p.must),
        tuple(angel.because),
        len(angel.problems),
        angel.blurred,
    )


def loaded(first: int, duplicates: int) -> list[Event]:
    """So many first-time and duplicate transactions of users."""
    return [*(Submit(f"u{k}") for k in range(first)), *(Submit("u0") for _ in range(duplicates))]


# -- Flood --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
class TestFlood:
    def test_first_time(self, protocol: Protocol) -> None:
        end = after(joined(1, 2, 3), of(1, Tx("a")), protocol=protocol)
        assert end.must == {Sent(2, Tx("a")), Sent(3, Tx("a"))}
        assert end.node.pool == {"a": (1,)}
        assert "flood/receive.first-time" in end.because

    def test_duplicate(self, protocol: Protocol) -> None:
        end = after(joined(1, 2, 3), of(1, Tx("a")), of(2, Tx("a")), protocol=protocol)
        assert end.node.pool == {"a": (1, 2)}
        assert not any(isinstance(o, Sent) and o.part == Tx("a") for o in end.must | end.may)
        end = after(joined(1, 2), of(1, Tx("a")), of(1, Tx("a")), protocol=protocol)
        assert end.node.pool == {"a": (1,)}
        assert "flood/sender.ordered" in end.because

    def test_committed(self, protocol: Protocol) -> None:
        end = after(joined(1, 2), of(1, Tx("a")), Commit("a"), of(2, Tx("a")), protocol=protocol)
        assert not end.node.pool
        assert end.node.knows("a")
        assert not any(isinstance(o, Sent) and o.part == Tx("a") for o in end.must | end.may)

    def test_from_a_user(self, protocol: Protocol) -> None:
        end = after(joined(1, 2), Submit("a"), protocol=protocol)
        assert end.must == {Sent(1, Tx("a")), Sent(2, Tx("a"))}
        assert end.node.pool == {"a": ()}
        end = after(joined(1, 2), of(1, Tx("a")), Submit("a"), protocol=protocol)
        assert (end.must, end.node.pool) == (frozenset(), {"a": (1,)})

    def test_a_new_peer_gets_the_pool(self, protocol: Protocol) -> None:
        base = [*joined(1, 2), of(1, Tx("a")), of(2, Tx("b")), Submit("c")]
        end = after(base, joined(3), protocol=protocol)
        assert end.must == {Sent(3, Tx("a")), Sent(3, Tx("b")), Sent(3, Tx("c"))}
        end = after(joined(1), of(1, Tx("a")), lone(Disconnect, 1), joined(1), protocol=protocol)
        assert end.must == frozenset()

    def test_a_stalled_peer_is_decided_later(self, protocol: Protocol) -> None:
        waits = [*joined(1, 2, 3), lone(Stall, 3)]
        end = after(waits, of(1, Tx("a"), Tx("b")), protocol=protocol)
        assert end.must == {Sent(2, Tx("a")), Sent(2, Tx("b"))}
        assert end.may == frozenset()
        # By then 3 has sent b itself, and c is gone: either could have been decided before.
        later = [*waits, of(1, Tx("a"), Tx("b"), Tx("c")), of(3, Tx("b")), Commit("c")]
        end = after(later, lone(Resume, 3), protocol=protocol)
        assert end.to(3) - {HaveTx("b")} == {Tx("a")}
        assert end.may == {Sent(3, Tx("b")), Sent(3, Tx("c"))}
        assert end.node.undecided == {}

    def test_a_pool_or_cache_without_room_is_outside_the_documents(self, protocol: Protocol) -> None:
        small = DogParameters(pool_size=2, cache_size=3)
        node = started_node(protocol, small)
        for event in (*joined(1), of(1, Tx("a"), Tx("b"))):
            node = step(node, event, ScriptedChoices()).router
        assert not applicable(node, of(1, Tx("c")))
        assert applicable(node, of(1, Tx("b")))
        node = step(node, Commit("a"), ScriptedChoices()).router
        assert applicable(node, Submit("c"))
        assert not applicable(node, of(1, Tx("c"), Tx("d")))

    def test_time_means_nothing(self, protocol: Protocol) -> None:
        start = after(joined(1), of(1, Tx("a")), protocol=protocol)
        assert after(joined(1), of(1, Tx("a")), Advance(5000), protocol=protocol).node == start.node

    def test_malformed_bytes_may_close_and_no_more(self, protocol: Protocol) -> None:
        base = [*joined(1, 2), of(1, Tx("a")), of(2, HaveTx("a"))]
        open_ = after(base, Raw((1,), "not-protobuf"), protocol=protocol)
        assert (open_.may, open_.must) == (just(), just())
        assert set(open_.node.peers) == {1, 2}
        closed = after(base, Raw((1,), "not-protobuf"), protocol=protocol, seen={Closed(1), Sent(2, RESET)})
        assert set(closed.node.peers) == {2}
        asked = just() if protocol is FLOOD else just(Sent(2, RESET))
        assert closed.must == just(Closed(1)) | asked


def test_flood_has_no_controls() -> None:
    start = after(joined(1, 2), of(1, Tx("a")), protocol=FLOOD).node
    end = after(joined(1, 2), of(1, Tx("a")), of(2, HaveTx("a"), RESET), protocol=FLOOD)
    assert (end.node, end.must | end.may) == (start, frozenset())
    assert after(joined(1, 2), of(1, Tx("a")), of(2, Tx("a")), protocol=FLOOD).must == frozenset()
    assert not applicable(start, Adjust())


def test_what_cannot_happen() -> None:
    node = after(joined(1)).node
    for event in (*joined(1), Connect((2,)), of(2, RESET), of(1, Graft("t")), Commit("a"), lone(Resume, 2)):
        assert not applicable(node, event), event


def test_the_engines_find_it() -> None:
    for name in ("flood", "dog"):
        protocol = protocol_named(name)
        machine = family_of(protocol)
        assert machine.start(protocol, machine.parameters()) == started_node(protocol, DogParameters())


# -- HaveTx -------------------------------------------------------------------------------------------------


def test_a_duplicate_is_answered_once() -> None:
    end = after(joined(1, 2), of(1, Tx("a")), of(2, Tx("a")))
    assert end.must == {Sent(2, HaveTx("a"))}
    assert (end.node.first_time, end.node.duplicates, end.node.blocked) == (1, 1, True)
    end = after(joined(1, 2), of(1, Tx("a")), of(2, Tx("a")), of(1, Tx("a")))
    assert (end.must | end.may, end.node.duplicates) == (frozenset(), 2)
    assert "dog/havetx.while-blocked" in end.because


def test_a_users_duplicate_is_counted_only() -> None:
    end = after(joined(1), Submit("a"), Submit("a"))
    assert end.must == frozenset()
    assert (end.node.first_time, end.node.duplicates, end.node.blocked) == (1, 1, False)


def test_a_committed_duplicate_may_be_answered() -> None:
    base = [*joined(1, 2), of(1, Tx("a")), Commit("a")]
    silent = after(base, of(2, Tx("a")))
    assert (silent.must, silent.node.blocked, silent.node.duplicates) == (frozenset(), False, 1)
    spoken = after(base, of(2, Tx("a")), seen={Sent(2, HaveTx("a"))})
    assert (spoken.must, spoken.node.blocked) == (just(Sent(2, HaveTx("a"))), True)


def test_an_answer_that_cannot_be_seen_leaves_it_open_whether_it_was_given() -> None:
    hidden = [*joined(1, 2, 3), of(1, Tx("a")), of(1, Tx("b")), Commit("a"), lone(Stall, 2)]
    end = after(hidden, of(2, Tx("a")))
    assert (end.may, end.node.blocked) == (just(Sent(2, HaveTx("a"))), None)
    blocked = after(hidden, of(2, Tx("a")), of(3, Tx("b")))
    assert (blocked.must, blocked.node.blocked, blocked.blurred) == (frozenset(), True, False)
    free = after(hidden, of(2, Tx("a")), of(3, Tx("b")), seen={Sent(3, HaveTx("b"))})
    assert (free.must, free.node.blocked) == (just(Sent(3, HaveTx("b"))), True)


@pytest.mark.parametrize(
    ("events", "clause"),
    [
        ([of(2, HaveTx("unknown"))], "dog/havetx.no-sender"),
        ([Submit("own"), of(2, HaveTx("own"))], "dog/havetx.no-sender"),
        ([of(1, Tx("a")), Commit("a"), of(2, HaveTx("a"))], "dog/havetx.no-sender"),
        ([of(1, Tx("a")), lone(Disconnect, 1), of(2, HaveTx("a"))], "dog/havetx.first-sender-gone"),
    ],
)
def test_a_havetx_that_disables_nothing(events: list[Event], clause: str) -> None:
    before = after(joined(1, 2, 3), events[:-1], Advance(1)).node
    end = after(joined(1, 2, 3), events)
    assert (end.node, end.must | end.may) == (before, frozenset())
    assert clause in end.because


def test_the_first_senders_route_is_disabled() -> None:
    base = [*joined(1, 2, 3), of(1, Tx("a")), of(2, Tx("a")), of(3, HaveTx("a"))]
    assert after(base).node.routes == {3: PartialSet.of([1])}
    assert after(base, of(3, HaveTx("a"))).node.routes == {3: PartialSet.of([1])}
    assert after(base, of(1, Tx("b"))).must == {Sent(2, Tx("b"))}
    assert after(base, of(2, Tx("b"))).must == {Sent(1, Tx("b")), Sent(3, Tx("b"))}
    assert after(base, Submit("b")).must == {Sent(p, Tx("b")) for p in (1, 2, 3)}


def test_a_peer_that_is_first_sender_itself() -> None:
    end = after(joined(1, 2), of(1, Tx("a")), of(1, HaveTx("a")))
    assert end.node.routes == {1: PartialSet.of([1])}
    assert after(joined(1, 2), of(1, Tx("a")), of(1, HaveTx("a")), of(2, Tx("b"))).must == {Sent(1, Tx("b"))}


# -- ResetRoute ---------------------------------------------------------------------------------------------

TWO_CUT: list[Event] = [
    *joined(1, 2, 3),
    of(1, Tx("a")),
    of(2, Tx("b")),
    of(3, HaveTx("a"), HaveTx("b")),
    of(2, HaveTx("a")),
]


def test_a_reset_frees_one_of_its_own() -> None:
    end = after(TWO_CUT, of(3, RESET))
    assert end.must | end.may == frozenset()
    assert end.node.routes == {2: PartialSet.of([1]), 3: PartialSet(frozenset(), frozenset([1, 2]), 1, 1)}
    assert after(TWO_CUT, of(3, RESET, RESET)).node.disabled_to(3) == PartialSet()


def test_a_reset_without_a_route_is_consumed() -> None:
    before = after(joined(1, 2), of(1, Tx("a"))).node
    end = after(joined(1, 2), of(1, Tx("a")), of(2, RESET))
    assert end.node == before
    assert end.because == ("dog/reset.none",)


def test_which_route_was_freed_shows_by_what_is_sent() -> None:
    freed = [*TWO_CUT, of(3, RESET)]
    sent = after(freed, of(1, Tx("c")), seen={Sent(3, Tx("c"))})
    assert sent.must == {Sent(3, Tx("c"))}
    assert sent.node.disabled_to(3) == PartialSet.of([2])
    withheld = after(freed, of(1, Tx("c")))
    assert withheld.must == frozenset()
    assert withheld.node.disabled_to(3) == PartialSet.of([1])


def test_once_it_has_shown_the_other_is_owed() -> None:
    freed = [*TWO_CUT, of(3, RESET)]
    # The first choice of the script: 3 gets c, so that the route from 1 is the free one.
    assert after(freed, of(1, Tx("c")), of(2, Tx("d"))).must == {Sent(1, Tx("d"))}
    assert after(freed, of(1, Tx("c")), of(1, Tx("d"))).must == {Sent(3, Tx("d"))}


# -- the controller -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "duplicates", "clause"),
    [
        (0, 0, "dog/controller.idle"),
        (1, 0, "dog/controller.reset"),
        (100, 89, "dog/controller.reset"),
        (100, 90, "dog/controller.in-band"),
        (100, 109, "dog/controller.in-band"),
        (100, 110, "dog/controller.unblock"),
        (1, 9, "dog/controller.unblock"),
    ],
)
def test_the_band(first: int, duplicates: int, clause: str) -> None:
    end = after(joined(1), loaded(first, duplicates), Adjust(), seen={Sent(1, RESET)})
    assert clause in end.because
    assert end.must == ({Sent(1, RESET)} if clause == "dog/controller.reset" else frozenset())
    assert (end.node.first_time, end.node.duplicates) == (0, 0)


def test_the_last_bit_of_a_bound() -> None:
    end = after(loaded(100, 9), Adjust(), target_redundancy=0.1)
    assert "dog/controller.reset" in end.because
    assert end.must == frozenset()


def test_permission_is_given_and_not_withdrawn() -> None:
    answered = [*joined(1, 2), of(1, Tx("a")), of(2, Tx("a"))]
    assert after(answered, Adjust()).node.blocked is True
    assert after(answered, of(2, Tx("a")), Adjust()).node.blocked is False
    low = after(joined(1, 2), of(1, Tx("a")), Adjust(), seen={Sent(1, RESET)})
    assert low.node.blocked is False


def test_duplicates_alone_are_too_much() -> None:
    end = after(joined(1, 2), of(1, Tx("a")), of(2, Tx("a")), Adjust(), of(2, Tx("a"), Tx("a")), Adjust())
    assert "dog/controller.ratio" in end.because
    assert end.node.blocked is False


def test_exactly_one_peer_is_asked() -> None:
    base = [*joined(1, 2, 3), Submit("a")]
    for peer in (1, 2, 3):
        end = after(base, Adjust(), seen={Sent(peer, RESET)})
        assert (end.must, end.problems) == (just(Sent(peer, RESET)), 0)
    assert after(base, Adjust()).problems == 1
    assert len(after(base, Adjust(), seen={Sent(1, RESET), Sent(2, RESET)}).must) == 1


def test_a_reset_that_waits_for_a_stalled_peer() -> None:
    stalled = [*joined(1, 2, 3), Submit("a"), lone(Stall, 2), lone(Stall, 3)]
    end = after(stalled, Adjust())
    assert (end.problems, end.blurred, end.must) == (0, False, frozenset())
    waits = end.node
    assert waits.waiting_resets == (PartialSet(frozenset(), frozenset([2, 3]), 1, 1),)
    came = step(waits, Resume((2,)), AngelicChoices(frozenset([Sent(2, RESET)])))
    assert [(p.output, p.must) for p in came.permits] == [(Sent(2, RESET), True)]
    assert came.router.waiting_resets == ()
    not_here = step(waits, Resume((2,)), AngelicChoices(frozenset())).router
    owed = step(not_here, Resume((3,)), AngelicChoices(frozenset()))
    assert [(p.output, p.must) for p in owed.permits] == [(Sent(3, RESET), True)]
    lost = step(waits, Disconnect((2,)), AngelicChoices(frozenset())).router
    assert lost.waiting_resets == (PartialSet(frozenset(), frozenset([3]), 0, 1),)


# -- the loss of a peer -------------------------------------------------------------------------------------


def test_a_lost_peer_takes_its_routes_with_it() -> None:
    assert after(TWO_CUT, lone(Disconnect, 1), seen={Sent(2, RESET)}).node.routes == {
        2: PartialSet(),
        3: PartialSet.of([2]),
    }
    assert after(TWO_CUT, lone(Disconnect, 3), seen={Sent(2, RESET)}).node.routes == {2: PartialSet.of([1])}


def test_a_loss_runs_the_controller_for_those_who_stay() -> None:
    base = [*joined(1, 2), of(1, Tx("a"))]
    end = after(base, lone(Disconnect, 1), seen={Sent(2, RESET)})
    assert (end.must, end.problems) == (just(Sent(2, RESET)), 0)
    assert (end.node.first_time, end.node.duplicates) == (0, 0)
    assert after(base, lone(Disconnect, 1), seen={Sent(1, RESET)}).problems == 1
    as_written = after(
        base, lone(Disconnect, 1), seen={Sent(1, RESET)}, protocol=DOG.without_rule("the_lost")
    )
    assert (as_written.must, as_written.problems) == (just(Sent(1, RESET)), 0)


def test_each_rule_bears_a_clause_and_drops_out_by_name() -> None:
    for protocol in PROTOCOLS.values():
        names = [each.name for _, each in protocol.rules()]
        assert len({(h, e.name) for h, e in protocol.rules()}) == len(names)
        for handler, each in protocol.rules():
            assert each.clause.split("/")[0] in ("flood", "dog"), (handler, each.name)
            assert protocol.without_rule(each.name).name == protocol.name
