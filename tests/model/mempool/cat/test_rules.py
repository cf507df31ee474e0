"""CAT of the model, classic and current, rule by rule: what each event allows, obliges and changes."""

from __future__ import annotations

import pytest
from attrs import frozen

from quidnunc.model.choices import AngelicChoices, ScriptedChoices
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Commit,
    Connect,
    Disconnect,
    Event,
    Output,
    Receive,
    Resume,
    Sent,
    Stall,
    Submit,
)
from quidnunc.model.machine import family_of
from quidnunc.model.mempool.cat.accounts import QUEUED_MS
from quidnunc.model.mempool.cat.rules import MEMORY_MS
from quidnunc.model.mempool.node import Node, started_node
from quidnunc.model.mempool.node_step import NO_TICK_MS, applicable, step, until_tick_ms
from quidnunc.model.mempool.protocols import CAT, CAT_CLASSIC, CATS
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.model.rules import Protocol

BOTH = pytest.mark.parametrize("protocol", CATS.values(), ids=list(CATS))
MOMENT_MS, MINUTE_MS = 200, 60_000


@frozen
class After:
    """The end of a run: the node, and what its last event obliges to and leaves free."""

    node: Node
    must: frozenset[Output]
    may: frozenset[Output]
    problems: int


def of(peer: int, *parts: Part) -> Receive:
    return Receive((peer,), parts)


def joined(*peers: int) -> list[Event]:
    return [Connect((peer,), MEMPOOL) for peer in peers]


def after(
    *events: Event | list[Event],
    protocol: Protocol = CAT_CLASSIC,
    seen: set[Output] | None = None,
    **parameters: int,
) -> After:
    """Play `events`; the last one is judged along the outputs `seen`, the others take the first choice."""
    node = started_node(protocol, DogParameters(**parameters))  # type: ignore[arg-type]
    flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
    for event in flat[:-1]:
        assert applicable(node, event), event
        node = step(node, event, ScriptedChoices()).router
    angel = AngelicChoices(frozenset(seen or ()))
    assert applicable(node, flat[-1]), flat[-1]
    last = step(node, flat[-1], angel)
    must = frozenset(p.output for p in last.permits if p.must)
    may = frozenset(p.output for p in last.permits if not p.must)
    return After(last.router, must, may, len(angel.problems))


class TestClassic:
    def test_a_users_transaction_is_pushed_and_not_announced(self) -> None:
        end = after(joined(1, 2), Submit("a"))
        assert end.must == {Sent(1, Tx("a")), Sent(2, Tx("a"))}
        assert end.node.holders_of("a") == {1, 2}
        assert after(joined(1, 2), Submit("a"), Submit("a")).must == frozenset()

    def test_it_is_not_pushed_to_those_who_announced_it(self) -> None:
        end = after(joined(1, 2), of(1, SeenTx("a")), Submit("a"))
        assert end.must == {Sent(2, Tx("a"))}
        assert end.node.wanted == {}

    def test_what_a_peer_sends_unasked_is_taken(self) -> None:
        end = after(joined(1, 2, 3), of(1, Tx("a")))
        assert end.must == {Sent(2, SeenTx("a")), Sent(3, SeenTx("a"))}
        assert end.node.holders_of("a") == {1}

    def test_a_request_lapses_in_a_moment_and_goes_to_another_announcer(self) -> None:
        base = [*joined(1, 2, 3), of(1, SeenTx("a")), of(2, SeenTx("a"))]
        assert after(base, Advance(MOMENT_MS - 1)).must == frozenset()
        end = after(base, Advance(MOMENT_MS), seen={Sent(2, WantTx("a"))})
        assert (end.must, end.problems) == ({Sent(2, WantTx("a"))}, 0)
        assert after(base, Advance(MOMENT_MS)).problems == 1
        assert after(base, Advance(MOMENT_MS), seen={Sent(3, WantTx("a"))}).problems == 1
        assert after(base, Advance(MOMENT_MS), seen={Sent(1, WantTx("a"))}).problems == 1

    def test_with_nobody_left_it_is_given_up_until_one_announces(self) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a")), Advance(MOMENT_MS)]
        assert until_tick_ms(after(base).node) == NO_TICK_MS
        assert after(base, of(2, SeenTx("a"))).must == {Sent(2, WantTx("a"))}
        # The specification does not forbid to ask the same peer, which has announced again.
        assert after(base, of(1, SeenTx("a"))).must == {Sent(1, WantTx("a"))}

    def test_who_did_not_answer_is_a_source_again_after_an_hour(self) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a")), Advance(MOMENT_MS)]
        late = [Advance(MEMORY_MS), of(2, SeenTx("a")), Advance(MOMENT_MS)]
        assert after(base, late, seen={Sent(1, WantTx("a"))}).must == {Sent(1, WantTx("a"))}
        assert after(base, of(2, SeenTx("a")), Advance(MOMENT_MS)).must == frozenset()


