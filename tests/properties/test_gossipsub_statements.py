"""What refutes a statement still does; what is not refuted would be in a planted edit, by the same search."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model import idontwant, mesh
from quidnunc.model.choices import Choose
from quidnunc.model.machine import protocol_named
from quidnunc.model.permits import Step, must_send
from quidnunc.model.router import From, Router
from quidnunc.model.rpc import Graft, IDontWant, Message, Prune
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties import gossipsub_statements
from quidnunc.properties.claim_tables_held import HELD
from quidnunc.properties.claims import ALL, claims_of
from quidnunc.properties.clauses import load
from quidnunc.properties.gossipsub_record import (
    RECORDED,
    Decision,
    Ran,
    in_order,
    read_decisions,
    read_runs,
    write_runs,
)
from quidnunc.properties.gossipsub_statement import COLUMNS, Revision
from quidnunc.properties.gossipsub_statement_list import BY_ID, STATEMENTS
from quidnunc.properties.gossipsub_statements import place_of, still_refutes
from quidnunc.properties.gossipsub_table import TABLE, figures, table
from quidnunc.properties.network_prove import provers
from quidnunc.properties.network_runs import ActError, Found, breadth_first, walks

DECISIONS = read_decisions()
RUNS = read_runs()
REFUTED = [each for each in DECISIONS if each.events]
LOOKED_AT = [(each.id, name) for each in STATEMENTS if each.look is not None for name in each.revisions]


def test_all_hundred_and_twenty_are_there_and_something_decides_each() -> None:
    numbers = [each.id for each in STATEMENTS if not each.id[-1].isalpha()]
    assert numbers == [f"P{number:02}" for number in range(1, 121)]
    known = {claim.id for claim in ALL} | {*HELD}
    proofs = provers()
    for each in STATEMENTS:
        assert each.engines, each.id
        for asked in re.findall(r"`quidnunc prove ([^`]+)`", each.needs + each.reading):
            assert fnmatch.filter(proofs, asked), asked
        assert {*each.claims} <= known, each.id
        assert bool(each.places) == (each.look is not None), each.id


def test_every_revision_is_decided() -> None:
    assert [(each.statement, each.revision) for each in DECISIONS] == LOOKED_AT
    assert [*RUNS] == [*COLUMNS]


def test_what_liveness_takes_for_granted_is_said() -> None:
    for statement in STATEMENTS:
        if statement.rounds:
            assert "Rounds" in statement.assumes or "rounds" in statement.assumes, statement.id


def test_what_is_refuted_is_filed_under_a_clause() -> None:
    clauses = load()
    for each in REFUTED:
        assert BY_ID[each.statement].clause in clauses, each.statement


@pytest.mark.parametrize("decision", REFUTED, ids=lambda d: f"{d.statement}-{d.revision}")
def test_what_refutes_still_refutes(decision: Decision) -> None:
    found = still_refutes(decision)
    assert found.acts is not None
    assert tuple(map(str, found.acts)) == decision.events
    assert found.why == decision.why


@pytest.mark.parametrize("revision", COLUMNS)
def test_the_claims_of_one_router_are_those_that_it_has(revision: Revision) -> None:
    known = {claim.id for claim in claims_of(protocol_named(revision))}
    assert {*RUNS[revision].applied} <= known
    assert not RUNS[revision].refuted
    assert RUNS[revision].runs >= 100


def test_the_table_is_that_of_the_record() -> None:
    if not TABLE.exists():
        pytest.skip("the documents are not part of an installation")
    assert table(DECISIONS, RUNS) == TABLE.read_text(encoding="utf-8")


def test_the_figures_are_those_of_the_record() -> None:
    """What the page says of its runs follows them; nothing of it is written by hand."""
    kept = [each for each in DECISIONS if each.statement in ("P01", "P02", "P23") and not each.events]
    few = [evolve(each, day="2026-11-20") if each.statement == "P01" else each for each in kept]
    often = Ran(9, 90, {}, (), "2026-11-22")
    runs: dict[Revision, Ran] = {
        "floodsub": evolve(often, runs=7),
        "gossipsub-1.0": often,
        "gossipsub-1.1": evolve(often, day="2026-11-24"),
    }
    said = " ".join(figures(few, runs).split())
    assert said == (
        "Figures: networks searched from 2026-11-20 to 2026-11-21, 40 drawn runs for each place (6 where "
        "rounds are played), and up to 3000 states for a statement in a revision; our router run from "
        "2026-11-22 to 2026-11-24, 9 runs of each revision; 7 of floodsub."
    )
    once = " ".join(figures(kept, {"gossipsub-1.0": often}).split())
    assert "on 2026-11-22, 9 runs of each revision." in once


def test_the_runs_of_the_page_are_those_of_its_fields() -> None:
    """No field tells of more runs, or fewer, than the note above the table."""
    for revision, ran in RUNS.items():
        shown = {int(n) for n in re.findall(r"ours: (\d+) runs", table(DECISIONS, {revision: ran}))}
        assert shown == {ran.runs}
        assert f"{ran.runs} runs of each revision" in " ".join(figures([], {revision: ran}).split())


def test_runs_are_recorded_with_their_day(tmp_path: Path) -> None:
    write_runs(RUNS, tmp_path / "runs.toml")
    assert read_runs(tmp_path / "runs.toml") == RUNS
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", ran.day) for ran in RUNS.values())


def test_the_command_writes_the_table_and_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = [each for each in REFUTED if each.statement in ("P03", "P22")]
    record = tmp_path / "some.toml"
    record.write_text(gossipsub_statements.written(some), encoding="utf-8")
    where = [
        "--record",
        str(record),
        "--table",
        str(tmp_path / "table.md"),
        "--cases",
        str(tmp_path / "cases"),
    ]
    assert gossipsub_statements.main(where) == 0
    assert f"{len(some)} decisions, {len(some)} refuted, 0 of them no more" in capsys.readouterr().out
    assert "**refuted** =2" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert sorted(path.name[:3] for path in (tmp_path / "cases").iterdir()) == ["P03", "P22"]


def test_the_command_notices_a_run_that_refutes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harmless = [Decision("P03", "gossipsub-1.0", next(iter(BY_ID["P03"].places)).name, ("join A t",), "so")]
    record = tmp_path / "some.toml"
    record.write_text(gossipsub_statements.written(harmless), encoding="utf-8")
    assert gossipsub_statements.main(["--record", str(record), "--table", str(tmp_path / "table.md")]) == 1
    assert "P03 gossipsub-1.0: join A t refutes it no more" in capsys.readouterr().err


def test_the_command_searches_anew(tmp_path: Path) -> None:
    record = tmp_path / "some.toml"
    record.write_text(gossipsub_statements.written([]), encoding="utf-8")
    where = ["--record", str(record), "--table", str(tmp_path / "table.md"), "--search", "--only", "P120"]
    with pytest.raises(ValueError, match="no record of decisions"):
        gossipsub_statements.main(where)
    record.unlink()
    assert gossipsub_statements.main(where) == 0
    found = read_decisions(record)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", each.day) for each in found)
    recorded = [evolve(each, day="") for each in DECISIONS if each.statement == "P120"]
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
                read_runs(bad)


def test_what_is_recorded_is_what_is_read() -> None:
    assert gossipsub_statements.written(DECISIONS) == RECORDED.read_text(encoding="utf-8")
    assert in_order(reversed(DECISIONS)) == DECISIONS


def test_a_place_that_is_gone_says_so() -> None:
    gone = Decision("P03", "gossipsub-1.0", "nowhere")
    with pytest.raises(ValueError, match="not looked at in 'nowhere'"):
        place_of(gone)
    missing = Decision("P03", "gossipsub-1.0", BY_ID["P03"].places[0].name, ("deliver A>B",))
    with pytest.raises(ActError):
        still_refutes(missing)


# -- planted edits, one for each statement that some revision keeps ------------------------------------------


@rule("gs1.0/graft.idempotent")
def prune_member(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT of a member is answered with a PRUNE, and the member lost."""
    if g.peer not in r.mesh_of(g.part.topic):
        return None
    return mesh.prune_these(r, g.part.topic, {g.peer}, "gs1.0/heartbeat.cut", choose)


