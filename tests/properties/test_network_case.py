"""Cases of networks: what was written is read, and a replay says what came of the claim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.properties import network_case_mempool
from quidnunc.properties.case_file import MAX_BODY_LINES, RULER
from quidnunc.properties.cases import Case
from quidnunc.properties.clauses import load as load_clauses
from quidnunc.properties.mempool_network_acts import acts_of
from quidnunc.properties.network_case import (
    Block,
    NetworkCase,
    family_of,
    is_network,
    load_either,
    parse_network,
    played,
    render_network,
)
from quidnunc.properties.network_replay import denied, network_data, new_case, replay_network
from quidnunc.properties.network_runs import ActError

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "counterexamples" / "networks"
PATHS = sorted(FOLDER.glob("*.case"))
TEXT = """\
Not so: every member of a mesh has announced the topic.

format: 1
claim: P03
clause: gs1.0/mesh.members
protocol: gossipsub-1.0
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
    case = parse_network(text, str(path))
    assert render_network(case, strict=True) == text
    assert case.status == "open"
    assert case.clause in load_clauses()
    assert path.name == f"{case.claim}.{case.protocol}.case"
    found = replay_network(case)
    assert (found.outcome, found.at) == ("same", len(case.acts) - 1), found.reason
    # Equal choices lead to equal runs, and rewriting changes nothing.
    assert found.rewritten == case
    assert played(case) == case


def test_there_are_cases_of_both_families() -> None:
    families = [parse_network(p.read_text(encoding="utf-8")).protocol for p in PATHS]
    assert sum("sub" in name or "partial" in name for name in families) >= 15
    assert sum("dog" in name for name in families) >= 15
    for path in PATHS:
        blocks = path.read_text(encoding="utf-8").split("\n\n")[2:]
        assert sum(len(block.strip().splitlines()) for block in blocks) <= MAX_BODY_LINES, path


def test_a_case_reads_and_writes() -> None:
    case = parse_network(TEXT)
    assert is_network(TEXT)
    assert render_network(case) == TEXT
    assert (case.nodes, case.attackers, case.links) == ((1, 2), {2}, ((1, 2),))
    assert [str(act) for act in case.acts] == ["join A t", "say B>A graft t"]
    data = network_data(case)
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
        ("claim: P03", "claim:", "<text>:4: expected a value for 'claim'"),
        ("format: 1", "format: 2", "<text>:3: expected a format: 1, got '2'"),
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
        parse_network(TEXT.replace(old, new, 1))


def test_a_case_without_blocks_or_too_long_is_none() -> None:
    with pytest.raises(CaseError, match="expected a reason, front matter, nodes and links, and a block"):
        parse_network("\n\n".join(TEXT.split("\n\n")[:3]))
    with pytest.raises(CaseError, match="at most 256 KiB and 2000 lines"):
        parse_network(TEXT + "\n" * 3000)
    with pytest.raises(CaseError, match=f"expected `{RULER}` after the acts"):
        parse_network(TEXT.rsplit(RULER, 1)[0])
    case = parse_network(TEXT)
    long = evolve(case, blocks=case.blocks * 20)
    with pytest.raises(CaseError, match="at most 40 lines of body"):
        render_network(long, strict=True)


def test_what_breaks_otherwise_is_different() -> None:
    case = parse_network(TEXT.replace("subscribe t", "subscribe u"))
    found = replay_network(case)
    assert found.outcome == "different"
    assert found.departs
    assert not found.as_expected
    assert found.divergence.startswith("say B>A graft t")


def test_what_breaks_no_more_is_fixed_and_what_must_hold_holds() -> None:
    harmless = TEXT.replace("say B>A graft t", "say B>A subscribe t; graft t")
    found = replay_network(parse_network(harmless))
    assert (found.outcome, found.departs, found.divergence) == ("fixed", False, "")
    held = replay_network(parse_network(harmless.replace("status: open", "status: fixed")))
    assert (held.outcome, held.as_expected) == ("holds", True)
    broken = replay_network(parse_network(TEXT.replace("status: open", "status: fixed")))
    assert (broken.outcome, broken.departs) == ("departs", True)


def test_what_can_not_happen_is_inconclusive() -> None:
    found = replay_network(parse_network(TEXT.replace("join A t", "leave A t")))
    assert found.outcome == "inconclusive"
    assert "leave can not happen to A now" in found.reason


def test_another_protocol_judges_by_its_own_rules() -> None:
    later = replay_network(parse_network(TEXT), "gossipsub-1.2")
    assert later.outcome == "same"
    graylist = parse_network((FOLDER / "P22.gossipsub-1.1.case").read_text(encoding="utf-8"))
    assert replay_network(graylist, "gossipsub-1.0").outcome == "fixed"
    with pytest.raises(CaseError, match="no claim 'P22' on networks of mempool nodes"):
        replay_network(graylist, "dog")


@pytest.mark.parametrize("claim", ["P07", "P999", "mesh.floor"])
def test_a_claim_that_is_none_of_networks_says_so(claim: str) -> None:
    with pytest.raises(CaseError, match="on networks of pubsub routers"):
        replay_network(parse_network(TEXT.replace("claim: P03", f"claim: {claim}")))


def test_a_new_case_must_break_its_claim() -> None:
    case = parse_network(TEXT)
    assert new_case(case, case.acts).blocks == case.blocks
    with pytest.raises(CaseError, match="does not break P03"):
        new_case(case, case.acts[:1])


def test_either_kind_of_case_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.case"
    path.write_text(TEXT, encoding="utf-8")
    assert isinstance(load_either(path), NetworkCase)
    assert isinstance(load_either(ROOT / "counterexamples" / "mutants" / "hello-empty.case"), Case)
    with pytest.raises(CaseError, match="expected a case"):
        load_either(tmp_path / "nosuch.case")


MEMPOOL_ACTS = (
    "U(A,t1); D(A); R(B,A); A(A); A(A)=B; X(A); L(A,B); J(A,BC); W(A,200); F(A,B,HaveTx t1);"
    "F(A,B,ResetRoute); D(A)=-; L(A,B)=C; J(A,BC)=B,C"
)


def test_acts_of_a_mempool_are_written_as_they_are_read() -> None:
    acts = acts_of(MEMPOOL_ACTS)
    texts = [network_case_mempool.act_text(act) for act in acts]
    assert texts[:5] == ["submit A t1", "offer A", "deliver A>B", "adjust A", "adjust A | B"]
    assert texts[8:10] == ["wait A 200ms", "say B>A havetx t1"]
    assert tuple(map(network_case_mempool.act_of, texts)) == acts
    with pytest.raises(ActError, match="expected an act such as"):
        network_case_mempool.act_of("dance A")


def test_a_denial_starts_small_but_for_names() -> None:
    assert denied("Every mesh is full.") == "Not so: every mesh is full."
    assert denied("DOG is not slower.") == "Not so: DOG is not slower."
    assert denied("T > 0 protects.") == "Not so: T > 0 protects."


def test_a_family_reads_what_it_writes() -> None:
    assert family_of("dog").act_text(acts_of("D(A)")[0]) == "offer A"
    assert Block(()).said == ()