class TestCurrent:
    def test_a_users_transaction_is_announced(self) -> None:
        end = after(
            joined(1, 2), Submit("a"), protocol=CAT, seen={Sent(1, SeenTx("a")), Sent(2, SeenTx("a"))}
        )
        assert end.must == {Sent(1, SeenTx("a")), Sent(2, SeenTx("a"))}
        assert end.problems == 0

    def test_what_was_not_asked_for_is_dropped(self) -> None:
        end = after(joined(1, 2), of(1, Tx("a")), protocol=CAT)
        assert (end.must, end.node.pool) == (frozenset(), {})
        assert end.node.holders_of("a") == {1}

    def test_an_answer_is_taken_in_time_and_late(self) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a"))]
        told = {Sent(2, SeenTx("a"))}
        assert after(base, of(1, Tx("a")), protocol=CAT, seen=set(told)).must == told
        late = [*base, Advance(MINUTE_MS)]
        assert after(late, of(1, Tx("a")), protocol=CAT, seen=set(told)).must == told
        forgotten = [*late, Advance(MEMORY_MS)]
        assert after(forgotten, of(1, Tx("a")), protocol=CAT).must == frozenset()

    def test_not_more_peers_than_the_bound_are_told(self) -> None:
        told = {Sent(p, SeenTx("a")) for p in (1, 3)}
        end = after(joined(1, 2, 3), Submit("a"), protocol=CAT, seen=set(told), max_announced_peers=2)
        assert (end.must, end.problems) == (told, 0)
        assert end.node.holders_of("a") == {1, 3}
        fewer = {Sent(1, SeenTx("a"))}
        end = after(joined(1, 2, 3), Submit("a"), protocol=CAT, seen=set(fewer), max_announced_peers=2)
        assert end.problems == 1

    def test_who_may_still_answer_is_not_asked_twice(self) -> None:
        base = [*joined(1), of(1, SeenTx("a")), Advance(MINUTE_MS)]
        assert after(base, of(1, SeenTx("a")), protocol=CAT).must == frozenset()
        # For how long it is remembered is not said.
        forgotten, again = [*base, Advance(MEMORY_MS)], Sent(1, WantTx("a"))
        assert after(forgotten, of(1, SeenTx("a")), protocol=CAT).must == frozenset()
        assert after(forgotten, of(1, SeenTx("a")), protocol=CAT, seen={again}).must == {again}


@BOTH
class TestBoth:
    def test_an_announcement_is_followed_by_one_request(self, protocol: Protocol) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a"))]
        assert after(base, protocol=protocol).must == {Sent(1, WantTx("a"))}
        end = after(base, of(2, SeenTx("a")), protocol=protocol)
        assert end.must == frozenset()
        assert end.node.holders_of("a") == {1, 2}

    def test_what_is_known_is_not_asked_for(self, protocol: Protocol) -> None:
        assert after(joined(1), Submit("a"), of(1, SeenTx("a")), protocol=protocol).must == frozenset()
        gone = [*joined(1), Submit("a"), Commit("a"), of(1, SeenTx("a"))]
        assert after(gone, protocol=protocol).must == frozenset()

    def test_who_asks_is_served_as_often_as_he_asks(self, protocol: Protocol) -> None:
        base = [*joined(1), Submit("a"), of(1, WantTx("a"))]
        assert after(base, protocol=protocol).must == {Sent(1, Tx("a"))}
        assert after(base, of(1, WantTx("a")), protocol=protocol).must == {Sent(1, Tx("a"))}
        gone = after(base, Commit("a"), of(1, WantTx("a")), protocol=protocol)
        assert (gone.must, gone.may) == (frozenset(), {Sent(1, WantTx("a"))})
        never = after(base, of(1, WantTx("b")), protocol=protocol)
        assert (never.must, never.may) == (frozenset(), {Sent(1, WantTx("b"))})

    def test_a_copy_changes_nothing(self, protocol: Protocol) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a")), of(1, Tx("a"))]
        assert after(base, of(2, Tx("a")), protocol=protocol).must == frozenset()
        assert after(base, Commit("a"), of(1, Tx("a")), protocol=protocol).node.pool == {}

    def test_a_loss_moves_the_request(self, protocol: Protocol) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a")), of(2, SeenTx("a"))]
        end = after(base, Disconnect((1,)), protocol=protocol, seen={Sent(2, WantTx("a"))})
        assert (end.must, end.problems) == ({Sent(2, WantTx("a"))}, 0)
        assert end.node.holders_of("a") == {2}
        assert after(base, Disconnect((2,)), protocol=protocol).must == frozenset()

    def test_a_new_peer_may_be_told_of_the_pool(self, protocol: Protocol) -> None:
        end = after(Submit("a"), *joined(1), protocol=protocol)
        assert (end.must, end.may) == (frozenset(), {Sent(1, SeenTx("a"))})

    def test_it_hears_no_words_of_dog_and_takes_no_stall(self, protocol: Protocol) -> None:
        node = after(joined(1), protocol=protocol).node
        for part in (HaveTx("a"), ResetRoute()):
            assert not applicable(node, of(1, part))
        assert not any(applicable(node, e) for e in (Stall((1,)), Resume((1,)), Adjust()))
        assert family_of(protocol).start(protocol, DogParameters()) == started_node(protocol, DogParameters())

    def test_time_is_taken_in_steps_to_the_next_request_that_lapses(self, protocol: Protocol) -> None:
        node = after(joined(1), of(1, SeenTx("a")), protocol=protocol).node
        due_ms = until_tick_ms(node)
        assert due_ms == (MOMENT_MS if protocol is CAT_CLASSIC else MINUTE_MS)
        assert applicable(node, Advance(due_ms)) and not applicable(node, Advance(due_ms + 1))


