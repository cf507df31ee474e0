"""Mutants of our routers' sources: that they are made, run in place of the original, and told honestly."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from statistics import median

import pytest

from quidnunc.properties.documents.clauses import load
from tools.source_mutants.__main__ import main
from tools.source_mutants.callers import callers
from tools.source_mutants.measure import Journal, compared, outcome_of, run_stage
from tools.source_mutants.mutants import (
    MODULES,
    all_mutants,
    changes_in,
    drawn,
    drawn_pairs,
    mutated,
    source_of,
)
from tools.source_mutants.operators import OPERATORS
from tools.source_mutants.outcomes import (
    Comparison,
    Outcome,
    Rate,
    clauses_by_place,
    equivalents,
    gaps,
    is_named,
    named_at_all,
    named_first,
    named_nearby,
)
from tools.source_mutants.protocols import executed_lines, order_of, protocols_of
from tools.source_mutants.table import Measurement, figures, page

ROOT = Path(__file__).parents[2]
MUTANTS = all_mutants()


def made_of(text: str, operator: str) -> list[str]:
    """The statements that an operator makes of one function's."""
    tree = ast.parse(text)
    found = []
    for change in [c for c in changes_in(tree, "m") if c.mutant.operator == operator]:
        change.make()
        found.append(ast.unparse(ast.fix_missing_locations(tree)))
        change.place.put(change.place.node)
    return found


# -- making them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "statement", "made"),
    [
        ("boundary", "x = a < b", ["x = a <= b"]),
        ("negation", "x = not a", ["x = a"]),
        ("negation", "x = a in b", ["x = a not in b"]),
        ("connective", "x = a and b", ["x = a or b"]),
        ("operand", "x = a and b", ["x = b", "x = a"]),
        ("operand", "x = a - b", ["x = a"]),
        ("condition", "x = [a for a in b if a]", ["x = [a for a in b]"]),
        ("condition", "x = a if b else c", ["x = a if True else c", "x = a if False else c"]),
        ("statement", "a.f()", ["pass"]),
        ("statement", "'a docstring'", []),
        ("loop-exit", "for a in b:\n    break", ["for a in b:\n    continue", "for a in b:\n    pass"]),
        ("arithmetic", "x = a + b", ["x = a - b"]),
        ("constant", "x = 3", ["x = 4", "x = 2"]),
        ("constant", "x = True", ["x = False"]),
        ("argument", "x = f(a, b)", ["x = f(b, a)"]),
        ("argument", "x = max(a, b)", []),
        ("method", "a.add(b)", ["a.discard(b)"]),
        ("method", "x = a.pop(b, None)", ["x = a.get(b, None)"]),
        ("order", "x = sorted(a, key=b)", ["x = sorted(a, key=b, reverse=True)"]),
        ("order", "x = next(iter(a))", ["x = next(reversed(a))"]),
        ("portion", "f(a[:b])", ["f(a[b:])"]),
    ],
)
def test_an_operator_makes_what_it_says(operator: str, statement: str, made: list[str]) -> None:
    assert made_of(statement, operator) == made


@pytest.mark.parametrize(
    ("returns", "made"),
    [("bool", ["True", "False"]), ("int", ["0", "1"]), ("set[Peer]", ["set()"]), ("Peer | None", ["None"])],
)
def test_a_dropped_value_is_of_the_type_that_is_returned(returns: str, made: list[str]) -> None:
    found = made_of(f"def f() -> {returns}:\n    return g()", "return")
    assert [text.split("return ")[1] for text in found] == made


def test_annotations_decorators_assertions_and_errors_are_left_alone() -> None:
    text = "@a(1)\ndef f(x: b[2] = c) -> d[3]:\n    assert x < 4\n    raise e(f'{x < 5}')"
    operators = {change.mutant.operator for change in changes_in(ast.parse(text), "m")}
    assert operators == {"statement"}, "the `raise` is deleted, and nothing else is touched"


