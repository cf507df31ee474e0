"""A campaign: batches in processes of their own, merged into one table that the seed determines."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict, evolve

from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.cases.telling import notes_of
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.search import batch as batches
from quidnunc.properties.search import campaign as campaigns
from quidnunc.properties.search.batch import BatchRequest, Workers, run_batch
from quidnunc.properties.search.campaign import (
    BATCH,
    MIN_BATCH,
    WIDTH,
    Campaign,
    SoFar,
    merge,
    run_campaign,
    settle,
)
from quidnunc.properties.search.rows import RootCause
from quidnunc.properties.search.worker import answer as answer_request
from quidnunc.properties.search.worker import hello_of, opener_of, run

TABLE = """
import json, sys
from quidnunc.properties.search.campaign import run_campaign
from quidnunc.properties.cases.file import render
c = run_campaign(sys.argv[1], sys.argv[2], runs=20, seed=5)
roots = [[*key, r.kind, r.also, r.holds_on_ours, render(r.case)] for key, r in sorted(c.roots.items())]
json.dump([c.runs, c.steps, c.blurred, c.unrepeated, sorted(c.applied.items()), roots, c.broken], sys.stdout)
"""

NOTHING: dict[str, Any] = {
    **dict.fromkeys(("runs", "steps", "blurred", "unrepeated"), 0),
    **{"version": "1", "capabilities": [], "fixed": {}, "applied": {}, "roots": []},
    **{"switched": {}, "has_additions": False, "without": []},
}
"""The answer of a batch that found nothing."""


def table_of(protocol: str, against: str, hash_seed: int) -> list[Any]:
    """What a campaign comes to, in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-c", TABLE, protocol, against],
        capture_output=True,
        env=environment,
        timeout=300,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("protocol", "against", "cause"),
    [
        ("gossipsub-1.1", "ours:leave-no-backoff", "starts-no-backoff-for-mesh-when-it-leaves-topic"),
        ("dog", "ours:never-blocked", ""),
    ],
)
def test_the_same_seed_gives_the_same_table_in_a_second_process(
    protocol: str, against: str, cause: str
) -> None:
    first, second = (table_of(protocol, against, hash_seed) for hash_seed in (1, 2))
    assert first == second
    runs, _, _, _, _, roots, broken = first
    assert (runs, broken) == (20, [])
    assert roots
    assert cause in {root[1] for root in roots} | {""}


class TestOneBatch:
    ASKED = BatchRequest(protocol="gossipsub-1.1", against="ours:graft-unknown-pruned", seed=7, runs=12)

    @pytest.fixture(scope="class")
    @classmethod
    def answer(cls) -> Iterator[dict[str, Any]]:
        yield json.loads(json.dumps(run(asdict(cls.ASKED))))

    def test_it_says_who_was_asked_and_how_much_was_done(self, answer: dict[str, Any]) -> None:
        hello = hello_of("ours:graft-unknown-pruned", "gossipsub-1.1")
        assert (answer["name"], answer["version"]) == (hello.name, hello.version)
        assert answer["capabilities"] == sorted(hello.capabilities)
        assert answer["runs"] == 12
        assert answer["steps"] > 100

    def test_a_finding_comes_as_a_case(self, answer: dict[str, Any]) -> None:
        found = {(r["clause"], r["quirk"]): r for r in answer["roots"]}
        root = found["gs1.1/graft.unknown-topic", "unknown-topic-graft-pruned"]
        case = parse(root["case"])
        assert case.clause == "gs1.1/graft.unknown-topic"
        assert case.claim in {c.id for c in claims_of(protocol_named("gossipsub-1.1"))}
        assert case.against.startswith("ours:graft-unknown-pruned")
        assert root["holds_on_ours"] is True
        # The form survives another reading and writing, and the departure another playing.
        assert render(parse(render(case))) == root["case"]
        assert replay_router(case, opener_of("ours:graft-unknown-pruned")).outcome == "same"
        assert replay_router(case, opener_of("ours")).outcome == "fixed"

    def test_it_merges_into_a_campaign(self, answer: dict[str, Any]) -> None:
        campaign = Campaign("gossipsub-1.1", "ours:graft-unknown-pruned", 7)
        for _ in range(2):
            merge(campaign, answer)
        assert campaign.runs == 2 * answer["runs"]
        assert campaign.applied["floodsub/deliver.once"] == 2 * answer["applied"]["floodsub/deliver.once"]
        assert len(campaign.roots) == len(answer["roots"])
        assert {q.name for q in campaign.quirks} == {
            r["quirk"] for r in answer["roots"] if r["kind"] != "unexplained"
        }

    def test_a_quirk_that_is_in_force_is_not_found_again(self) -> None:
        asked = {**asdict(self.ASKED), "quirks": ("unknown-topic-graft-pruned",)}
        assert "unknown-topic-graft-pruned" not in {r["quirk"] for r in run(asked)["roots"]}

    def test_no_time_left(self) -> None:
        assert run(asdict(self.ASKED), out_of_time=lambda: True)["runs"] == 0