def test_what_the_versions_share_and_where_they_differ() -> None:
    """The current one is the classic one with other tuples in nine places, and three more."""
    differ = {h for h in CAT.handlers if CAT.handlers[h] is not CAT_CLASSIC.handlers.get(h)}
    more = {"arrived", "announce_to", "expected"}
    assert differ - more == {
        *("tx", "new", "announce", "seen", "want_timeout", "refused", "sources", "commit", "disconnect")
    }
    assert more <= differ
    assert all(each.clause.startswith(("cat-classic/", "flood/")) for _, each in CAT_CLASSIC.rules())


class TestWhatTheTextLeavesOpen:
    """Mutant of each: a bound or a condition of the Go node is demanded, which no sentence has."""

    def test_who_has_it_and_never_announced_it_is_asked_in_one_reading_alone(self) -> None:
        """A WantTx MUST follow a SeenTx of that peer. Mutant: whoever has it is asked."""
        base, want = [*joined(1, 2), of(2, Tx("a")), of(1, SeenTx("a"))], Sent(2, WantTx("a"))
        read_so = edit_named("holders-asked", CAT).change(CAT)
        late = after(base, Advance(MINUTE_MS), protocol=CAT, seen={want})
        assert want not in late.must | late.may
        for protocol in (CAT, read_so):
            assert after(base, Advance(MINUTE_MS), protocol=protocol).problems == 0
        assert after(base, Advance(MINUTE_MS), protocol=read_so, seen={want}).must == {want}
        announced = [*base, of(2, SeenTx("a"))]
        for protocol in (CAT, read_so):
            assert after(announced, Advance(MINUTE_MS), protocol=protocol).problems == 1

    def test_by_the_letter_those_that_have_it_are_told_and_its_sender_is_not(self) -> None:
        """ "All connected peers excluding the original sender". Mutant: the sender is told, too."""
        base = [*joined(1, 2, 3), of(2, SeenTx("a")), of(1, Tx("a"))]
        read_so = edit_named("announced-to-holders", CAT_CLASSIC).change(CAT_CLASSIC)
        assert after(*base).must == {Sent(3, SeenTx("a"))}
        assert after(*base, protocol=read_so).must == {Sent(p, SeenTx("a")) for p in (2, 3)}
        with pytest.raises(SpecError, match="cat has no rule announce_to_all"):
            edit_named("announced-to-holders", CAT)

    def test_by_the_letter_a_users_transaction_goes_to_those_that_have_it(self) -> None:
        base = [*joined(1, 2), of(2, SeenTx("a")), Submit("a")]
        read_so = edit_named("pushed-to-holders", CAT_CLASSIC).change(CAT_CLASSIC)
        assert after(*base).must == {Sent(1, Tx("a"))}
        end = after(*base, protocol=read_so)
        assert end.must == {Sent(p, Tx("a")) for p in (1, 2)} and end.node.holders_of("a") == {1, 2}

    def test_a_very_late_answer_is_taken_or_dropped(self) -> None:
        base = [*joined(1, 2), of(1, SeenTx("a")), Advance(MINUTE_MS), Advance(MEMORY_MS)]
        told = Sent(2, SeenTx("a"))
        assert after(base, of(1, Tx("a")), protocol=CAT, seen={told}).node.pool.keys() == {"a"}
        assert after(base, of(1, Tx("a")), protocol=CAT).node.pool == {}
        # One in time is taken.
        assert after(base[:-1], of(1, Tx("a")), protocol=CAT).problems == 1

    def test_an_old_announcement_is_remembered_or_not(self) -> None:
        ahead, want = [*joined(1), of(1, SeenTx("s1n1"))], Sent(1, WantTx("s1n1"))
        told = Sent(1, SeenTx("s1n0"))
        for waits, problems in ((QUEUED_MS - 1, 1), (QUEUED_MS, 0)):
            base = [*ahead, Advance(waits)]
            assert after(base, Submit("s1n0"), protocol=CAT, seen={told}).problems == problems
            assert after(base, Submit("s1n0"), protocol=CAT, seen={told, want}).problems == 0
