"""What refutes a statement still does; what is not refuted would be in a planted edit, by the same search."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.choices import Choose
from quidnunc.model.machine import protocol_named
from quidnunc.model.permits import Step, must_send
from quidnunc.model.pubsub import idontwant, mesh
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.rpc import Graft, IDontWant, Message, Prune
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.claims.elsewhere import HELD
from quidnunc.properties.claims.tables import ALL
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.networks.runs import ActError
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.statements.decisions import Decision, read_decisions, recorded
from quidnunc.properties.statements.gossipsub.catalogue import GOSSIPSUB
from tools.decide.__main__ import main
from tools.decide.engine import SEARCHES, still_refutes
from tools.decide.page import RESULTS, figures, table
from tools.decide.place import world_of_statement
from tools.decide.record import RevisionRuns, in_order, read_runs, record_text, runs_recorded, write_runs
from tools.decide.runs import WorldSearchResult, breadth_first, walks

RECORDED = recorded(GOSSIPSUB)
DECISIONS = read_decisions(RECORDED)
RUNS = read_runs(GOSSIPSUB, runs_recorded(GOSSIPSUB))
TABLE = RESULTS / GOSSIPSUB.page
STATEMENTS, COLUMNS = GOSSIPSUB.statements, GOSSIPSUB.columns
BY_ID = {each.id: each for each in STATEMENTS}
REFUTED = [each for each in DECISIONS if each.events]
LOOKED_AT = [(each.id, name) for each in STATEMENTS if each.look is not None for name in each.revisions]


def test_all_hundred_and_twenty_are_there_and_something_decides_each() -> None:
    numbers = {each.old_id for each in STATEMENTS if not each.old_id[-1].isalpha()}
    assert numbers == {f"P{number:02}" for number in range(1, 121)}
    known = {claim.id for claim in ALL} | {*HELD}
    proofs = provers()
    for each in STATEMENTS:
        assert each.engines, each.id
        for asked in re.findall(r"`quidnunc prove ([^`]+)`", each.needs + each.reading):
            assert fnmatch.filter(proofs, asked), asked
        assert {*each.claims} <= known, each.id
        assert (each.id in SEARCHES) == (each.look is not None), each.id


def test_every_revision_is_decided() -> None:
    assert [(each.statement, each.revision) for each in DECISIONS] == LOOKED_AT
    assert [*RUNS] == [*COLUMNS]


def test_what_liveness_takes_for_granted_is_said() -> None:
    for statement in STATEMENTS:
        if statement.id in SEARCHES and SEARCHES[statement.id].rounds:
            assert "Rounds" in statement.assumes or "rounds" in statement.assumes, statement.id


def test_what_is_refuted_is_filed_under_a_clause() -> None:
    clauses = load()
    for each in REFUTED:
        assert BY_ID[each.statement].clauses[0] in clauses, each.statement


@pytest.mark.parametrize("decision", REFUTED, ids=lambda d: f"{d.statement}-{d.revision}")
def test_what_refutes_still_refutes(decision: Decision) -> None:
    found = still_refutes(GOSSIPSUB, decision)
    assert found.acts is not None
    assert tuple(map(str, found.acts)) == decision.events
    assert found.why == decision.why


@pytest.mark.parametrize("revision", COLUMNS)
def test_the_claims_of_one_router_are_those_that_it_has(revision: str) -> None:
    known = {claim.id for claim in claims_of(protocol_named(revision))}
    assert {*RUNS[revision].applied} <= known
    assert not RUNS[revision].refuted
    assert RUNS[revision].runs >= 100


def test_the_table_is_that_of_the_record() -> None:
    if not TABLE.exists():
        pytest.skip("the documents are not part of an installation")
    assert table(GOSSIPSUB, DECISIONS, RUNS) == TABLE.read_text(encoding="utf-8")


def test_the_figures_are_those_of_the_record() -> None:
    """What the page says of its runs follows them; nothing of it is written by hand."""
    kept = [
        each
        for each in DECISIONS
        if each.statement
        in ("mesh.of-joined-topics", "mesh.of-connected-speakers", "degree.clique-settles-in-bounds")
        and not each.events
    ]
    few = [
        evolve(each, day="2026-11-20") if each.statement == "mesh.of-joined-topics" else each for each in kept
    ]
    often = RevisionRuns(9, 90, {}, (), "2026-11-22")
    runs: dict[str, RevisionRuns] = {
        "floodsub": evolve(often, runs=7),
        "gossipsub-1.0": often,
        "gossipsub-1.1": evolve(often, day="2026-11-24"),
    }
    said = " ".join(figures(GOSSIPSUB, few, runs).split())
    assert said == (
        "Figures: networks searched from 2026-11-20 to 2026-11-21, 40 drawn runs for each place (6 where "
        "rounds are played), and up to 3000 states for a statement in a revision; our router run from "
        "2026-11-22 to 2026-11-24, 9 runs of each revision; 7 of floodsub."
    )
    once = " ".join(figures(GOSSIPSUB, kept, {"gossipsub-1.0": often}).split())
    assert "on 2026-11-22, 9 runs of each revision." in once


def test_the_runs_of_the_page_are_those_of_its_fields() -> None:
    """No field tells of more runs, or fewer, than the note above the table."""
    for revision, ran in RUNS.items():
        shown = {
            int(n) for n in re.findall(r"ours: (\d+) runs", table(GOSSIPSUB, DECISIONS, {revision: ran}))
        }
        assert shown == {ran.runs}
        assert f"{ran.runs} runs of each revision" in " ".join(
            figures(GOSSIPSUB, [], {revision: ran}).split()
        )


def test_runs_are_recorded_with_their_day(tmp_path: Path) -> None:
    write_runs(GOSSIPSUB, RUNS, tmp_path / "runs.toml")
    assert read_runs(GOSSIPSUB, tmp_path / "runs.toml") == RUNS
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", ran.day) for ran in RUNS.values())


def test_the_command_writes_the_table_and_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = [
        each
        for each in REFUTED
        if each.statement in ("mesh.members-announced-the-topic", "subscriptions.known-to-all-neighbours")
    ]
    record = tmp_path / "some.toml"
    record.write_text(record_text(GOSSIPSUB, some), encoding="utf-8")
    where = [
        "--record",
        str(record),
        "--table",
        str(tmp_path / "table.md"),
        "--cases",
        str(tmp_path / "cases"),
    ]
    assert main(["gossipsub", *where]) == 0
    assert f"{len(some)} decisions, {len(some)} refuted, 0 of these no longer" in capsys.readouterr().out
    assert "**refuted** =2" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert sorted(path.name.split(".gossip")[0] for path in (tmp_path / "cases").iterdir()) == [
        "mesh.members-announced-the-topic",
        "subscriptions.known-to-all-neighbours",
    ]


def test_the_command_notices_a_run_that_refutes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harmless = [
        Decision(
            "mesh.members-announced-the-topic",
            "gossipsub-1.0",
            SEARCHES["mesh.members-announced-the-topic"].places[0].name,
            ("join A t",),
            "so",
        )
    ]
    record = tmp_path / "some.toml"
    record.write_text(record_text(GOSSIPSUB, harmless), encoding="utf-8")
    assert main(["gossipsub", "--record", str(record), "--table", str(tmp_path / "table.md")]) == 1
    assert (
        "mesh.members-announced-the-topic gossipsub-1.0: join A t no longer refutes it"
        in capsys.readouterr().err
    )


def test_the_command_searches_anew(tmp_path: Path) -> None:
    record = tmp_path / "some.toml"
    record.write_text(record_text(GOSSIPSUB, []), encoding="utf-8")
    where = [
        "--record",
        str(record),
        "--table",
        str(tmp_path / "table.md"),
        "--search",
        "--only",
        "attack.groups-cannot-be-used-up",
    ]
    with pytest.raises(ValueError, match="no record of decisions"):
        main(["gossipsub", *where])
    record.unlink()
    assert main(["gossipsub", *where]) == 0
    found = read_decisions(record)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", each.day) for each in found)
    recorded = [
        evolve(each, day="") for each in DECISIONS if each.statement == "attack.groups-cannot-be-used-up"
    ]
    assert [evolve(each, day="") for each in found] == recorded


def test_a_record_that_is_none_says_so(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    for text in ("x = 1", "decision = [1]", "["):
        bad.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=re.escape(str(bad))):
            read_decisions(bad)
        if text != "x = 1":
            bad.write_text("[floodsub]\nruns = 1" if text.startswith("d") else text, encoding="utf-8")
            with pytest.raises(ValueError, match=re.escape(str(bad))):
                read_runs(GOSSIPSUB, bad)


def test_what_is_recorded_is_what_is_read() -> None:
    assert record_text(GOSSIPSUB, DECISIONS) == RECORDED.read_text(encoding="utf-8")
    assert in_order(GOSSIPSUB, reversed(DECISIONS)) == DECISIONS


def test_a_place_that_is_gone_says_so() -> None:
    gone = Decision("mesh.members-announced-the-topic", "gossipsub-1.0", "nowhere")
    with pytest.raises(ValueError, match="no longer decided in 'nowhere'"):
        still_refutes(GOSSIPSUB, gone)
    missing = Decision(
        "mesh.members-announced-the-topic",
        "gossipsub-1.0",
        SEARCHES["mesh.members-announced-the-topic"].places[0].name,
        ("deliver A>B",),
    )
    with pytest.raises(ActError):
        still_refutes(GOSSIPSUB, missing)


# -- planted edits, one for each statement that some revision keeps ------------------------------------------


@rule("gs1.0/graft.idempotent")
def prune_member(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT of a member is answered with a PRUNE, and the member lost."""
    if g.peer not in r.mesh_of(g.part.topic):
        return None
    return mesh.prune_these(r, g.part.topic, {g.peer}, "gs1.0/heartbeat.cut", choose)


