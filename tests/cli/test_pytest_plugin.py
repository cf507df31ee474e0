"""Each `.case` file is one test, and its status says what passes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quidnunc import pytest_plugin
from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import Config
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.replays import replay as cases

pytest_plugins = ["pytester"]

KEPT = cases
"""Imported here, because every run of `pytester` forgets the modules that it was the first to import."""

ALONE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
"""Options of a run with few other plugins: each run loads them anew, which takes a second."""

CASE = """\
A mesh of D_high members is cut.

format: 1
claim: mesh.ceiling
clause: gs1.0/heartbeat.cut
protocol: gossipsub-1.2
against: {against}
status: {status}
quirk: cut-at-d-high
parameters: D=4 D_low=3 D_high=6 D_score=2 D_out=1

connect a..f /meshsub/1.2.0
join t1
a..f: graft t1
advance 500ms
----
+ a,b: prune t1 backoff=60
"""


def opener_of(router: str) -> Callable[[Config], WireSubject]:
    """Our routers alone, so that these tests hold wherever the kit is installed."""
    name, _, mutant = router.partition(":")
    if name != "ours":
        pytest.skip(f"{router}: pip install {router}")
    return lambda config: WireSubject(open_ours(config, mutant or None), config)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run pytest on one case."""
    monkeypatch.setattr(pytest_plugin, "opener_of", opener_of)

    def run_case(*options: str, text: str = CASE, **fields: str) -> pytest.RunResult:
        given = {"against": "ours:cut-at-d-high", "status": "open", **fields}
        (pytester.path / "cut.case").write_text(text.format(**given) if text is CASE else text)
        return pytester.runpytest(*ALONE, "-rsxfE", *options)

    return run_case


Run = Callable[..., pytest.RunResult]


def test_an_open_case_is_an_expected_failure(run: Run) -> None:
    result = run()
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(
        ["XFAIL cut.case::case - open: departs at `advance 500ms`: unexpected Prune*"]
    )


def test_a_repair_turns_an_open_case_red(run: Run) -> None:
    result = run(against="ours")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*cut.case: A mesh of D_high members is cut.",
            "*No longer reproduces: set the status*quidnunc replay*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_another_failure_turns_an_open_case_red(run: Run) -> None:
    result = run(against="ours:announce-to-topic")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*recorded: unexpected Prune*", "*A different failure from the recorded one*"]
    )


def test_runxfail_shows_an_open_case_as_a_failure(run: Run) -> None:
    result = run("--runxfail")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["----", "+ *: prune t1 backoff=60"])


@pytest.mark.parametrize("status", ["fixed", "suite"])
def test_what_must_hold(run: Run, status: str) -> None:
    run(status=status, against="ours").assert_outcomes(passed=1)
    result = run(status=status)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["against ours:cut-at-d-high: departs at `advance 500ms`*"])


def test_an_observed_reading_passes_while_it_is_seen(run: Run) -> None:
    run(status="observed").assert_outcomes(passed=1)
    run(status="observed", against="ours").assert_outcomes(failed=1)


def test_a_disputed_case_is_an_expected_failure(run: Run) -> None:
    run(status="disputed").assert_outcomes(xfailed=1)


def test_any_router_is_ours_and_an_option_replaces_it(run: Run) -> None:
    run(status="suite", against="any").assert_outcomes(passed=1)
    run("--quidnunc-against", "ours:cut-at-d-high", status="suite", against="any").assert_outcomes(failed=1)


def test_an_absent_router_skips_with_its_reason(run: Run) -> None:
    result = run(against="elsewhere 1.0")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*elsewhere: pip install elsewhere"])


def test_a_case_that_tells_nothing_fails(run: Run) -> None:
    text = CASE.format(against="ours", status="suite").replace("advance 500ms\n", "g: graft t1\n")
    result = run(text=text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*`g: graft t1` could not happen*", "The case was inconclusive*"])


def test_a_bad_file_is_one_failure_with_its_line(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "good.case").write_text(CASE.format(against="ours", status="suite"))
    result = run(status="closed")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*cut.case:8: expected a status: open or fixed*got 'closed'"])
    assert "Traceback" not in result.stdout.str()


def test_a_link_out_of_the_folder_is_not_read_unless_it_is_named(run: Run, pytester: pytest.Pytester) -> None:
    """What is in a folder may be a stranger's, and the log of a build is read by many."""
    outside = pytester.path.parent / "outside.case"
    outside.write_text("a secret")
    (pytester.path / "link.case").symlink_to(outside)
    found = run(against="ours", status="suite")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["*link.case: a link out of *: name what it leads to*"])
    assert "secret" not in found.stdout.str()
    outside.write_text(CASE.format(against="ours", status="suite"))
    run("link.case", against="ours", status="suite").assert_outcomes(passed=1)


def test_a_broken_driver_is_named(run: Run) -> None:
    result = run(against="ours:no-such-mutant")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*cut.case: ours:no-such-mutant: ours has no pubsub mutant*"])


