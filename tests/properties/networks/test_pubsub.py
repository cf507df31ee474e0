"""A network of model routers: what an act does, what it cannot do, and that searches find what is wrong."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.machine import protocol_named
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import Graft, IDontWant, Message, Subscribe
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import act_of, acts_of, name_of, part_text, parts_of
from quidnunc.properties.networks.network import NodeSetup, act_variants, network_after, opened
from quidnunc.properties.networks.places import GRAPHS, SMALL, Revision
from quidnunc.properties.networks.pubsub import PUBSUB as FAMILY
from quidnunc.properties.networks.pubsub import PubsubMove, PubsubNetwork, hashable
from quidnunc.properties.networks.runs import ActError
from quidnunc.properties.networks.world import World
from quidnunc.properties.statements.gossipsub.mesh import links_are_mutual
from quidnunc.properties.statements.gossipsub.messages import delivered_once, not_sent_back, over_the_mesh
from quidnunc.properties.statements.gossipsub.steps import played, remembering
from tools.decide.place import Place
from tools.decide.runs import breadth_first, by_hypothesis, judge_run, minimised_run, walks
from tools.decide.searches.gossipsub import place

LATEST = protocol_named("gossipsub-1.2")
TEXTS = (
    "join A t", "join A t requests", "leave B t", "publish A m1 t", "verdict B m1 ignore", "deliver A>B",
    "heartbeat B", "score A B -50", "connect A>B", "disconnect A-B", "settle", "rounds 3", "all join t",
    "say F>A graft t; prune t backoff=60", "say F>A message m1 t by B forged", "say D>A idontwant m1 m2",
    "heartbeat A | mesh.fill=B,C gossip.targets=-", "verdict B m1 accept | say.message=C seen.expired=no",
)  # fmt: skip


def network(*graph: str, protocol: Protocol = LATEST, attackers: tuple[int, ...] = ()) -> PubsubNetwork:
    links = GRAPHS[graph[0] if graph else "ring"]
    names = {i for link in links for i in link} - {*attackers}
    setups = [NodeSetup(i, protocol, SMALL) for i in sorted(names)]
    return opened(FAMILY, setups, links, attackers=attackers)


def world(where: Place, protocol: Protocol) -> World:
    return where.world(Revision(protocol.name, protocol))


def after(start: PubsubNetwork, *texts: str) -> PubsubMove:
    for text in texts:
        move = network_after(start, act_of(text))
        start = move.after
    return move


@pytest.mark.parametrize("text", TEXTS)
def test_an_act_is_written_as_it_is_read(text: str) -> None:
    assert str(act_of(text)) == text
    assert acts_of(f"{text}\n\n  {text}") == (act_of(text), act_of(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dance A", "expected an act"),
        ("deliver A", "no act of the kind 'deliver'"),
        ("deliver A>b", "no act of the kind"),
        ("rounds 999", "at most 400 rounds"),
        ("settle | mesh.fill", "expected a choice"),
        ("settle | mesh.fill=b", "nodes are letters"),
        ("say F>A dance t", "dance"),
    ],
)
def test_what_is_no_act_says_so(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        act_of(text)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("deliver A>B",), "nothing is on its way from A to B"),
        (("leave A t",), "leave cannot happen to A"),
        (("join F t",), "join cannot happen to F"),
        (("say A>B graft t",), "A is no attacker"),
        (("connect A>A",), "there are no two such nodes"),
        (("connect A>B",), "connect cannot happen to A"),
        (("heartbeat F",), "F is no router"),
        (("all join t", "heartbeat A | mesh.cut=B"), "makes 0 choices"),
        (("settle", "heartbeat A | mesh.cut=B"), "makes 0 choices"),
        (("join A t | mesh.fill=B",), "makes 0 choices"),
    ],
)
def test_what_cannot_happen_says_so(texts: tuple[str, ...], said: str) -> None:
    *before, last = texts
    start = after(network(), *before).after if before else network()
    with pytest.raises(ActError, match=said):
        network_after(start, act_of(last))


def test_a_link_is_first_in_first_out_and_takes_its_time() -> None:
    first = after(network("pair"), "join A t", "leave A t").after
    assert [rpc[0] for rpc in first.links[1, 2]] == [Subscribe("t"), parts_of("unsubscribe t")[0]]
    once = after(first, "deliver A>B").after
    assert once.nodes[2].peers[1].topics == {"t"}
    assert not after(once, "deliver A>B").after.nodes[2].peers[1].topics


def test_a_broken_connection_loses_what_is_on_it_and_says_hello_anew() -> None:
    broken = after(network("pair"), "join A t", "disconnect A-B").after
    assert not broken.links
    assert not broken.nodes[1].peers
    again = after(broken, "connect B>A").after
    assert again.links[1, 2] == ((Subscribe("t"),),)
    assert again.nodes[2].peers[1].outbound
    assert not again.nodes[1].peers[2].outbound


def test_an_author_is_the_same_for_all() -> None:
    static = after(network("line"), "all join t", "rounds 2", "publish A m1 t").after
    # Who publishes tells that it has the message, too.
    assert static.links[1, 2] == ((Message("m1", "t", 1), IDontWant(("m1",))),)
    there = after(static, "deliver A>B")
    assert any(part == Message("m1", "t", 1) for rpc in there.after.links[2, 3] for part in rpc)
    assert not any(isinstance(p, Message) for rpc in there.after.links[2, 1] for p in rpc)
    # What comes back to its author is its own.
    assert after(static, "settle").after.got == {1: {"m1"}, 2: {"m1"}, 3: {"m1"}}


def test_heartbeats_are_at_different_tenths_of_one_clock() -> None:
    move = after(network(), "all join t", "heartbeat C")
    assert [(seen.node, seen.after.now_ms) for seen in move.steps if seen.after.heartbeats] == [
        (1, 100), (1, 200), (2, 200), (1, 300), (2, 300), (3, 300),
    ]  # fmt: skip
    assert [r.heartbeats for r in move.after.nodes.values()] == [1, 1, 1]
    assert {r.now_ms for r in move.after.nodes.values()} == {300}


def test_an_attacker_says_what_it_likes_and_hears_nothing() -> None:
    start = network("star", attackers=(4,))
    move = after(start, "all join t", "say D>A graft t")
    assert 4 in move.after.nodes[1].mesh_of("t")
    assert not [link for link in move.after.links if 4 in link]


def test_each_answer_to_each_choice_is_a_way() -> None:
    start = after(network(), "all join t").after
    found = {str(move.act): move for move in act_variants(start, act_of("heartbeat A"))}
    assert len(found) == 1
    one = opened(
        FAMILY, [NodeSetup(i, LATEST, evolve(SMALL, d=1, d_high=1)) for i in (1, 2, 3)], GRAPHS["ring"]
    )
    told = after(one, "all join t").after
    with pytest.raises(ActError, match="mesh.cut=B cannot be chosen here, where mesh.fill is asked"):
        network_after(told, act_of("heartbeat A | mesh.cut=B"))
    start = after(one, "all join t").after
    found = {str(move.act): move for move in act_variants(start, act_of("heartbeat A"))}
    assert {*found} == {"heartbeat A", "heartbeat A | mesh.fill=C"}
    for text, move in found.items():
        (member,) = move.after.nodes[1].mesh_of("t")
        assert move.after.links[1, member] == ((Graft("t"),),)
        assert network_after(start, act_of(text)).after.links == move.after.links


@pytest.mark.parametrize("name", PUBSUB)
def test_every_protocol_delivers_over_a_static_mesh(name: str) -> None:
    static = after(network("clique of four", protocol=protocol_named(name)), "all join t", "rounds 3").after
    assert after(static, "publish B m1 t", "settle").after.got == {i: {"m1"} for i in (1, 2, 3, 4)}


def test_rounds_repeat_for_the_same_seed() -> None:
    start = after(network("clique of four"), "all join t").after
    assert played(start, 3) == played(start, 3)
    assert not links_are_mutual(played(start, 3)[-1])


def test_states_of_one_future_are_one() -> None:
    pair = world(place("pair", ("join", "heartbeat"), ""), LATEST)
    early, late = pair.start(), after(pair.start(), "heartbeat B", "heartbeat B").after
    assert late.key() == after(late, "heartbeat B").after.key()
    assert early.key() != after(early, "join A t").after.key()
    assert hash(early.key()) == hash(pair.start().key())
    assert hashable({1: {2: (3,)}}) == frozenset({(1, frozenset({(2, (3,))}))})
    assert hashable(({1: 0.5}, [len])) == (frozenset({(1, 0.5)}), (len,))


# -- planted ------------------------------------------------------------------------------------------------

FULL = evolve(SMALL, d_low=2)
STATIC = place("ring", ("publish", "heartbeat"), "", FULL, prelude=("all join t", "rounds 1"))
ECHOING = LATEST.without_rule("the_forwarder")
FORGETFUL = LATEST.without_rule("seen_before")


def test_every_short_run_is_looked_at() -> None:
    found = breadth_first(world(STATIC, ECHOING), remembering(not_sent_back), 500)
    assert found.acts is not None
    assert [each.kind for each in found.acts] == ["publish", "deliver", "deliver"]
    assert "back to" in found.why
    clean = breadth_first(world(STATIC, LATEST), remembering(not_sent_back), 500)
    assert clean.acts is None
    assert clean.depth >= 2


@pytest.mark.parametrize("search", [walks, by_hypothesis])
def test_drawn_runs_find_what_is_planted_and_make_it_short(search: object) -> None:
    assert callable(search)
    static, look = world(STATIC, FORGETFUL), remembering(delivered_once)
    found = search(static, look, runs=60, length=25, seed=1)
    assert found.acts is not None
    assert len(found.acts) <= 6
    assert judge_run(static, look, found.acts).acts == found.acts
    assert search(static, look, runs=60, length=25, seed=1) == found
    assert search(world(STATIC, LATEST), look, runs=10, length=15, seed=1).acts is None


def test_a_run_is_minimised_or_breaks_nothing() -> None:
    static, look = world(STATIC, ECHOING), remembering(not_sent_back)
    long = acts_of("heartbeat A\nheartbeat B\npublish A m1 t\ndeliver A>B\nheartbeat C\ndeliver B>C\nsettle")
    acts, why = minimised_run(static, look, long)
    assert [str(each) for each in acts] == ["publish A m1 t", "deliver A>B", "deliver B>C"]
    assert why == "C sends m1 back to B"
    with pytest.raises(ValueError, match="breaks nothing"):
        minimised_run(world(STATIC, LATEST), look, long)


def test_a_message_that_is_held_back_is_noticed() -> None:
    static = world(STATIC, LATEST.without_rule("mesh_floodsub_and_explicit"))
    line = evolve(static, dials=GRAPHS["line"])
    found = breadth_first(line, over_the_mesh, 500)
    assert found.acts is not None
    assert found.why == "C never gets m1"


def test_letters_are_names() -> None:
    assert [name_of(i) for i in (1, 2, 26)] == ["A", "B", "Z"]
    assert part_text(Message("m1", "t", 2, flaw="forged")) == "message m1 t by B forged"