@rule("gs1.1/backoff.announced-period")
def back_off_anew(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """The last announced period counts, even where it is shorter."""
    ends = r.now_ms + 1000 * (p.part.backoff_s or 1)
    return Step(evolve(r, backoff={**r.backoff, (p.part.topic, p.peer): ends}))


@rule("gs1.2/idontwant.per-peer")
def repeat_idontwant(r: Router, d: ReceivedPart[IDontWant], choose: Choose) -> Step[Router] | None:
    """What a peer does not want we do not want either."""
    kept = idontwant.remember_unwanted.step(r, d, choose)
    told = must_send([d.peer], IDontWant(("m9",)), "gs1.2/idontwant.immediate")
    return Step(kept.router if kept else r, told)  # type: ignore[arg-type]


@rule("gs1.2/idontwant.skip")
def skip_all(r: Router, m: ReceivedPart[Message], peer: int) -> bool:
    """One IDONTWANT is heeded for everybody."""
    return any(m.part.id in ids for ids in r.unwanted.values())


@rule("gs1.0/iwant.serve")
def serve_nobody(r: Router, g: ReceivedPart[object], choose: Choose) -> Step[Router]:
    return Step(r)


@rule("pubsub/signing.reject")
def flawed_is_seen(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A copy that breaks the policy is dropped, and its id marked seen."""
    return Step(r.with_seen(m.part.id)) if m.part.flaw else None


@rule("gs1.1/validation.reject-ignore")
def deliver_dropped(r: Router, v: tuple[object, object], choose: Choose) -> Step[Router]:
    """What was rejected is passed on."""
    from quidnunc.model.pubsub.router import WaitingMessage
    from quidnunc.model.pubsub.step import run

    waiting = v[0]
    assert isinstance(waiting, WaitingMessage)
    return run(r, "accepted", ReceivedPart(waiting.forwarder, waiting.message), choose)


def dropping(*names: str) -> Callable[[Protocol], Protocol]:
    def edit(protocol: Protocol) -> Protocol:
        for name in names:
            protocol = protocol.without_rule(name)
        return protocol

    return edit


def silent_about_joins(protocol: Protocol) -> Protocol:
    return protocol.without_rule("announce_join")


OLD, FIRST, NEW, NEWEST = "floodsub", "gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2"
EDITS: dict[str, tuple[str, Callable[[Protocol], Protocol]]] = {
    "mesh.of-joined-topics": (NEW, dropping("prune_members")),
    "mesh.of-connected-speakers": (NEW, dropping("leave_candidates")),
    "mesh.crossing-grafts-agree": (NEW, lambda p: p.with_rule("already_member", prune_member)),
    "degree.at-most-d-high": (FIRST, dropping("cut_to_d")),
    "mesh.graft-joins-or-is-pruned": (NEW, dropping("accept")),
    "mesh.pruned-peer-gets-nothing": (NEW, dropping("quit_mesh", "remove")),
    "subscriptions.known-to-all-neighbours": (OLD, silent_about_joins),
    "degree.clique-settles-in-bounds": (FIRST, dropping("cut_to_d")),
    "backoff.no-graft-before-a-heeded-end": (NEW, dropping("backing_off")),
    "backoff.never-shortened": (NEW, lambda p: p.with_rule("back_off_as_announced", back_off_anew)),
    "messages.delivered-once": (NEW, dropping("seen_before")),
    "messages.sent-once-to-a-peer": (NEW, dropping("seen_before")),
    "messages.not-sent-back": (NEW, dropping("the_forwarder")),
    "validation.precedes-relay": (NEW, dropping("wait_for_verdict")),
    "validation.dropped-stays-dropped": (NEW, lambda p: p.with_rule("dropped_by_validator", deliver_dropped)),
    "messages.outside-joined-topics-ignored": (NEW, dropping("not_joined")),
    "delivery.over-a-connected-mesh": (NEW, dropping("mesh_floodsub_and_explicit")),
    "delivery.in-a-connected-topic": (OLD, dropping("publish_to_members")),
    "gossip.advertised-is-served-at-once": (NEW, lambda p: p.with_rule("serve_within_bound", serve_nobody)),
    "idontwant.names-received-messages": (
        NEWEST,
        lambda p: p.with_rule("remember_unwanted", repeat_idontwant),
    ),
    "idontwant.suppresses-relay": (NEWEST, dropping("who_said_idontwant")),
    "idontwant.costs-nobody-a-message": (NEWEST, lambda p: p.with_rule("who_said_idontwant", skip_all)),
    "partial.requester-of-non-sender-gets-full": ("partial-messages", dropping("we_send_none")),
    "attack.bad-copy-does-not-block-good": (NEW, lambda p: p.with_rule("flawed", flawed_is_seen)),
    "attack.forged-copies-do-not-stop-delivery": (NEWEST, lambda p: p.with_rule("flawed", flawed_is_seen)),
}
KEPT = sorted({each.statement for each in DECISIONS if not each.events})


def test_each_statement_that_is_kept_has_a_planted_edit() -> None:
    assert sorted(EDITS) == KEPT


@pytest.mark.parametrize("name", EDITS)
def test_the_search_refutes_a_planted_edit(name: str) -> None:
    revision, edit = EDITS[name]
    statement = BY_ID[name]
    assert statement.look is not None
    search = SEARCHES[name]
    for place in search.places:
        of_revision = GOSSIPSUB.revision(revision)
        planted = evolve(of_revision, protocol=edit(of_revision.protocol))
        world = world_of_statement(statement, place, planted)
        found: WorldSearchResult[object] = breadth_first(world, statement.look, 60 if search.rounds else 400)
        if found.acts is None:
            found = walks(world, statement.look, runs=8 if search.rounds else 40, length=25)
        if found.acts is not None:
            return
    pytest.fail(f"{name} is not refuted in an edit of {revision}")