def test_there_are_enough_and_each_makes_another_source() -> None:
    assert len(MUTANTS) >= 600
    assert {mutant.operator for mutant in MUTANTS.values()} == {*OPERATORS}
    module = "mempool.dog.routes"
    texts = {ast.dump(mutated(module, [m.id])) for m in MUTANTS.values() if m.module == module}
    original = ast.dump(ast.parse(source_of(module)[1]))
    assert len(texts) == sum(m.module == module for m in MUTANTS.values()) and original not in texts


def test_no_module_of_planted_switches_is_mutated() -> None:
    folder = Path(source_of(MODULES[0])[0]).parents[1]
    own = [p for part in ("gossipsub", "mempool") for p in (folder / part).rglob("*.py")]
    named = {".".join(p.relative_to(folder).with_suffix("").parts) for p in own if p.stem != "__init__"}
    assert named - {*MODULES} == {"mempool.driver"}, "all of our routers but the seam of the mempool"
    assert not {*MODULES} - named


def test_a_seed_draws_the_same_and_a_larger_sample_begins_with_a_smaller() -> None:
    assert drawn(0, 50)[:20] == drawn(0, 20) != drawn(3, 20)
    pairs = drawn_pairs(drawn(0, 8), 0, 10)
    assert len(pairs) == 10 and all(a.place != b.place for a, b in pairs)


def test_what_there_is_not_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="has no mutant mempool.pool#constant.99"):
        mutated("mempool.pool", ["mempool.pool#constant.99"])


# -- tables -------------------------------------------------------------------------------------------------


def test_every_function_has_its_clauses() -> None:
    table = clauses_by_place()
    assert {mutant.place for mutant in MUTANTS.values()} == {*table}
    assert [c for clauses in table.values() for c in clauses if c not in load()] == []
    assert max(map(len, table.values())) <= 3


def test_each_equivalent_mutant_exists_and_has_a_reason() -> None:
    for name, entry in equivalents().items():
        assert name in MUTANTS, f"equivalent.toml names {name}, which is no mutant any more"
        found = MUTANTS[name]
        assert (entry.before, entry.after) == (found.before, found.after), name
        assert len(entry.reason.split()) >= 5, f"{name}: say why no test can notice it"


def test_each_gap_is_of_a_mutant_that_there_is() -> None:
    assert gaps().keys() <= MUTANTS.keys() - equivalents().keys()


def test_a_clause_names_a_function_by_its_rule_too() -> None:
    mutant = next(m for m in MUTANTS.values() if m.place == "gossipsub.fanout:Fanout.for_publish")
    assert is_named("gs1.0/fanout.choose", mutant) and is_named("gs1.0/publish.fanout", mutant)
    assert not is_named("gs1.0/heartbeat.cut", mutant)


def test_a_protocol_is_one_whose_router_executes_the_line() -> None:
    lines = executed_lines(["mempool.peer_limit"])
    assert {*lines} == {*order_of("mempool.peer_limit")}
    slot = next(m for m in MUTANTS.values() if m.place == "mempool.peer_limit:PeerSlots.next_waiting")
    assert protocols_of(slot, lines) == ("peer-limit",)
    assert (slot.module, slot.line) not in lines["flood"], "Flood has no slots to wait for"


def test_a_default_is_tried_under_every_protocol_that_enters_the_function() -> None:
    default = MUTANTS["gossipsub.router:GossipsubRouter.join#constant.2"]
    order = order_of(default.module)
    inside = frozenset({(default.module, default.line + 4)})
    lines = {name: inside if name in ("gossipsub-1.2", "partial-messages") else frozenset() for name in order}
    assert protocols_of(default, lines) == ("gossipsub-1.2", "partial-messages")


# -- running them -------------------------------------------------------------------------------------------

