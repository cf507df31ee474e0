"""What refutes a statement still does; what is not refuted would be in a planted edit, by the same search."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.mempool import flood
from quidnunc.model.mempool.cat import rules as cat
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, SeenTx, Tx
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties.networks.acts import act_of
from quidnunc.properties.networks.places import Revision
from quidnunc.properties.networks.runs import ActError
from quidnunc.properties.statements.catalogue import statement_named
from quidnunc.properties.statements.decisions import Decision, read_decisions, recorded, third_reading
from quidnunc.properties.statements.dog.catalogue import DOG
from quidnunc.properties.statements.dog.revisions import TRIGGERED, unblocked_whenever_triggered
from tools.decide.__main__ import main
from tools.decide.engine import SEARCHES, place_named, still_refutes
from tools.decide.place import world_of_statement
from tools.decide.record import record_text
from tools.decide.runs import WorldSearchResult, breadth_first, judge_run, walks

RECORDED = recorded(DOG)
DECISIONS = read_decisions(RECORDED)
REFUTED = [each for each in DECISIONS if each.events]


def test_all_are_there() -> None:
    numbers = {each.old_id for each in DOG.statements}
    assert numbers == {f"P-{number}" for number in range(1, 53)} and len(DOG.statements) == 52
    decided = {each.statement for each in DECISIONS}
    for statement in DOG.statements:
        assert (statement.look is None) == bool(statement.needs), statement.id
        assert (statement.id in SEARCHES) == (statement.look is not None), statement.id
        assert (statement.id in decided) != bool(statement.needs), statement.id


def test_every_revision_is_decided() -> None:
    wanted = {
        (statement.id, revision)
        for statement in DOG.statements
        for revision in statement.revisions
        if statement.look is not None
    }
    assert {(each.statement, each.revision) for each in DECISIONS} == wanted


@pytest.mark.parametrize("decision", REFUTED, ids=lambda d: f"{d.statement}-{d.revision}")
def test_what_refutes_still_refutes(decision: Decision) -> None:
    found = still_refutes(DOG, decision)
    assert found.acts is not None
    assert tuple(map(str, found.acts)) == decision.events
    assert found.why == decision.why


@pytest.mark.parametrize(
    "decision",
    [each for each in REFUTED if 1 < len(each.events) <= 8],
    ids=lambda d: f"{d.statement}-{d.revision}",
)
def test_no_act_of_a_short_run_is_idle(decision: Decision) -> None:
    acts = decision.events
    for at in range(len(acts)):
        fewer = evolve(decision, events=acts[:at] + acts[at + 1 :])
        try:
            found = still_refutes(DOG, fewer)
        except ActError:
            continue
        assert found.acts is None


THIRD = read_decisions(third_reading(DOG))
OTHERWISE = {"controller.resets-or-unblocks": True, "redundancy.in-bounds-hears-everyone": False}
"""Refuted where every adjustment unblocks and not in `dog-adr`, or the other way round."""


def test_a_third_reading_of_the_adr_has_each_of_its_statements() -> None:
    of_adr = {each.statement: bool(each.events) for each in DECISIONS if each.revision == "dog-adr"}
    third = {each.statement: bool(each.events) for each in THIRD}
    assert {each.revision for each in THIRD} == {TRIGGERED} and third.keys() == of_adr.keys()
    assert third == {**of_adr, **OTHERWISE}


@pytest.mark.parametrize("decision", [each for each in THIRD if each.events], ids=lambda d: d.statement)
def test_what_refutes_in_the_third_reading_still_does(decision: Decision) -> None:
    statement = statement_named(decision.statement)
    assert statement is not None and statement.look is not None
    place = place_named(statement, decision.place)
    world = world_of_statement(statement, place, unblocked_whenever_triggered())
    found = judge_run(world, statement.look, tuple(map(act_of, decision.events)))
    assert found.acts is not None and found.why == decision.why


FALSE_IN_DOG = (
    "routes.never-to-self",
    "controller.one-message-per-interval",
    "havetx.only-after-excess",
    "havetx.one-in-flight",
    "dissemination.own-goes-to-all",
    "routes.not-disabled-while-low",
    "dog.reaches-all-with-one-havetx-each",
    "redundancy.settles-in-bounds",
    "redundancy.unaffected-by-own-submissions",
    "routes.form-spanning-trees",
    "havetx.names-what-the-receiver-has",
    "dissemination.withheld-arrives-elsewhere",
)


@pytest.mark.parametrize("name", FALSE_IN_DOG)
def test_what_the_documents_rely_on_and_is_false(name: str) -> None:
    (decision,) = [each for each in DECISIONS if (each.statement, each.revision) == (name, "dog")]
    assert decision.events


# -- planted edits of what is not refuted -------------------------------------------------------------------


@rule("flood/receive.first-time")
def pool_uncached(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return Step(evolve(n, pool={**n.pool, t.part.id: (t.peer,)}))


@rule("flood/receive.duplicate")
def add_sender_twice(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return Step(n.with_pooled(t.part.id, (*n.senders(t.part.id), t.peer, t.peer)))


@rule("dog/havetx.first-sender")
def disable_to_all(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
    first = n.senders(h.part.id)[:1]
    return Step(evolve(n, routes={p: PartialSet.of(first) for p in n.peers}))


@rule("dog/havetx.first-sender")
def disable_of_nobody(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
    return Step(n.with_disabled_to(h.peer, PartialSet.of([9])))


@rule("dog/reset.one")
def enable_none(n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node]:
    return Step(n)


@rule("dog/controller.reset")
def too_little_unblocks(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    step = dog.too_little.apply(n, lost, choose)
    return Step(evolve(step.router, blocked=False), step.permits) if isinstance(step, Step) else None


@rule("dog/controller.restart")
def enable_all_at_adjustment(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    step = dog.count_anew.apply(n, lost, choose)
    return Step(evolve(step.router, routes={}), step.permits) if isinstance(step, Step) else None


@rule("flood/send.not-to-senders")
def never_to_b(n: Node, tx: str, peer: Peer) -> bool:
    return peer == 2 or flood.who_sent_it.apply(n, tx, peer) is True


@rule("catc/txs.new-only")
def announce_known(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    return run(n, "announce" if n.knows(t.part.id) else "new", t.part.id if n.knows(t.part.id) else t, choose)


@rule("catc/announce.after-storage")
def announce_first(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return run(n, "announce", t.part.id, choose)


@rule("catc/seen.want")
def ask_all(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node]:
    """Whoever announced it, and those who did not."""
    asked = cat.ask_announcer.apply(n, s, choose)
    assert isinstance(asked, Step)
    others = (Permit(evolve(p.output, peer=q), True, "x", "now") for p in asked.permits for q in n.peers)  # type: ignore[type-var, misc]
    return Step(asked.router, (*asked.permits, *others))


Edit = Callable[[Protocol], Protocol]
KILLED: dict[str, tuple[str, Edit]] = {
    "pool.without-repeats": ("flood", lambda p: p.with_rule("pool_with_sender", pool_uncached)),
    "senders.of-the-pool-only": ("flood", lambda p: p.with_rule("add_sender", add_sender_twice)),
    "routes.change-one-at-a-time": ("dog", lambda p: p.with_rule("disable_first", disable_to_all)),
    "reset.brings-duplicates": ("dog", lambda p: p.with_rule("enable_one", enable_none)),
    "havetx.one-between-unblocks": ("dog", lambda p: p.without_rule("block_next")),
    "controller.resets-or-unblocks": ("dog", lambda p: p.with_rule("too_little", too_little_unblocks)),
    "controller.restarts-its-counters": ("dog", lambda p: p.without_rule("count_anew")),
    "routes.of-peers-in-a-static-network": ("dog", lambda p: p.with_rule("disable_first", disable_of_nobody)),
    "routes.of-peers-only": (
        "dog",
        lambda p: p.without_rule("first_sender_gone").without_rule("forget_routes"),
    ),
    "reset.goes-to-a-peer": ("dog", lambda p: p.without_rule("the_lost")),
    "messages.can-be-taken": ("dog", lambda p: evolve(p, features=p.features | {"one-inbox"})),
    "routes.reopen-with-traffic": ("dog", lambda p: p.with_rule("enable_one", enable_none)),
    "flood.reaches-all": ("flood", lambda p: p.with_rule("who_sent_it", never_to_b)),
    "flood.number-of-copies": ("flood", lambda p: p.without_rule("who_sent_it")),
    "dissemination.no-permanent-silence": ("dog", lambda p: p.with_rule("who_sent_it", never_to_b)),
    "cat.announced-once-per-connection": ("cat-classic", lambda p: p.with_rule("take_new", announce_known)),
    "cat.one-request-outstanding": ("cat-classic", lambda p: p.without_rule("while_asking")),
    "metrics.count-disabled-routes": ("dog", lambda p: p.with_rule("count_anew", enable_all_at_adjustment)),
    "cat.wanted-after-announced": ("cat-classic", lambda p: p.with_rule("announce_received", announce_first)),
    "cat.one-copy-without-timeouts": ("cat-classic", lambda p: p.with_rule("ask_announcer", ask_all)),
}


def searched(name: str, revision: Revision) -> WorldSearchResult:
    statement = statement_named(name)
    assert statement is not None and statement.look is not None
    found = WorldSearchResult(None)
    search = SEARCHES[name]
    for place in search.places:
        world = world_of_statement(statement, place, revision)
        found = breadth_first(world, statement.look, 100 if search.rounds else 1200)
        if found.acts is None:
            runs, length = (20, 16) if search.rounds else (150, 30)
            found = walks(world, statement.look, runs=runs, length=length)
        if found.acts is not None:
            break
    return found


@pytest.mark.parametrize("name", KILLED)
def test_a_planted_edit_refutes_what_is_not_refuted(name: str) -> None:
    protocol, edit = KILLED[name]
    of_the_text = [each for each in DECISIONS if (each.statement, each.revision) == (name, protocol)]
    assert of_the_text and not of_the_text[0].events
    revision = DOG.revision(protocol)
    planted = evolve(revision, protocol=edit(revision.protocol))
    found = searched(name, planted)
    assert found.acts is not None
    assert found.why


# -- the record and the table -------------------------------------------------------------------------------


def test_the_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "dog.toml"
    path.write_text(record_text(DOG, DECISIONS))
    assert read_decisions(path) == DECISIONS
    assert path.read_text() == RECORDED.read_text()


@pytest.mark.parametrize("text", ["", "x", "[[decision]]\nplace = 1", "[[decision]]\nevents = 1"])
def test_another_record_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dog.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"dog\.toml"):
        read_decisions(path)


def test_the_table_is_the_one_that_the_command_writes(tmp_path: Path) -> None:
    assert main(["dog", "--table", str(tmp_path / "t.md")]) == 0
    written = Path(__file__).parents[3] / "docs" / "results" / "dog-statements.md"
    assert (tmp_path / "t.md").read_text() == written.read_text()


def test_a_run_that_refutes_no_more_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = Decision(
        "routes.never-to-self",
        "dog",
        "pair, nobody leaves",
        ("submit A t1", "offer A", "deliver A>B"),
        "no reason",
    )
    (tmp_path / "dog.toml").write_text(record_text(DOG, [planted]))
    asked = ["dog", "--record", str(tmp_path / "dog.toml"), "--table", str(tmp_path / "t.md")]
    assert main(asked) == 1
    assert "no longer refutes it" in capsys.readouterr().err


def test_a_search_finds_records_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, out = tmp_path / "dog.toml", tmp_path / "t.md"
    where = ["--record", str(record), "--table", str(out)]
    # By the number of old, too.
    assert main(["dog", "--search", "--only", "P-35", *where]) == 0
    assert re.search(r"own-submissions +dog +\*\*refuted\*\* =2", capsys.readouterr().err)
    found = read_decisions(record)
    assert {each.statement for each in found} == {"redundancy.unaffected-by-own-submissions"}
    assert "`submit A t1`, `adjust A`" in out.read_text()