class TestShorterCasesWin:
    def answer(self, case: str) -> dict[str, Any]:
        root = {
            "clause": "gs1.1/graft.unknown-topic",
            "quirk": "unknown-topic-graft-pruned",
            "kind": "replaced",
            "says": "It is answered.",
            "case": case,
            "also": [],
            "holds_on_ours": True,
        }
        return {**NOTHING, "roots": [root]}

    TEXT = (
        "It is answered.\n\nformat: 1\nclaim: graft.unknown-topic\nclause: gs1.1/graft.unknown-topic\n"
        "protocol: gossipsub-1.1\nagainst: ours\nstatus: open\n\n"
        "{before}connect a /meshsub/1.1.0\n----\n+ a: prune t1\n"
    )

    def test_of_two_cases_of_one_root_the_shorter_one_is_kept(self) -> None:
        long, short = self.TEXT.format(before="join t9\n"), self.TEXT.format(before="")
        for order in ((long, short), (short, long)):
            campaign = Campaign("gossipsub-1.1", "ours", 0)
            for text in order:
                merge(campaign, self.answer(text))
            (root,) = campaign.roots.values()
            assert render(root.case) == render(parse(short))

    def test_a_run_that_contradicts_an_explanation_is_told_with_the_row_that_another_batch_found(
        self,
    ) -> None:
        name, campaign = "unknown-topic-graft-pruned", Campaign("gossipsub-1.1", "ours", 0)
        merge(campaign, {**NOTHING, "withdrawn": [name], "contradicted": {name: [7, "Seven."]}})
        merge(campaign, {**NOTHING, "withdrawn": [name], "contradicted": {name: [4, "Four."]}})
        merge(campaign, self.answer(self.TEXT.format(before="")))
        (root,) = campaign.roots.values()
        assert root.kind == "unexplained" and root.says.endswith("Nearly: It is answered. Four.")

    @pytest.mark.parametrize("refuted_meanwhile", [False, True])
    def test_what_is_no_longer_refuted_explains_again(self, refuted_meanwhile: bool) -> None:
        """Mutant: what another batch of the round has refuted comes back all the same."""
        name, campaign = "unknown-topic-graft-pruned", Campaign("gossipsub-1.1", "ours", 0)
        merge(campaign, {**NOTHING, "withdrawn": [name], "refuting": {name: ["a case"]}})
        found = self.answer(self.TEXT.format(before=""))
        (root,) = found["roots"]
        merge(campaign, {**NOTHING, "roots": [{**root, "leaves_open": ["gs1.0/prune.remove"]}]})
        ((key, before),) = campaign.roots.items()
        assert before.kind == "unexplained"
        if refuted_meanwhile:
            merge(campaign, {**NOTHING, "withdrawn": [name], "refuting": {name: ["another case"]}})
        again = [[render(before.case), root["clause"], name]]
        merge(campaign, {**found, "reinstated": {name: ["a case"]}, "explained_again": again})
        (row,) = campaign.roots.values()
        assert (row.kind == "unexplained") == refuted_meanwhile == (name in campaign.withdrawn)
        assert row.leaves_open == {"gs1.0/prune.remove"}
        assert (key in campaign.roots) == refuted_meanwhile


def _written(path: Path, text: str) -> None:
    path.write_text(text)