SAMPLE = {
    "mempool.dog.redundancy:RedundancyController.too_high#boundary.1": ("dog", "", "rows"),
    "mempool.peer_limit:PeerSlots.has_free#boundary.1": ("peer-limit", "rows", "rows"),
    "gossipsub.scores:ScoreKeeper.disconnected#constant.2": ("gossipsub-1.2", "", ""),
    "mempool.dog.metrics:type_of#condition.1": ("dog", "", "rows"),
    "mempool.dog.reactor:DogReactor.__init__#statement.3": ("dog", "start", "start"),
    "mempool.cat.reactor:CatReactor.advance#statement.2": ("cat", "hangs", "hangs"),
}
"""Mutant -> the protocol, and how suite and search notice it in 20 runs. The one that neither notices is
equivalent to the original; of the others a better suite may notice more."""


def outcome(name: str) -> Outcome:
    return outcome_of((name,), (SAMPLE[name][0],), seed=0, runs=20, hang_s=1.0)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_of_the_fixed_sample_is_noticed_as_before(name: str) -> None:
    found = outcome(name)
    _, suite, search = SAMPLE[name]
    assert found.search == search, found
    assert found.suite == suite or (search and not suite), found
    assert bool(found.search_rows) == (found.search == "rows")
    assert found.crashes == (name.startswith("mempool.dog.metrics") or found.search in ("start", "hangs"))


NOTICED_SINCE = {
    "mempool.dog.reactor:DogReactor.resume#statement.5": ("dog", "stalled-twice"),
    "gossipsub.cache:MessageCache._drop#statement.2": ("gossipsub-1.2", "served-anew"),
    "gossipsub.gossip:Gossip.cancel_requests#operand.1": ("gossipsub-1.2", "asked-then-gone"),
    "gossipsub.outbox:_chunks#arithmetic.1": ("gossipsub-1.2", "large-and-control"),
    "gossipsub.outbox:_pieces#statement.15": ("gossipsub-1.2", "large-and-control"),
    "gossipsub.outbox:_pieces#statement.18": ("gossipsub-1.3", "large-and-extension"),
    "gossipsub.scores:ScoreKeeper.misbehaved#condition.1": ("gossipsub-1.2", "promise-of-forgotten"),
    "gossipsub.scores:ScoreKeeper._counters#operand.1": ("gossipsub-1.2", "verdict-of-forgotten"),
    "mempool.dog.reactor:DogReactor.admit#boundary.1": ("dog", "tx-of-largest-size"),
}
"""Mutants that nothing noticed when they were measured, and the case at a bound that notices them since."""


@pytest.mark.parametrize("name", NOTICED_SINCE)
def test_the_suite_notices_what_it_lacked_a_case_for(name: str) -> None:
    protocol, case = NOTICED_SINCE[name]
    assert run_stage("suite", (name,), (protocol,), cases=(case,)).how == "rows"
    assert run_stage("suite", (), (protocol,), cases=(case,)).how == ""


def test_the_original_is_noticed_by_nothing() -> None:
    for stage in ("suite", "search"):
        answer = run_stage(stage, (), ("dog", "peer-limit"), runs=10)
        assert (answer.how, answer.rows) == ("", ()) and len(answer.lines) == 2


def test_a_survivor_is_compared_with_the_original() -> None:
    same = MUTANTS["gossipsub.scores:ScoreKeeper.disconnected#constant.2"]
    other = MUTANTS["mempool.peer_limit:PeerSlots.has_free#boundary.1"]
    assert compared(same, "gossipsub-1.2", runs=5, seed=0).differs_in is None
    differs = compared(other, "peer-limit", runs=15, seed=0).differs_in
    assert differs is not None and 1 <= differs <= 15


def test_a_mutant_that_nobody_imports_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no router has imported the mutant"):
        run_stage("suite", ("mempool.cat.reactor:CatReactor.advance#statement.2",), ("gossipsub-1.2",))