@rule("gs1.1/backoff.announced-period")
def back_off_anew(r: Router, p: From[Prune], choose: Choose) -> Step[Router] | None:
    """The last announced period counts, even where it is shorter."""
    ends = r.now_ms + 1000 * (p.part.backoff_s or 1)
    return Step(evolve(r, backoff={**r.backoff, (p.part.topic, p.peer): ends}))


@rule("gs1.2/idontwant.per-peer")
def repeat_idontwant(r: Router, d: From[IDontWant], choose: Choose) -> Step[Router] | None:
    """What a peer does not want we do not want either."""
    kept = idontwant.remember_unwanted.step(r, d, choose)
    told = must_send([d.peer], IDontWant(("m9",)), "gs1.2/idontwant.immediate")
    return Step(kept.router if kept else r, told)  # type: ignore[arg-type]


@rule("gs1.2/idontwant.skip")
def skip_all(r: Router, m: From[Message], peer: int) -> bool:
    """One IDONTWANT is heeded for everybody."""
    return any(m.part.id in ids for ids in r.unwanted.values())


@rule("gs1.0/iwant.serve")
def serve_nobody(r: Router, g: From[object], choose: Choose) -> Step[Router]:
    return Step(r)


@rule("pubsub/signing.reject")
def flawed_is_seen(r: Router, m: From[Message], choose: Choose) -> Step[Router] | None:
    """A copy that breaks the policy is dropped, and its id marked seen."""
    return Step(r.with_seen(m.part.id)) if m.part.flaw else None