class TestWhatBreaks:
    REQUEST = BatchRequest(protocol="floodsub", against="python:breaks:it", seed=1, runs=1)

    @pytest.fixture
    def broken_by(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """Makes the router of the request: ours, and a line that breaks it."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.delitem(sys.modules, "breaks", raising=False)
        source = "import os\nfrom quidnunc.impl.ours.pubsub import open_ours\n\n\ndef it(config):\n"
        made = "    made = open_ours(config)\n    {}\n    return made\n"
        return lambda line: _written(tmp_path / "breaks.py", source + made.replace("{}", line))

    @pytest.fixture
    def worked(self) -> Callable[[], dict[str, Any]]:
        """The answer to the request, of a worker in this process."""

        def answer() -> dict[str, Any]:
            answers = io.StringIO()
            answer_request(asdict(self.REQUEST), answers)
            told: dict[str, Any] = {}
            for line in answers.getvalue().splitlines():
                told |= json.loads(line)
            return told

        return answer

    def test_a_worker_that_dies_is_said_to_have(self, broken_by: Callable[[str], None]) -> None:
        broken_by("os.kill(os.getpid(), 9)")
        assert "the worker ended with status -9" in run_batch(self.REQUEST)["broken"]

    def test_a_driver_that_would_end_its_worker_is_told_of(self, broken_by: Callable[[str], None]) -> None:
        broken_by("os._exit(0)")
        assert "called os._exit(0), which would end the kit" in run_batch(self.REQUEST)["broken"]

    def test_what_a_router_writes_to_stdout_does_not_spoil_the_answer(
        self, broken_by: Callable[[str], None]
    ) -> None:
        broken_by("os.write(1, b'joined\\n')")
        answer = run_batch(self.REQUEST)
        assert "broken" not in answer and answer["runs"] == self.REQUEST.runs

    def test_a_worker_whose_answer_is_none(self, broken_by: Callable[[str], None]) -> None:
        """The worker's stdout is a descriptor of its own: this router writes to all pipes that there are."""
        link = "os.readlink(f'/proc/self/fd/{n}')"
        there = "[n for n in range(3, 64) if os.path.exists(f'/proc/self/fd/{n}')]"
        broken_by(f"[os.write(n, b'joined\\n') for n in {there} if 'pipe' in {link}]")
        assert "the worker's answer is not JSON: 'joined" in run_batch(self.REQUEST)["broken"]

    def test_what_a_driver_raises_is_told_as_it_is(
        self, broken_by: Callable[[str], None], worked: Callable[[], dict[str, Any]]
    ) -> None:
        broken_by("made.advance = lambda ms: {}['oops']")
        said = "python:breaks:it: at request advance: KeyError: 'oops' (breaks.py:7)"
        assert worked()["broken"] == said

    def test_what_a_router_prints_is_no_part_of_the_answer(
        self, broken_by: Callable[[str], None], worked: Callable[[], dict[str, Any]]
    ) -> None:
        broken_by("print('{}')")
        assert worked()["runs"] == 1

    def test_fixed_parameters_that_do_not_go_with_the_others(
        self, broken_by: Callable[[str], None], worked: Callable[[], dict[str, Any]]
    ) -> None:
        broken_by("from attrs import evolve; made.hello = evolve(made.hello, fixed={'d_low': 99})")
        assert "hello.fixed: {'d_low': 99} with what is given: need 0 <= D_low" in worked()["broken"]

    def test_a_worker_that_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "WORKER_TIMEOUT_S", 0.05)
        answer = run_batch(BatchRequest(protocol="floodsub", against="ours", seed=1, runs=1))
        assert "did not end within 0.05 s" in answer["broken"]

    def test_a_broken_batch_ends_the_campaign(self) -> None:
        campaign = run_campaign("floodsub", "python:no_such_module:factory", runs=1)
        assert campaign.broken
        assert campaign.runs == 0

    def test_either_runs_or_a_budget(self) -> None:
        for given in ({}, {"runs": 1, "budget_s": 1.0}):
            with pytest.raises(ValueError, match="either runs or budget_s"):
                run_campaign("floodsub", "ours", **given)  # type: ignore[arg-type]