def test_a_mutant_of_what_is_imported_is_an_error() -> None:
    script = (
        "import quidnunc.impl.mempool.pool\n"
        "from tools.source_mutants.hook import mutants_loaded\n"
        "with mutants_loaded(['mempool.pool:TransactionPool.touch#boundary.1']): pass"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert "imported before its mutant" in done.stderr


# -- telling what came of it --------------------------------------------------------------------------------


def made_outcome(name: str, **changed: object) -> Outcome:
    usual: dict[str, object] = {
        "ids": (name,),
        "code": "c",
        "seed": 0,
        "runs": 20,
        "protocols": ("gossipsub-1.2",),
        "suite": "",
        "search": "",
    }
    return Outcome(**{**usual, **changed})  # type: ignore[arg-type]


FANOUT = "gossipsub.fanout:Fanout.is_over#boundary.1"
ROW = ("gossipsub-1.2", "gs1.0/fanout.expire", "unexplained:missing")
OTHER_ROW = ("gossipsub-1.2", "gs1.0/heartbeat.cut", "unexplained:missing")
CRASH_ROW = ("gossipsub-1.2", "pubsub/rpc.any-combination", "crash:KeyError in router.mesh")


def measurement(*outcomes: Outcome, pairs: tuple[Outcome, ...] = ()) -> Measurement:
    return Measurement(
        seed=0,
        runs=20,
        available=len(MUTANTS),
        code="c",
        on=date(2026, 1, 2),
        mutants=MUTANTS,
        outcomes=outcomes,
        comparisons={FANOUT: Comparison(id=FANOUT, code="c", protocol="p", runs=9, differs_in=4)},
        pairs=pairs,
    )


def test_raw_rates_leave_out_nothing_but_what_is_no_router() -> None:
    name = "gossipsub.fanout:Fanout.is_over#return.1"
    said = figures(
        measurement(
            made_outcome(FANOUT),
            made_outcome(name, search="rows", search_rows=(OTHER_ROW, ROW)),
            made_outcome(name, suite="rows", search="rows", search_rows=(CRASH_ROW,)),
            made_outcome(name, suite="hangs", search="hangs"),
            made_outcome(name, suite="start", search="start"),
        )
    )
    assert (said["sample"], said["do_not_start"], said["median_rows"]) == (5, 1, 1.5)
    raw = {key: text.split(" (")[0] for key, text in said["raw"].items()}
    assert raw["noticed"] == "3 of 4" and raw["suite"] == "2 of 4" and raw["search"] == "3 of 4"
    assert raw["crashes"] == "2 of 4", "a crash and a hang"
    assert raw["first_row_names"] == "0 of 1" and raw["some_row_names"] == "1 of 1"
    assert said["without_equivalents"] == said["raw"], "without a written reason a survivor counts"


def test_a_helper_is_named_by_its_callers() -> None:
    """`Gossip.under_idontwant_cap` is asked by what heeds an IDONTWANT, and by nothing else."""
    mutant = MUTANTS["gossipsub.gossip:Gossip.under_idontwant_cap#return.2"]
    assert callers()[mutant.place] == {"gossipsub.gossip:Gossip.on_idontwant"}
    caller = clauses_by_place()["gossipsub.gossip:Gossip.on_idontwant"]
    other = next(clause for clause in caller if not is_named(clause, mutant))
    found = made_outcome(mutant.id, search_rows=(CRASH_ROW, ("gossipsub-1.2", other, "dropped")))
    assert not named_first(found, mutant) and named_nearby(found, mutant)
    elsewhere = made_outcome(mutant.id, search_rows=(OTHER_ROW,))
    assert not named_nearby(elsewhere, mutant)
    assert named_nearby(made_outcome(mutant.id, search_rows=(CRASH_ROW,)), mutant) is None


def test_a_function_without_clauses_is_not_asked_for_one() -> None:
    mutant = next(m for m in MUTANTS.values() if m.place == "gossipsub.outbox:Outbox._send")
    assert named_first(made_outcome(mutant.id, search_rows=(ROW,)), mutant) is None


def test_the_page_begins_with_raw_rates_and_names_the_survivors() -> None:
    cut = "gossipsub.mesh:Mesh.is_over#boundary.1"
    pair = made_outcome(FANOUT, ids=(FANOUT, cut), search="rows", search_rows=(ROW, OTHER_ROW))
    text = page(measurement(made_outcome(FANOUT), pairs=(pair,)))
    assert text.index("## Raw rates") < text.index("## Not noticed") < text.index("## Without equivalent")
    assert f"| `{FANOUT}` |" in text and "differs, first in run 4" in text
    assert "1 of 1 (100 %; 21 to 100 %) each function is named by a row" in text


def test_a_rate_says_how_sure_it_is() -> None:
    assert str(Rate(8, 10)) == "8 of 10 (80 %; 49 to 94 %)"
    assert str(Rate(0, 0)) == "0 of 0"


def test_the_journal_goes_on_and_forgets_what_other_sources_said(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    known = outcome("mempool.dog.reactor:DogReactor.__init__#statement.3")
    journal.add(known)
    journal.add(made_outcome(FANOUT, code="of other sources"))
    with journal.path.open("a", encoding="utf-8") as lines:
        lines.write('{"kind": "outcome", "ids": ["cut sho')
    journal.add(Comparison(id=FANOUT, code=known.code, protocol="dog", runs=3, differs_in=None))
    assert [*journal.outcomes().values()] == [known]
    assert journal.comparisons()[FANOUT].runs == 3


def test_the_command_tells_figures_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "mempool.dog.reactor:DogReactor.__init__#statement.3"
    lines = {protocol: frozenset({("mempool.dog.reactor", 0)}) for protocol in order_of("mempool.dog")}
    monkeypatch.setattr(Journal, "lines", lambda *_: lines)
    status = main([name, "--json", "--journal", str(tmp_path / "j"), "--table", str(tmp_path / "page.md")])
    said = json.loads(capsys.readouterr().out)
    assert status == 0 and said["sample"] == 1 and said["do_not_start"] == 1
    assert "1 do not start as a router" in (tmp_path / "page.md").read_text("utf-8")


def test_the_figures_of_seed_7_are_those_of_its_files() -> None:
    """What its own command does not print: how the readings and the rows divide."""
    page = (
        (ROOT / "docs" / "mutation.md").read_text("utf-8").partition("## Seed 7\n")[2].partition("\n## ")[0]
    )
    results = ROOT / "docs" / "results"
    lines = (results / "source-mutants-seed-7.jsonl").read_text("utf-8").splitlines()
    outcomes = [Outcome(**{k: v for k, v in json.loads(line).items() if k != "kind"}) for line in lines]
    running = [each for each in outcomes if each.starts]
    text = (results / "source-mutants-seed-7-unnoticed.jsonl").read_text("utf-8")
    readings = [json.loads(line) for line in text.splitlines()]
    assert {r["id"] for r in readings} == {each.ids[0] for each in running if not each.noticed}
    agreed = Counter(r["first"]["class"] for r in readings if r["first"]["class"] == r["second"]["class"])
    table = [int(number) for number in re.findall(r"^\| [^|]+ \| (\d+) \|$", page, re.MULTILINE)]
    order = ("equivalent", "metric", "permitted", "limit", "input", "protocol", "gap")
    assert table == [*(agreed[each] for each in order), len(readings) - agreed.total()]
    silent, allowed = agreed["equivalent"] + agreed["metric"], agreed["permitted"]
    assert f"They agree on {agreed.total()}\n" in page
    kinds = ([o.noticed for o in running], [o.search for o in running], [o.suite for o in running])
    noticed = [sum(map(bool, each)) for each in kinds]
    for left in (len(running) - silent, len(running) - silent - allowed):
        shares = [f"{100 * each / left:.0f} %" for each in noticed]
        assert f"{left}" in page and all(f"({share})" in page for share in shares), (left, shares)
    many = [each for each in outcomes if len(each.search_rows) > 2]
    causes = [[row[2] for row in each.search_rows] for each in many]
    unexplained = [[c for c in each if c.startswith("unexplained") and "crash" not in c] for each in causes]
    two = sum(len(each) >= 2 for each in unexplained)
    counters = ("gossipsub.scores:", "gossipsub.score_events", "gossipsub.partial:", "gossipsub.scores#")
    told = sum(each.ids[0].startswith(counters) for each in many)
    plain = " ".join(page.split())
    assert f"the {len(many)} searches with more than two rows, {two} have two or more" in plain
    assert f"and {told} are of scores or partial messages" in plain


def test_the_figures_of_the_pairs_of_seed_7_are_those_of_their_file() -> None:
    page = (ROOT / "docs" / "mutation.md").read_text("utf-8").partition("**Two at once.**")[2]
    plain = " ".join(page.partition("\n\n")[0].split())

    def read(name: str) -> list[Outcome]:
        lines = (ROOT / "docs" / "results" / name).read_text("utf-8").splitlines()
        return [Outcome(**{k: v for k, v in json.loads(line).items() if k != "kind"}) for line in lines]

    pairs, singles = read("source-mutants-seed-7-pairs.jsonl"), read("source-mutants-seed-7.jsonl")
    alone = {each.ids[0]: each for each in singles}
    named = [[named_at_all(pair, MUTANTS[name]) for name in pair.ids] for pair in pairs]
    both = [all(each) for each in named]
    before = [all(named_at_all(alone[name], MUTANTS[name]) for name in pair.ids) for pair in pairs]
    assert f"In {sum(both)} of {len(pairs)} pairs" in plain
    assert f"in {sum(map(any, named))} at least one" in plain
    assert f"in {sum(before)} of the pairs both functions are named" in plain
    again = sum(one and other for one, other in zip(both, before, strict=True))
    assert f"and {again} of these pairs name both" in plain
    rows = [len(pair.search_rows) for pair in pairs]
    assert f"The median is {median(rows):g} rows, {sum(each > 4 for each in rows)} pairs have more" in plain
    assert not any(pair.allowed for pair in pairs)


def test_what_was_compared_of_seed_7_is_what_both_readers_call_equivalent() -> None:
    page = " ".join((ROOT / "docs" / "mutation.md").read_text("utf-8").split())
    results = ROOT / "docs" / "results"
    text = (results / "source-mutants-seed-7-unnoticed.jsonl").read_text("utf-8")
    readings = [json.loads(line) for line in text.splitlines()]
    silent = {"equivalent", "metric"}
    known = {r["id"] for r in readings if {r["first"]["class"], r["second"]["class"]} <= silent}
    compared = (results / "source-mutants-seed-7-compared.jsonl").read_text("utf-8").splitlines()
    assert compared
    names = {
        "gossipsub-1.2": "gossipsub v1.2",
        "dog": "DOG",
        "partial-messages": "partial messages",
        "peer-limit": "the peer limit",
        "gossipsub-1.0": "gossipsub v1.0",
        "gossipsub-1.3": "v1.3",
        "cat": "CAT",
    }
    for at, each in enumerate(map(json.loads, compared)):
        assert known.issuperset(each["ids"]), each["protocol"]
        assert each["same_runs"] == 10_000
        unit = "" if at else " mutants"
        assert f" of {names[each['protocol']]} ({len(each['ids'])}{unit})" in page
    assert "no output differs in 10,000 runs of" in page
    ids = {name for each in map(json.loads, compared) for name in each["ids"]}
    assert ids == known and f"All {len(known)} were compared" in page