@rule("gs1.1/validation.reject-ignore")
def deliver_dropped(r: Router, v: tuple[object, object], choose: Choose) -> Step[Router]:
    """What was rejected is passed on."""
    from quidnunc.model.router import Waiting
    from quidnunc.model.step import run

    waiting = v[0]
    assert isinstance(waiting, Waiting)
    return run(r, "accepted", From(waiting.forwarder, waiting.message), choose)


def dropping(*names: str) -> Callable[[Protocol], Protocol]:
    def edit(protocol: Protocol) -> Protocol:
        for name in names:
            protocol = protocol.without_rule(name)
        return protocol

    return edit


def silent_about_joins(protocol: Protocol) -> Protocol:
    return protocol.without_rule("announce_join")


OLD, FIRST, NEW, NEWEST = "floodsub", "gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2"
EDITS: dict[str, tuple[Revision, Callable[[Protocol], Protocol]]] = {
    "P01": (NEW, dropping("prune_members")),
    "P02": (NEW, dropping("leave_candidates")),
    "P05": (NEW, lambda p: p.with_rule("already_member", prune_member)),
    "P06": (FIRST, dropping("cut_to_d")),
    "P15": (NEW, dropping("accept")),
    "P18": (NEW, dropping("quit_mesh", "remove")),
    "P22": (OLD, silent_about_joins),
    "P23": (FIRST, dropping("cut_to_d")),
    "P26b": (NEW, dropping("backing_off")),
    "P29": (NEW, lambda p: p.with_rule("back_off_as_announced", back_off_anew)),
    "P36": (NEW, dropping("seen_before")),
    "P37": (NEW, dropping("seen_before")),
    "P38": (NEW, dropping("the_forwarder")),
    "P39": (NEW, dropping("wait_for_verdict")),
    "P40": (NEW, lambda p: p.with_rule("dropped_by_validator", deliver_dropped)),
    "P45": (NEW, dropping("not_joined")),
    "P48": (NEW, dropping("mesh_floodsub_and_explicit")),
    "P48b": (OLD, dropping("publish_to_members")),
    "P57": (NEW, lambda p: p.with_rule("serve_within_bound", serve_nobody)),
    "P66": (NEWEST, lambda p: p.with_rule("remember_unwanted", repeat_idontwant)),
    "P70": (NEWEST, dropping("who_said_idontwant")),
    "P74": (NEWEST, lambda p: p.with_rule("who_said_idontwant", skip_all)),
    "P96": ("partial-messages", dropping("we_send_none")),
    "P115": (NEW, lambda p: p.with_rule("flawed", flawed_is_seen)),
    "P116": (NEWEST, lambda p: p.with_rule("flawed", flawed_is_seen)),
}
KEPT = sorted({each.statement for each in DECISIONS if not each.events})


def test_each_statement_that_is_kept_has_a_planted_edit() -> None:
    assert sorted(EDITS) == KEPT


@pytest.mark.parametrize("name", EDITS)
def test_the_search_refutes_a_planted_edit(name: str) -> None:
    revision, edit = EDITS[name]
    statement = BY_ID[name]
    assert statement.look is not None
    for place in statement.places:
        world = place.world(edit(statement.protocol(revision)))
        found: Found[object] = breadth_first(world, statement.look, 60 if statement.rounds else 400)
        if found.acts is None:
            found = walks(world, statement.look, runs=8 if statement.rounds else 40, length=25)
        if found.acts is not None:
            return
    pytest.fail(f"{name} is not refuted in an edit of {revision}")
