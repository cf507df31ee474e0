"""What refutes a statement still does; what is not refuted would be in a planted edit, by the same search."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model import cat, dog, flood
from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.events import Sent
from quidnunc.model.node import Node
from quidnunc.model.node_step import run
from quidnunc.model.permits import Permit, Step
from quidnunc.model.router import From
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, SeenTx, Tx
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties import dog_statements
from quidnunc.properties.dog_places import Place, Revision, revisions
from quidnunc.properties.dog_statement_list import STATEMENTS
from quidnunc.properties.dog_statements import (
    ADDRESS,
    RECORDED,
    Decision,
    read_decisions,
    still_refutes,
)
from quidnunc.properties.mempool_search import Found, breadth_first, walks
from quidnunc.properties.network_runs import ActError

DECISIONS = read_decisions()
REVISIONS = revisions()
REFUTED = [each for each in DECISIONS if each.events]


def test_all_fifty_are_there() -> None:
    assert [each.id for each in STATEMENTS] == [f"P-{number}" for number in range(1, 51)]
    decided = {each.statement for each in DECISIONS}
    for statement in STATEMENTS:
        assert (statement.look is None) == bool(statement.needs), statement.id
        assert (statement.id in decided) != bool(statement.needs), statement.id


def test_every_revision_is_decided() -> None:
    wanted = {
        (statement.id, revision.name)
        for statement in STATEMENTS
        for revision in REVISIONS.values()
        if statement.look is not None and revision.family in statement.families
    }
    assert {(each.statement, each.revision) for each in DECISIONS} == wanted


@pytest.mark.parametrize("decision", REFUTED, ids=lambda d: f"{d.statement}-{d.revision}")
def test_what_refutes_still_refutes(decision: Decision) -> None:
    found = still_refutes(decision, REVISIONS[decision.revision])
    assert found.acts is not None
    assert len(found.acts) == decision.length
    assert found.why == decision.why


@pytest.mark.parametrize(
    "decision",
    [each for each in REFUTED if 1 < each.length <= 8],
    ids=lambda d: f"{d.statement}-{d.revision}",
)
def test_no_act_of_a_short_run_is_idle(decision: Decision) -> None:
    acts = decision.events.split("; ")
    for at in range(len(acts)):
        fewer = evolve(decision, events="; ".join(acts[:at] + acts[at + 1 :]))
        try:
            found = still_refutes(fewer, REVISIONS[decision.revision])
        except ActError:
            continue
        assert found.acts is None


FALSE_IN_DOG = ("P-11", "P-12", "P-13", "P-14", "P-19", "P-22", "P-25", "P-32", "P-35", "P-45", "P-47")


@pytest.mark.parametrize("name", FALSE_IN_DOG)
def test_what_the_documents_rely_on_and_is_false(name: str) -> None:
    (decision,) = [each for each in DECISIONS if (each.statement, each.revision) == (name, "dog")]
    assert decision.events


# -- planted edits of what is not refuted -------------------------------------------------------------------


@rule("flood/receive.first-time")
def pool_uncached(n: Node, t: From[Tx], choose: Choose) -> Step[Node]:
    return Step(evolve(n, pool={**n.pool, t.part.id: (t.peer,)}))


@rule("flood/receive.duplicate")
def add_sender_twice(n: Node, t: From[Tx], choose: Choose) -> Step[Node]:
    return Step(n.with_pooled(t.part.id, (*n.senders(t.part.id), t.peer, t.peer)))


@rule("dog/havetx.first-sender")
def disable_to_all(n: Node, h: From[HaveTx], choose: Choose) -> Step[Node]:
    first = n.senders(h.part.id)[:1]
    return Step(evolve(n, routes={p: PartialSet.of(first) for p in n.peers}))


@rule("dog/havetx.first-sender")
def disable_of_nobody(n: Node, h: From[HaveTx], choose: Choose) -> Step[Node]:
    return Step(n.with_disabled_to(h.peer, PartialSet.of([9])))


@rule("dog/havetx.to-sender")
def tell_another(n: Node, t: From[Tx], choose: Choose) -> Step[Node]:
    return Step(n, (Permit(Sent(t.peer, HaveTx("t9")), True, "dog/havetx.to-sender", "now"),))


@rule("dog/reset.one")
def enable_none(n: Node, q: From[ResetRoute], choose: Choose) -> Step[Node]:
    return Step(n)


@rule("dog/controller.reset")
def too_little_unblocks(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    step = dog.too_little.apply(n, lost, choose)
    return Step(evolve(step.router, blocked=False), step.permits) if isinstance(step, Step) else None


@rule("flood/send.not-to-senders")
def never_to_b(n: Node, tx: str, peer: Peer) -> bool:
    return peer == 2 or flood.who_sent_it.apply(n, tx, peer) is True


@rule("catc/txs.new-only")
def announce_known(n: Node, t: From[Tx], choose: Choose) -> Step[Node] | None:
    return run(n, "announce" if n.knows(t.part.id) else "new", t.part.id if n.knows(t.part.id) else t, choose)


@rule("catc/announce.after-storage")
def announce_first(n: Node, t: From[Tx], choose: Choose) -> Step[Node]:
    return run(n, "announce", t.part.id, choose)


@rule("catc/seen.want")
def ask_all(n: Node, s: From[SeenTx], choose: Choose) -> Step[Node]:
    """Whoever announced it, and those who did not."""
    asked = cat.ask_announcer.apply(n, s, choose)
    assert isinstance(asked, Step)
    others = (Permit(evolve(p.output, peer=q), True, "x", "now") for p in asked.permits for q in n.peers)  # type: ignore[type-var, misc]
    return Step(asked.router, (*asked.permits, *others))


Edit = Callable[[Protocol], Protocol]
KILLED: dict[str, tuple[str, Edit]] = {
    "P-1": ("flood", lambda p: p.with_rule("pool_with_sender", pool_uncached)),
    "P-2": ("flood", lambda p: p.with_rule("add_sender", add_sender_twice)),
    "P-4": ("dog", lambda p: p.with_rule("disable_first", disable_to_all)),
    "P-5": ("dog", lambda p: p.with_rule("tell_sender", tell_another)),
    "P-6": ("dog", lambda p: p.without_rule("block_next")),
    "P-7": ("dog", lambda p: p.with_rule("too_little", too_little_unblocks)),
    "P-8": ("dog", lambda p: p.without_rule("count_anew")),
    "P-9": ("dog", lambda p: p.with_rule("disable_first", disable_of_nobody)),
    "P-10": ("dog", lambda p: p.without_rule("first_sender_gone").without_rule("forget_routes")),
    "P-15": ("dog", lambda p: p.without_rule("the_lost")),
    "P-17": ("dog", lambda p: evolve(p, features=p.features | {"one-inbox"})),
    "P-20": ("dog", lambda p: p.with_rule("enable_one", enable_none)),
    "P-23": ("flood", lambda p: p.with_rule("who_sent_it", never_to_b)),
    "P-44": ("flood", lambda p: p.without_rule("who_sent_it")),
    "P-50": ("dog", lambda p: p.with_rule("who_sent_it", never_to_b)),
    "P-36": ("cat-classic", lambda p: p.with_rule("take_new", announce_known)),
    "P-37": ("cat-classic", lambda p: p.without_rule("while_asking")),
    "P-38": ("cat-classic", lambda p: p.without_rule("serve")),
    "P-39": ("cat-classic", lambda p: p.with_rule("announce_received", announce_first)),
    "P-40": ("cat-classic", lambda p: p.with_rule("ask_announcer", ask_all)),
}


def searched(name: str, revision: Revision) -> Found:
    statement = ADDRESS[name]
    assert statement.look is not None
    found = Found(None)
    for place in statement.places:
        world = place.world(revision.rules)
        found = breadth_first(world, statement.look, 100 if statement.rounds else 1200)
        if found.acts is None:
            runs, length = (20, 16) if statement.rounds else (150, 30)
            found = walks(world, statement.look, runs=runs, length=length)
        if found.acts is not None:
            break
    return found


@pytest.mark.parametrize("name", KILLED)
def test_a_planted_edit_refutes_what_is_not_refuted(name: str) -> None:
    protocol, edit = KILLED[name]
    of_the_text = [each for each in DECISIONS if (each.statement, each.revision) == (name, protocol)]
    assert of_the_text and not of_the_text[0].events
    revision = REVISIONS[protocol]
    planted = evolve(revision, rules=evolve(revision.rules, protocol=edit(revision.rules.protocol)))
    found = searched(name, planted)
    assert found.acts is not None
    assert found.why


# -- the record and the table -------------------------------------------------------------------------------


def test_the_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "dog.toml"
    path.write_text(dog_statements.written(DECISIONS))
    assert read_decisions(path) == DECISIONS
    assert path.read_text() == RECORDED.read_text()


@pytest.mark.parametrize(
    "text", ["", "x", "[[decision]]\nplace = 1", '[[decision]]\nplace = { graph = "pair" }']
)
def test_another_record_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dog.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"dog\.toml"):
        read_decisions(path)


def test_the_table_is_the_one_that_the_command_writes(tmp_path: Path) -> None:
    assert dog_statements.main(["--table", str(tmp_path / "t.md")]) == 0
    written = Path(__file__).parents[2] / "docs" / "results" / "dog-statements.md"
    assert (tmp_path / "t.md").read_text() == written.read_text()


def test_a_run_that_refutes_no_more_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = Decision("P-11", "dog", Place("pair"), "U(A,t1); D(A); R(B,A)", "no reason")
    (tmp_path / "dog.toml").write_text(dog_statements.written([planted]))
    asked = ["--record", str(tmp_path / "dog.toml"), "--table", str(tmp_path / "t.md")]
    assert dog_statements.main(asked) == 1
    assert "refutes it no more" in capsys.readouterr().err


def test_a_search_finds_records_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, out = tmp_path / "dog.toml", tmp_path / "t.md"
    assert (
        dog_statements.main(["--search", "--only", "P-35", "--record", str(record), "--table", str(out)]) == 0
    )
    assert re.search(r"P-35 +dog +\*\*refuted\*\* =2", capsys.readouterr().err)
    assert all(each.statement == "P-35" for each in read_decisions(record))
    assert "U(A,t1); A(A)" in out.read_text()