def test_ids(run: Run, pytester: pytest.Pytester) -> None:
    result = run("--collect-only", "-q")
    result.stdout.fnmatch_lines(["cut.case::case"])
    pytester.runpytest("cut.case::case", *ALONE).assert_outcomes(xfailed=1)


def test_routers_are_opened_by_name(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(pytester.path / "cache"))
    texts = {
        "ours": CASE.format(against="any", status="suite"),
        "mutant": CASE.format(against="ours:cut-at-d-high", status="open"),
        "absent": CASE.format(against="rust-libp2p 1.0", status="open"),
        "unbuilt": CASE.format(against="py-libp2p@0.4.0", status="open"),
        "default": CASE.format(against="js-libp2p 17.1.1", status="open"),
        "unknown": CASE.format(against="nobody-knows-it", status="open"),
    }
    for name, text in texts.items():
        (pytester.path / f"{name}.case").write_text(text)
    result = pytester.runpytest(*ALONE, "-rs")
    result.assert_outcomes(passed=1, xfailed=1, skipped=3, failed=1)
    result.stdout.fnmatch_lines(
        ["*no router 'nobody-knows-it': there are ours*", "SKIPPED*rust-libp2p: no adapter*"]
    )
    result.stdout.fnmatch_lines(["SKIPPED*to build it: quidnunc routers build py-libp2p@0.4.0"])
    result.stdout.fnmatch_lines(["SKIPPED*js-libp2p: not built here*quidnunc routers build js-libp2p*"])


def test_nothing_of_the_kit_is_loaded_without_a_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            assert "quidnunc.pytest_plugin" in sys.modules
            assert not [m for m in sys.modules if m.startswith(("quidnunc.model", "quidnunc.impl"))]
        """
    )
    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=1)


@pytest.mark.parametrize("said", [None, "0", "5"])
def test_somebody_elses_router_in_python_has_the_hash_seed_of_a_search(said: str | None) -> None:
    """Whatever the environment says by then: what counts is what the process runs with."""
    ask = (
        "import os, sys\n"
        "os.environ['PYTHONHASHSEED'] = '7' if os.environ.get('PYTHONHASHSEED') == '0' else '0'\n"
        "from quidnunc.pytest_plugin import apart\n"
        "print(*map(apart, ('py-libp2p', 'python:my_router:open_it', 'ours:echo')), sep='\\n')\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
    environment |= {"PYTHONHASHSEED": said} if said else {}
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    released, mine, ours = done.stdout.splitlines()
    assert ours == "ours:echo"
    if said == "0":
        assert (released, mine) == ("py-libp2p", "python:my_router:open_it")
    else:
        assert released.endswith("quidnunc.impl.sidecar_host py-libp2p")
        assert "PYTHONHASHSEED=0" in mine


# -- changes in behaviour -----------------------------------------------------------------------------------

PAIR = ("gossipsub-1.2-draft", "gossipsub-1.2")
BASELINE = Path(__file__).parents[2] / "counterexamples" / "regress" / "--".join((*PAIR,))
DECLARED = BASELINE.with_name(f"{BASELINE.name}.toml")


def test_a_declared_change_passes_and_stands_in_the_junit_file(pytester: pytest.Pytester) -> None:
    junit = pytester.path / "junit.xml"
    result = pytester.runpytest(*ALONE, "--quidnunc-regress", *PAIR, str(DECLARED), f"--junitxml={junit}")
    result.assert_outcomes(passed=1)
    text = junit.read_text(encoding="utf-8")
    assert 'name="relay/who_said_idontwant" value="newly-forbidden, ' in text


def test_an_undeclared_change_and_one_that_is_gone_fail(pytester: pytest.Pytester) -> None:
    entries = DECLARED.read_text(encoding="utf-8").split("[[expect]]")
    [skip] = [e for e in entries if 'cause = "relay/who_said_idontwant"' in e]
    others = [e for e in entries if e is not skip]
    renamed = skip.replace('verdict = "newly-forbidden"', 'verdict = "newly-obligatory"')
    (pytester.path / "changes.toml").write_text("[[expect]]".join([*others, renamed]), encoding="utf-8")
    result = pytester.runpytest(*ALONE, "--quidnunc-regress", *PAIR, "changes.toml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "undeclared: newly-forbidden: *(relay/who_said_idontwant)",
            "*- a: message m1 t1",
            "declared, but does not occur: relay/who_said_idontwant newly-obligatory",
        ]
    )


def test_the_fixture_fails_the_test_that_calls_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_nothing_is_declared(quidnunc_regress):
            quidnunc_regress({PAIR[0]!r}, {PAIR[1]!r}, walks=4)

        def test_nothing_differs(quidnunc_regress):
            quidnunc_regress({PAIR[1]!r}, {PAIR[1]!r})

        def test_no_such_file(quidnunc_regress):
            quidnunc_regress({PAIR[1]!r}, {PAIR[1]!r}, expect="absent.toml")
        """
    )
    result = pytester.runpytest(*ALONE)
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["undeclared: newly-forbidden: *", "*absent.toml: No such file*"])
