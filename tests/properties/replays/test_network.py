"""Cases of networks: what was written is read, and a replay says what came of the claim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.case import CaseBlock
from quidnunc.properties.cases.export import case_data
from quidnunc.properties.cases.file import MAX_BODY_LINES, RULER, load, parse, render, schedule_of
from quidnunc.properties.documents.clauses import load as load_clauses
from quidnunc.properties.networks.acts import act_of
from quidnunc.properties.networks.runs import ActError
from quidnunc.properties.replays.network import played_case, replay_network
from tools.network_cases import denied, new_case

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "counterexamples" / "networks"
PATHS = sorted(FOLDER.glob("*.case"))
TEXT = """\
Refuted: every member of a mesh has announced the topic.

format: 2
claim: mesh.members-announced-the-topic
clause: gs1.0/mesh.members
protocols: gossipsub-1.0
against: model
status: open
parameters: D=2 D_low=1 D_high=2 D_score=1 D_out=0

node A
node B attacker
link A>B
settle

join A t
----
  A>B: subscribe t

say B>A graft t
----
+ broken: B is in the mesh of A and has not announced t
"""


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_what_is_committed_is_as_it_is_written_and_repeats(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    case = parse(text, str(path))
    assert render(case, strict=True) == text
    assert case.status == "open"
    assert case.clause in load_clauses()
    assert path.name == f"{case.claim}.{case.protocol}.case"
    found = replay_network(case)
    assert (found.outcome, found.at) == ("same", len(case.acts) - 1), found.reason
    # Equal choices lead to equal runs, and rewriting changes nothing.
    assert found.rewritten == case
    assert played_case(case) == case


def test_there_are_cases_of_both_families() -> None:
    families = [parse(p.read_text(encoding="utf-8")).protocol for p in PATHS]
    assert sum("sub" in name or "partial" in name for name in families) >= 15
    assert sum("dog" in name for name in families) >= 15
    for path in PATHS:
        blocks = path.read_text(encoding="utf-8").split("\n\n")[2:]
        assert sum(len(block.strip().splitlines()) for block in blocks) <= MAX_BODY_LINES, path


def test_a_case_reads_and_writes() -> None:
    case = parse(TEXT)
    assert case.is_network
    assert render(case) == TEXT
    assert (case.nodes, case.attackers, case.links) == ((1, 2), {2}, ((1, 2),))
    assert [str(act) for act in case.acts] == ["join A t", "say B>A graft t"]
    data = case_data(case)
    assert data["nodes"] == ["A", "B"]
    assert data["links"] == [["A", "B"]]
    assert data["blocks"][1] == {
        "acts": ["say B>A graft t"],
        "said": [],
        "broken": "B is in the mesh of A and has not announced t",
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("claim: mesh.members-announced-the-topic", "claim:", "<text>:4: expected a value for 'claim'"),
        ("format: 2", "format: 3", "<text>:3: expected `format: 2`, got '3'"),
        ("against: model", "against: ours", "<text>:7: expected what a network is of: model, got 'ours'"),
        ("status: open", "status: shut", "<text>:8: expected a status"),
        ("gossipsub-1.0", "gossipsub-9", "<text>:6: no protocol 'gossipsub-9'"),
        ("D=2 ", "E=2 ", "<text>:9: expected a parameter"),
        ("link A>B", "link A>C", "<text>:13: expected a link of two nodes"),
        ("settle", "dance", "<text>:14: expected an act"),
        ("join A t\n", "join a t\n", "<text>:16: 'join a t' is no act"),
        ("  A>B: sub", "A>B: sub", "<text>:18: expected an output behind two spaces"),
        ("say B>A graft t\n----", "say B>A graft t", "<text>:21: "),
    ],
)
def test_a_bad_case_says_where(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(CaseError, match=re.escape(said)):
        parse(TEXT.replace(old, new, 1))


def test_a_case_without_blocks_or_too_long_is_none() -> None:
    with pytest.raises(CaseError, match="expected a block: events"):
        parse("\n\n".join(TEXT.split("\n\n")[:3]))
    with pytest.raises(CaseError, match="expected at most 2000 lines"):
        parse(TEXT + "\n" * 3000)
    with pytest.raises(CaseError, match=f"expected `{RULER}` after the events"):
        parse(TEXT.rsplit(RULER, 1)[0])
    case = parse(TEXT)
    long = evolve(case, blocks=case.blocks * 20)
    with pytest.raises(CaseError, match="at most 40 lines of body"):
        render(long, strict=True)


def test_what_breaks_otherwise_is_different() -> None:
    case = parse(TEXT.replace("subscribe t", "subscribe u"))
    found = replay_network(case)
    assert found.outcome == "different"
    assert found.departs
    assert not found.as_expected
    assert found.divergence.startswith("say B>A graft t")


def test_what_breaks_no_more_is_fixed_and_what_must_hold_holds() -> None:
    harmless = TEXT.replace("say B>A graft t", "say B>A subscribe t; graft t")
    found = replay_network(parse(harmless))
    assert (found.outcome, found.departs, found.divergence) == ("fixed", False, "")
    held = replay_network(parse(harmless.replace("status: open", "status: fixed")))
    assert (held.outcome, held.as_expected) == ("holds", True)
    broken = replay_network(parse(TEXT.replace("status: open", "status: fixed")))
    assert (broken.outcome, broken.departs) == ("departs", True)


def test_what_cannot_happen_is_inconclusive() -> None:
    found = replay_network(parse(TEXT.replace("join A t", "leave A t")))
    assert found.outcome == "inconclusive"
    assert "leave cannot happen to A now" in found.reason


def test_another_protocol_judges_by_its_own_rules() -> None:
    later = replay_network(parse(TEXT), "gossipsub-1.2")
    assert later.outcome == "same"
    graylist = parse(
        (FOLDER / "subscriptions.known-to-all-neighbours.gossipsub-1.1.case").read_text(encoding="utf-8")
    )
    assert replay_network(graylist, "gossipsub-1.0").outcome == "fixed"
    with pytest.raises(
        CaseError, match="no claim 'subscriptions.known-to-all-neighbours' on networks of mempool nodes"
    ):
        replay_network(graylist, "dog")


@pytest.mark.parametrize("claim", ["degree.cut-leaves-d", "P999", "mesh.floor"])
def test_a_claim_that_is_none_of_networks_says_so(claim: str) -> None:
    with pytest.raises(CaseError, match="on networks of pubsub routers"):
        replay_network(parse(TEXT.replace("claim: mesh.members-announced-the-topic", f"claim: {claim}")))


def test_a_new_case_must_break_its_claim() -> None:
    case = parse(TEXT)
    assert new_case(case).blocks == case.blocks
    with pytest.raises(CaseError, match="does not break mesh.members-announced-the-topic"):
        new_case(evolve(case, blocks=case.blocks[:1]))


def test_either_kind_of_case_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.case"
    path.write_text(TEXT, encoding="utf-8")
    assert load(path).is_network
    assert not load(ROOT / "counterexamples" / "mutants" / "hello-empty.case").is_network
    with pytest.raises(CaseError, match="nosuch.case: cannot be read: No such file"):
        load(tmp_path / "nosuch.case")


def test_acts_of_each_family_are_refused_by_the_other() -> None:
    assert str(schedule_of("dog").event("submit A t1")) == "submit A t1"
    assert str(schedule_of("gossipsub-1.0").event("join A t")) == "join A t"
    for protocol, act in (("dog", "settle"), ("dog", "dance A"), ("gossipsub-1.0", "offer A")):
        with pytest.raises(ActError, match="expected an act"):
            schedule_of(protocol).event(act)


def test_a_denial_starts_small_but_for_names() -> None:
    assert denied("Every mesh is full.") == "Refuted: every mesh is full."
    assert denied("DOG is not slower.") == "Refuted: DOG is not slower."
    assert denied("T > 0 protects.") == "Refuted: T > 0 protects."
    assert denied("HaveTx is lost.") == "Refuted: HaveTx is lost."
    assert denied("Flood's copies are few.") == "Refuted: Flood's copies are few."
    assert denied("A peer waits.") == "Refuted: a peer waits."


def test_a_family_reads_what_it_writes() -> None:
    assert schedule_of("dog").event_text(act_of("offer A")) == "offer A"
    assert schedule_of("dog").event("offer A") == act_of("offer A")
    assert CaseBlock(()).broken == ""


def test_what_a_network_does_not_show() -> None:
    """Its outputs are of the model, and stand behind two spaces; what is broken stands behind `+ `."""
    for mark in ("- ", "~ ", "= "):
        with pytest.raises(CaseError, match="18: expected an output behind two spaces, or `\\+ broken: WHY`"):
            parse(TEXT.replace("  A>B: subscribe t", f"{mark}A>B: subscribe t"))


def test_the_line_that_differs_is_shown() -> None:
    found = replay_network(parse(TEXT.replace("  A>B: sub", "  B>A: sub", 1)))
    assert found.outcome == "different"
    assert "recorded: 'B>A: subscribe t', now 'A>B: subscribe t'" in found.reason


def test_a_claim_of_other_networks_is_placed(tmp_path: Path) -> None:
    field, said = "claim: cat.everyone-learns", "no claim 'cat.everyone-learns' on networks of pubsub routers"
    path = tmp_path / "a.case"
    name = field.split(":")[0]
    path.write_text(re.sub(rf"(?m)^{name}: .*", field, TEXT))
    line = path.read_text().splitlines().index(field) + 1
    with pytest.raises(CaseError, match=re.escape(f"{path}:{line}: {said}")):
        replay_network(load(path))


def test_an_act_of_an_unknown_node_is_placed() -> None:
    with pytest.raises(CaseError, match="<text>:[0-9]+: 'join Z t': no node Z; there are A, B"):
        parse(TEXT.replace("join A t", "join Z t", 1))
