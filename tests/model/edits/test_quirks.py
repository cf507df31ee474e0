"""What routers in the field were seen to do: no more and no less than their edits say."""

from __future__ import annotations

import pytest

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Connect, Delivered, Join, Output, Publish, Receive, Sent, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IHave, Message, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import ModelSubject
from tests.helpers.pubsub_run import T, after, grafted, of, peers, singles

SPEC = protocol_named("gossipsub-1.2")
BUILT = edit_named("relay-needs-a-subscriber", SPEC).change(SPEC)
MEMBERS = tuple(range(1, 14))
WAITING = ("served-before-verdict", "cached-before-verdict", "idontwant-waits-for-heartbeat")


def peers_alone(*several: int) -> list[Connect]:
    """One after the other, each of which opened the connection."""
    return [Connect((peer,)) for peer in several]


def departs(*cut: Output) -> tuple[Departure, ...]:
    """Of a heartbeat that does no more than this, with a mesh of D_high and one that announced nothing."""
    oracle = Oracle(BUILT, Parameters())
    for event in (Join(T), Connect(MEMBERS, outbound=True), grafted(*MEMBERS)):
        for one in singles(oracle.state, event):
            hello = (Sent(one.peers[0], Subscribe(T)),) if isinstance(one, Connect) else ()
            oracle.judge(one, hello)
    assert oracle.state.mesh_of(T) == {*MEMBERS} and not oracle.state.members(T)
    beat = oracle.state.parameters.heartbeat_delay_ms
    return oracle.judge(Advance(beat), cut).departures


def pruned_to(number: int) -> tuple[Output, ...]:
    seconds = Parameters().prune_backoff_s
    return tuple(Sent(peer, Prune(T, seconds)) for peer in MEMBERS[number:])


def test_a_mesh_that_nobody_announced_may_be_cut_or_not() -> None:
    """Mutant: it is never cut, and who cuts it is said to prune without a reason."""
    assert not departs()
    assert not departs(*pruned_to(Parameters().d))


def test_who_cuts_it_cuts_it_to_d() -> None:
    assert departs(*pruned_to(Parameters().d - 1))
    assert departs(*pruned_to(Parameters().d + 1))


@pytest.mark.parametrize(("in_first", "unclear"), [(8, True), (6, False)])
def test_a_mesh_is_not_guessed_where_a_graft_may_be_told_besides(in_first: int, unclear: bool) -> None:
    """Mutant: the mesh is one of several that agree, and a member that is not there is owed messages."""
    eight = MEMBERS[:8]
    subscribed = [Receive((peer,), (Subscribe(T), Subscribe("t2"))) for peer in eight]
    events = [Join(T), Join("t2"), *peers_alone(*eight), *subscribed]
    oracle = Oracle(edit_named("grafts-shared", SPEC).change(SPEC), Parameters())
    for event in events:
        hello = (
            [Sent(p, Subscribe(t)) for p in event.peers for t in (T, "t2")] if type(event) is Connect else []
        )
        assert not oracle.judge(event, hello).departures
    first, second = ((T, eight[:in_first]), ("t2", eight[-6:]))
    sent = [Sent(peer, Graft(topic)) for topic, several in (first, second) for peer in several]
    judged = oracle.judge(Advance(Parameters().heartbeat_delay_ms), sent)
    assert (judged.blurred, judged.departures) == (unclear, ())


def test_gossip_of_all_topics_may_leave_out_a_topic_that_is_not_joined() -> None:
    """Mutant: who names what it has cached of its topics owes the messages of its fanout, too."""
    built = edit_named("ids-of-any-topic", SPEC).change(SPEC)
    given = Parameters(flood_publish=False)
    for protocol, owes in ((SPEC, True), (built, False)):
        oracle = Oracle(protocol, given)
        sent = {p: Sent(p, Message("m1", T, None)) for p in MEMBERS[: given.d]}
        for event in (*peers_alone(*MEMBERS), *(of(p, Subscribe(T)) for p in MEMBERS)):
            assert not oracle.judge(event, ()).departures
        own = Message("m1", T, None)
        assert not oracle.judge(Publish(own), [*sent.values()]).departures
        assert bool(oracle.judge(Advance(given.heartbeat_delay_ms), ()).departures) == owes


@pytest.mark.parametrize("version", ["gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.3"])
@pytest.mark.parametrize(("name", "spelling"), [("ids-sent-as-text", "text"), ("ids-sent-as-hex", "hexed")])
def test_ids_are_spelled_otherwise_by_every_version(version: str, name: str, spelling: str) -> None:
    protocol = edit_named(name, protocol_named(version)).change(protocol_named(version))
    subject = ModelSubject(protocol, Parameters(d=0, d_low=0, d_out=0, d_score=0))
    met = (Join(T), Connect((1,)), Connect((2,)), of(1, Subscribe(T)), of(2, Subscribe(T)))
    *_, gossip = [subject.do(event) for event in (*met, of(1, Message("m1", T, 1)), Advance(500))]
    told = {o.part.ids for o in gossip if isinstance(o, Sent) and isinstance(o.part, IHave)}
    assert told == {(f"m1@{spelling}",)}


@pytest.mark.parametrize(("beats", "lost"), [(4, False), (5, True)])
def test_a_verdict_after_the_time_in_the_message_cache_counts_for_nobody(beats: int, lost: bool) -> None:
    """Mutant: a rejected message counts against its sender, however late."""
    weighted = TopicScoreParameters(topic=T, topic_weight=1, invalid_message_deliveries_weight=-1)
    given = {"validation": "manual", "scores": ScoreParameters(topics=(weighted,)), "mcache_len": 5}
    late = edit_named("late-verdict-lost", SPEC).change(SPEC)
    events = [*peers(1), Join(T), of(1, Message("m1", T, 1)), Advance(500), *[Advance(1000)] * (beats - 1)]
    for protocol, counts in ((SPEC, True), (late, not lost)):
        end = after(*events, Verdict("m1", "reject"), protocol=protocol, **given)  # type: ignore[arg-type]
        assert (end.router.below(1, 0) is True) == counts


@pytest.mark.parametrize("name", WAITING)
@pytest.mark.parametrize(("seconds", "unclear"), [(7, False), (8, True)])
def test_whether_what_was_seen_long_ago_waits_again_is_not_guessed(
    name: str, seconds: int, unclear: bool
) -> None:
    """Mutant: a copy after the time of the seen cache is dropped, and who serves it departs."""
    built = edit_named(name, SPEC).change(SPEC)
    oracle = Oracle(built, Parameters(validation="manual", seen_ttl_ms=8000))
    m = Message("m1", T, 1)
    begun = [Join(T), *peers_alone(1, 2, 3), of(1, m), Verdict("m1", "accept")]
    for event in (*begun, Advance(500), *[Advance(1000)] * (seconds - 1), Advance(500)):
        hello = [Sent(event.peers[0], Subscribe(T))] if isinstance(event, Connect) else []
        seen = [Delivered(m)] if isinstance(event, Verdict) else hello
        assert not oracle.judge(event, seen).departures
    assert oracle.judge(of(3, m), ()).blurred == unclear