class TestRounds:
    def asked(self, monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[BatchRequest]:
        seen: list[BatchRequest] = []

        def noting(request: BatchRequest, workers: Workers) -> dict[str, Any]:
            seen.append(request)
            return {**NOTHING, "runs": request.runs}

        monkeypatch.setattr(campaigns, "run_batch", noting)
        run_campaign("floodsub", "ours", **given)
        return sorted(seen, key=lambda r: r.seed)

    def test_batches_add_up_and_have_seeds_of_their_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for runs in (1, 19, 20, 333, 3000):
            asked = self.asked(monkeypatch, runs=runs, seed=2)
            assert sum(r.runs for r in asked) == runs
            assert max(r.runs for r in asked) <= BATCH
            assert len({r.seed for r in asked}) == len(asked)
        assert len(self.asked(monkeypatch, runs=MIN_BATCH)) == 1

    def test_neither_cores_nor_time_change_what_is_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one, many = (self.asked(monkeypatch, runs=1000, workers=w) for w in (1, 8))
        assert one == many

    def test_it_stops_after_a_round(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self.asked(monkeypatch, runs=5000, stop=lambda c: c.runs > 0)
        assert len(asked) == WIDTH

    def test_what_is_unexplained_is_asked_again_once_all_runs_are_done(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, text = [], TestCoveredRows.TEXT
        row = {
            **{"clause": "gs1.1/backoff.regraft", "says": "R.", "also": [], "holds_on_ours": True},
            **{"quirk": "", "kind": "unexplained", "as": ["unexpected"], "case": text.format(quirk="")},
        }
        other = {**row, "quirk": "heartbeat-prunes-bare", "kind": "replaced"}
        other["case"] = text.format(quirk="heartbeat-prunes-bare")

        def answering(request: BatchRequest, workers: Workers) -> dict[str, Any]:
            asked.append(request)
            return {**NOTHING, "runs": request.runs, "roots": [row, other] if request.runs else []}

        monkeypatch.setattr(campaigns, "run_batch", answering)
        run_campaign("gossipsub-1.1", "ours:regraft-taken", runs=MIN_BATCH, workers=1)
        # What comes after them settles what was found.
        first, last = asked[:2]
        assert (first.runs, len(first.again)) == (MIN_BATCH, 0)
        assert (last.runs, len(last.again)) == (0, 1)
        assert last.quirks == ("heartbeat-prunes-bare",)

    def test_a_budget_ends_the_rounds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self.asked(monkeypatch, budget_s=0.05)
        assert len(asked) % WIDTH == 0
        assert self.asked(monkeypatch, budget_s=0.05, started=0.0)[WIDTH:] == []


class TestCoveredRows:
    TEXT = (
        "R.\n\nformat: 2\nclaim: backoff.regraft-refused\nclause: gs1.1/backoff.regraft\n"
        "protocols: gossipsub-1.1\nagainst: ours:regraft-taken\nstatus: open\nquirk: {quirk}\n\n"
        "join t1\nconnect a /meshsub/1.1.0\na: prune t1\na: graft t1\nadvance 1500ms\n----\n- a: prune t1\n"
    )

    def campaign(self, quirks: dict[str, str], against: str = "ours:regraft-taken") -> Campaign:
        """`quirks`: each with the clause that it leaves open."""
        found = Campaign("gossipsub-1.1", against, 0)
        for quirk, left_open in quirks.items():
            case = parse(self.TEXT.format(quirk=quirk))
            clause = "gs1.1/backoff.regraft"
            row = RootCause(clause, quirk, "replaced", "S.", case, leaves_open=frozenset({left_open}))
            found.roots[clause, quirk] = row
        return found

    def test_an_explanation_goes_that_another_makes_superfluous_the_larger_one_first(self) -> None:
        small, large = "accepts-graft-inside-backoff", "while-backing-off-sees-no-backoff"
        found = self.campaign({large: "gs1.0/relay.mesh", small: "gs1.0/relay.mesh"})
        settle(found)
        assert [root.quirk for root in found.roots.values()] == [small]

    def test_one_that_the_case_of_another_row_is_excused_by_stays(self) -> None:
        """The case says that it is filed on its own."""
        small, large = "accepts-graft-inside-backoff", "while-backing-off-sees-no-backoff"
        found = self.campaign({large: "gs1.0/relay.mesh", small: "gs1.0/relay.mesh"})
        key = ("gs1.1/backoff.regraft", "unexplained:missing")
        case = evolve(parse(self.TEXT.format(quirk="")), as_built=(large,))
        found.roots[key] = RootCause(*key, "unexplained", "S.", case)
        settle(found)
        assert large in {root.quirk for root in found.roots.values()}

    def test_what_a_case_excuses_is_said_to_be_filed_only_where_it_is(self) -> None:
        other, key = "heartbeat-prunes-bare", ("gs1.1/backoff.regraft", "unexplained:missing")
        for filed in (True, False):
            found = self.campaign({other: "gs1.0/relay.mesh"} if filed else {})
            bare = evolve(parse(self.TEXT.format(quirk="")), as_built=(other,))
            case = evolve(bare, notes=notes_of(bare, None))
            found.roots[key] = RootCause(*key, "unexplained", "S.", case)
            settle(found)
            (note,) = found.roots[key].case.notes
            assert note.endswith("filed on its own and excused here.") is filed

    def test_where_they_leave_nothing_open_in_common_both_stay(self) -> None:
        quirks = {
            "accepts-graft-inside-backoff": "gs1.0/a",
            "while-backing-off-sees-no-backoff": "gs1.0/b",
        }
        found = self.campaign(quirks)
        settle(found)
        assert len(found.roots) == 2

    @pytest.mark.parametrize(("cases", "covered"), [(1, True), (2, False)])
    def test_all_cases_of_an_explanation_have_to_be_accounted_for_without_it(
        self, cases: int, covered: bool
    ) -> None:
        name = "accepts-graft-inside-backoff"
        told = self.TEXT.format(quirk=name)
        in_order = told.replace("a: graft t1\n", "").replace("- a: prune t1\n", "")
        in_order = in_order.replace("status: open", "status: fixed")
        asked = BatchRequest(
            protocol="gossipsub-1.1",
            against="ours:regraft-taken",
            seed=0,
            runs=0,
            quirks=(name, "heartbeat-prunes-bare"),
            cover=((name, (in_order, told)[:cases]),),
        )
        assert run(asdict(asked))["covered"] == ([name] if covered else [])

    def test_the_one_without_which_the_case_departs_stays(self) -> None:
        found = self.campaign({"accepts-graft-inside-backoff": "gs1.0/a", "heartbeat-prunes-bare": "gs1.0/a"})
        settle(found)
        assert {root.quirk for root in found.roots.values()} == {"accepts-graft-inside-backoff"}


REJECTED_AND_ADVERTISED = """Does not send IWANT m17 to l.

format: 2
claim: score.weighted-sum
clause: gs1.1/score.weights
protocols: gossipsub-1.2
against: ours:nothing-decays
status: open
found by: hand
parameters: validation=manual scores.app_specific_weight=0.5 scores.t1.topic_weight=2.0
  scores.t1.invalid_message_deliveries_weight=-3.0
seed: 1695284704

join t1
connect h /meshsub/1.2.0 outbound
----
  h: subscribe t1

h: message m4 t1
verdict m4 reject
connect l /meshsub/1.2.0
----
  l: subscribe t1

l: message m4 t1
advance 2s
score l -11
l: ihave t1 m17
advance 500ms
----
- l: iwant m17
"""


@pytest.mark.parametrize(
    ("quirks", "perhaps"),
    [
        pytest.param((), False, id="nothing is known"),
        pytest.param(("lets-counters-of-score-stand-without-decay",), True, id="the score is free"),
        pytest.param(("leaves-topics-out-of-score",), False, id="the score is another one"),
    ],
)
def test_an_explanation_that_leaves_the_step_open_may_settle_a_case(
    quirks: tuple[str, ...], perhaps: bool
) -> None:
    """Whether the second copy of what was rejected counts is free, and without decay it still matters."""
    asked = BatchRequest(
        protocol="gossipsub-1.2",
        against="ours:nothing-decays",
        seed=0,
        runs=0,
        quirks=quirks,
        settle=(REJECTED_AND_ADVERTISED,),
    )
    assert run(asdict(asked)) == {"settled": [False], "perhaps_settled": [perhaps]}


def test_progress_is_shown_while_one_batch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: it is shown when a batch has ended, which may take minutes; runs count when theirs has ended,
    or twice."""
    enough, shown, counted = threading.Event(), list[tuple[str, float]](), list[int]()

    def goes_on(request: BatchRequest, workers: Workers) -> dict[str, Any]:
        workers.under_way[request.seed] = told = {**NOTHING, "runs": 1}
        assert enough.wait(60)
        return told

    def show(far: SoFar, what: str) -> None:
        shown.append((what, far.seconds))
        counted.append(far.runs)
        if len(shown) == 3:
            enough.set()

    monkeypatch.setattr("quidnunc.properties.search.campaign.run_batch", goes_on)
    monkeypatch.setattr("quidnunc.properties.search.campaign.SHOWN_EVERY_S", 0.01)
    run_campaign("floodsub", "ours", runs=1, progress=show)
    assert [what for what, _ in shown].count("searching") >= 3
    assert counted[2:] == [1] * len(counted[2:])
    assert shown[-1][0].startswith("comparing") and shown == sorted(shown, key=lambda each: each[1])
