"""The page of `quidnunc report`, and the text for an issue."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attrs import evolve, field, mutable

from quidnunc.impl.drivers.js_libp2p import builds
from quidnunc.model.events import Crashed, Receive
from quidnunc.output import UsageError
from quidnunc.properties.cases.case import Case, CaseBlock, CaseOutput
from quidnunc.properties.cases.deciding import names_in_play
from quidnunc.properties.cases.file import load, parse, render
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.properties.documents.clauses import load as clauses
from quidnunc.reports.pages.finding import PACKAGES, VERDICTS, WITHHELD, finding_of
from quidnunc.reports.pages.links import place_of, slug
from quidnunc.reports.pages.markdown import CHOICES, Reproduction, heading, issue_of, lean, words
from quidnunc.reports.pages.page import ReportContent, content_of, content_of_json, page_of, results_of_cases
from quidnunc.reports.pages.sequence import sequence_of
from quidnunc.reports.reproductions.catalogue import language_of, reproduction_of
from tests.conftest import Command

ROOT = Path(__file__).parents[3]
CASES = ROOT / "counterexamples"
GO = CASES / "routers" / "go-libp2p-pubsub"
SHARED = CASES / "routers" / "py-libp2p" / "gs1.0.mesh.members.control-lists-shared.case"
CUT = GO / "gs1.0.heartbeat.cut.cut-at-d-high.case"
NETWORK = CASES / "networks" / "mesh.graft-is-symmetric.gossipsub-1.0.case"
VOID = frozenset({"meta", "link", "line", "circle", "path", "rect", "br", "input"})


@mutable
class Page:
    """What a browser finds in a page."""

    ids: list[str] = field(factory=list)
    links: list[str] = field(factory=list)
    loaded: list[str] = field(factory=list)
    tags: list[str] = field(factory=list)
    open: list[str] = field(factory=list)


def read(text: str) -> Page:
    """Parse a page. Fails where its elements are not closed in their order."""
    page = Page()
    parser = HTMLParser()

    def start(tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        page.tags.append(tag)
        page.ids += [named["id"] or ""] if "id" in named else []
        page.links += [named["href"] or ""] if tag == "a" else []
        page.loaded += [named[name] or "" for name in ("src", "srcset", "data") if name in named]
        page.loaded += [named["href"] or ""] if tag == "link" else []
        if tag not in VOID:
            page.open.append(tag)

    def alone(tag: str, attributes: list[tuple[str, str | None]]) -> None:
        start(tag, attributes)
        end(tag)

    def end(tag: str) -> None:
        if tag not in VOID:
            assert page.open.pop() == tag

    parser.handle_starttag, parser.handle_endtag = start, end  # type: ignore[method-assign]
    parser.handle_startendtag = alone  # type: ignore[method-assign]
    parser.feed(text)
    return page


@pytest.fixture(scope="module")
def text() -> str:
    return page_of(content_of([GO, SHARED, NETWORK]))


def test_the_page_stands_alone(text: str) -> None:
    page = read(text)
    # One has the frames of the network's picture, the other moves its slider.
    assert page.open == [] and page.tags.count("script") == 2
    assert page.loaded == ["data:,"] and "@import" not in text
    assert {*re.findall(r"url\([^)]*\)", text)} == {"url(#arrow)"}
    assert len(text) < 3_000_000


def test_its_links_lead_somewhere(text: str) -> None:
    page = read(text)
    assert len(page.ids) == len({*page.ids})
    assert {link[1:] for link in page.links if link.startswith("#")} <= {*page.ids}
    outside = {link for link in page.links if not link.startswith("#")}
    assert outside and all(link.startswith("https://github.com/") for link in outside)


def test_it_tells_each_case(text: str) -> None:
    for path in (*GO.rglob("*.case"), SHARED, NETWORK):
        case = load(path)
        assert f"<code>{case.clause}</code>" in text and f"{path.name}" in text
    assert text.count("<article") == len([*GO.rglob("*.case")]) + 2
    assert text.count('role="img"') == text.count("<article") + 1, "a diagram each, and one network"


def test_a_page_of_routers_alone_has_no_script() -> None:
    assert "script" not in read(page_of(content_of([SHARED]))).tags


def test_every_verdict_has_a_sign_and_words(text: str) -> None:
    for word in re.findall(r'class="verdict (\S+)"', text):
        assert word in VERDICTS
    assert not re.search(r'<span aria-hidden="true">·</span>', text)


def test_it_follows_the_scheme_of_the_reader_and_prints(text: str) -> None:
    assert "prefers-color-scheme: dark" in text and "@media print" in text and "max-width: 44rem" in text
    assert text.count('tabindex="0"') >= text.count('role="img"')


def test_what_a_file_says_is_no_markup() -> None:
    case = evolve(load(SHARED), reason="<script>alert(1)</script> & `x`")
    page = page_of(ReportContent(results=results_of_cases([case])))
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_expected_and_observed_are_beside_each_other() -> None:
    finding = finding_of(load(SHARED))
    assert [each.text for each in finding.expected] == ["a: graft t1", "b: graft t2"]
    assert [(each.text, each.side) for each in finding.observed][-1] == ("b: graft t1", "router")


def test_lanes_are_of_peers_that_do_the_same() -> None:
    diagram = sequence_of(load(CUT))
    assert diagram.lanes == ("application", "router", "b,f", "c", "d,e,g", "h")
    (step,) = diagram.diverging
    assert (step.at_ms, step.sources, step.targets) == (500, ("router",), ("b,f",))
    assert diagram.steps[0].text == "join t2"


def test_every_committed_case_has_a_diagram() -> None:
    """The steps of each are those of the file; some lane has each of them."""
    for path in sorted(CASES.rglob("*.case")):
        case = load(path)
        diagram = sequence_of(case)
        assert len(diagram.steps) >= sum(len(block.events) for block in case.blocks), path
        for step in diagram.steps:
            assert {*step.sources, *step.targets} <= {*diagram.lanes}, path
        assert bool(diagram.diverging) == any(block.departs for block in case.blocks), path


def test_a_crash_is_told_without_its_events(tmp_path: Path) -> None:
    crash = _crash()
    page = page_of(ReportContent(results=results_of_cases([crash])))
    for text in (page, issue_of(crash)):
        assert WITHHELD.partition(".")[0] in text
        assert "graft t1" not in text and "KeyError" not in text and "connect a" not in text
    own = evolve(crash, against="ours:echo")
    assert "graft t1" in issue_of(own)


def _crash() -> Case:
    case = load(SHARED)
    last = next(event for block in case.blocks for event in block.events if isinstance(event, Receive))
    shown = CaseOutput("router", Crashed("KeyError: t1"))
    return evolve(
        case,
        reason="Crashes at a, which says graft t1.",
        blocks=(case.blocks[0], CaseBlock((last,), (shown,))),
    )


def test_a_sentence_leads_to_its_heading() -> None:
    place = place_of("gs1.1/backoff.regraft")
    assert place is not None
    assert place.url.endswith("/pubsub/gossipsub/gossipsub-v1.1.md#prune-backoff-and-peer-exchange")
    assert slug("P₃ and P₃b: Mesh Message Delivery") == "p₃-and-p₃b-mesh-message-delivery"
    both = place_of("dog/havetx.to-sender")
    assert both is not None and both.url.endswith("/dog.md"), "of two documents the one that the clause is of"
    assert place_of("no/such") is None
    assert all(place_of(name) is not None for name in clauses())


def test_what_the_text_leaves_open_is_told_as_one_reading() -> None:
    text = issue_of(
        load(CASES / "routers" / "py-libp2p" / "gs1.0.mesh.members.unsubscribed-stays-in-mesh.case")
    )
    assert "what the specification leaves open" in text and "NOT BY THAT READING: message m1 t1" in text
    assert "NOT ALLOWED" not in text and "By that reading, at that point: a is not in the mesh" in text
    assert "NOT BY THAT READING" not in issue_of(load(SHARED))


def test_the_issue_has_what_a_maintainer_needs() -> None:
    text = issue_of(load(SHARED))
    assert text.startswith(
        "## A heartbeat sends a peer the GRAFTs that are meant for another peer, because both"
    )
    assert "`libp2p 0.8.1`" in text and "https://github.com/libp2p/specs/" in text
    assert "p1->>p3: NOT ALLOWED: graft t1" in text
    assert "participant p3 as peer b" in text
    assert "Reproduced in 10 of 10 replays" in text
    fence = re.search(r"finding.case`:\n\n```\n(.*)```\n", text, re.DOTALL)
    assert fence and parse(fence[1]).blocks == load(SHARED).blocks


def test_an_issue_says_what_the_router_does_where_the_cause_is_unknown() -> None:
    known = load(GO / "gs1.1.backoff.regraft.backoff-overflows-2-63-ns.case")
    text = issue_of(evolve(known, quirk="", reason="No single edit of the specification predicts it."))
    assert text.startswith("## Does not send what is due: a: prune t3 backoff=60\n")
    js = CASES / "routers" / "js-libp2p"
    text = issue_of(load(js / "gs1.0.publish.fanout.unexplained.choice.case"))
    due = "## Chooses only 3 of the peers of the fanout at `publish m2 t3 size=600`, where at least 4 are due"
    assert text.startswith(due) and "Nearest: Treats all peers as floodsub peers" in text
    chosen = load(js / "gs1.1.heartbeat.keep-best.cut-keeps-d-outbound.case")
    text = issue_of(evolve(chosen, quirk="", reason="No single edit of the specification predicts it."))
    assert text.startswith("## Chooses 5 members to prune, and not those that the clause demands\n")


def test_an_issue_expects_that_nothing_else_is_sent() -> None:
    expected = issue_of(load(SHARED)).split("### Expected\n")[1].split("### Observed")[0]
    assert re.search(r"^- does not send `graft t1` to b$", expected, re.MULTILINE), expected


def test_an_issue_says_of_what_came_too_often_that_it_is_one_more() -> None:
    case = CASES / "routers" / "py-libp2p" / "gs1.0.fanout.expire.fanout-ttl-in-whole-seconds.case"
    text = issue_of(load(case))
    assert "- sends `ihave t2 m2` to a\n- does not send `ihave t2 m2` to a again\n" in text
    assert "- **sends `ihave t2 m2` to a once more**\n" in text


def test_an_issue_explains_the_words_of_its_messages_and_no_others() -> None:
    text = issue_of(load(GO / "pubsub.signing.reject.flawed-overlooks-no-seqno.case"))
    assert "`no-seqno`: it lacks the sequence number." in text and "`unsigned`:" not in text
    assert "`by self`" not in issue_of(load(SHARED))


def test_what_an_issue_explains_is_in_its_case() -> None:
    """Every word that it puts in code, and nothing that another case has."""
    for path in sorted((CASES / "routers").rglob("*.case")):
        case = load(path)
        said = render(case)
        told = re.findall(r"`([^`]+)`", words(case))
        assert not [each for each in told if each not in said], path


def test_an_issue_of_a_mempool_speaks_of_transactions() -> None:
    text = issue_of(load(CASES / "routers" / "cometbft" / "flood.send.once.sends-without-end.case"))
    assert "t, u are transactions." in text and "(its default gossip, without DOG)" in text
    assert "- does not send `tx t` to a again\n" in text
    assert "- **sends `tx t` to a, 2 more times**\n" in text
    assert "GRAFT" not in text and "messages" not in words(load(SHARED))


def test_a_second_sentence_is_cited_where_it_forbids_what_is_shown() -> None:
    """The weights of a score forbid no message; a threshold does, and that members are not churned forbids a
    PRUNE."""
    scored = "gs1.1.score.first-deliveries.first-delivery-counted-twice.case"
    case = load(CASES / "routers" / "js-libp2p" / scored)
    counted, threshold = "gs1.1/score.first-deliveries", "gs1.1/threshold.publish"
    assert [each.clause.id for each in finding_of(case).sentences] == [counted, threshold]
    of_weights = evolve(case, argument=sentence_of("gs1.1/score.weights"))
    assert [each.clause.id for each in finding_of(of_weights).sentences] == [counted]
    assert "departs first" not in issue_of(of_weights)
    cut = issue_of(load(CUT))
    assert "This run departs first from:" in cut
    assert finding_of(load(CUT)).sentences[1].clause.id == "gs1.0/heartbeat.no-churn"


def test_an_issue_says_of_words_that_are_ours_that_the_text_implies_them() -> None:
    assert "> The specification implies: Members of a mesh are gossipsub peers" in issue_of(load(SHARED))
    assert "> “Action disseminateNextTx models" in issue_of(
        load(CASES / "routers" / "cometbft" / "flood.send.once.sends-pool-again.case")
    )


def test_an_issue_does_not_say_that_a_router_was_given_a_limit_that_it_does_not_have() -> None:
    case = (
        CASES
        / "routers"
        / "py-libp2p"
        / "gs1.1.ihave.caps.ihave-beyond-caps-max-ihave-length-as-endless.case"
    )
    said = "`max_ihave_length=12`: libp2p has no such limit; the specification wants one."
    assert said in issue_of(load(case))
    assert "no such limit" not in issue_of(evolve(load(case), against="go-libp2p-pubsub 0.19.0"))


def test_an_issue_is_without_the_names_of_the_kit() -> None:
    """But for the case, which a replay needs."""
    for path in sorted((CASES / "routers").rglob("*.case")):
        told = issue_of(load(path)).partition("With quidnunc: ")[0].partition("Save this as `finding")[0]
        for kit in ("as built", "default, decides", "the driver lifts", "No single edit", "quirk"):
            assert kit not in told, (path, kit)
        heading = told.partition("\n")[0]
        assert not [each for each in re.findall(r"\((\S+/\S+)\)", heading) if each in clauses()], heading


def test_the_heading_of_many_results_has_no_versions() -> None:
    routers = [CASES / "routers" / name for name in ("py-libp2p", "js-libp2p", "go-libp2p-pubsub")]
    assert content_of(routers).heading == "py-libp2p, js-libp2p, go-libp2p-pubsub"
    assert content_of([GO]).heading == "go-libp2p-pubsub 0.19.0, go-libp2p-pubsub@0.16.0"


def test_what_a_case_says_is_no_markdown() -> None:
    case = evolve(load(SHARED), reason="<img src=x> @everybody [link](x) ```")
    text = issue_of(case)
    assert not re.search(r"(?<!\\)<img", text.partition("finding.case")[0])
    assert "@everybody" not in text.partition("````")[0]
    assert "````\n<img" in text


def test_every_case_of_a_router_makes_an_issue() -> None:
    for path in sorted((CASES / "routers").rglob("*.case")):
        text = issue_of(load(path))
        assert text.startswith("## ") and ("```mermaid" in text) != (WITHHELD in text), path


def test_the_command_writes_a_page(quidnunc: Command, tmp_path: Path) -> None:
    ran = quidnunc("report", SHARED, "-o", tmp_path / "page.html")
    assert ran.code == 0 and "because both share one list" in (tmp_path / "page.html").read_text("utf-8")
    ran = quidnunc("report", SHARED, "--markdown")
    case = load(SHARED)
    language = language_of(case)
    told = (language.name, language.file, language.place_for(case), language.command_of(case))
    assert ran.out == issue_of(case, Reproduction(reproduction_of(case), *told))


def test_check_and_replay_write_the_page_too(quidnunc: Command, tmp_path: Path) -> None:
    page, again = tmp_path / "check.html", tmp_path / "again.html"
    ran = quidnunc("check", "floodsub", "--against", "ours:echo", "--runs", 5, "--json", "--report", page)
    assert ran.code == 1
    result = tmp_path / "result.json"
    result.write_text(ran.out, encoding="utf-8")
    assert quidnunc("report", result, "-o", again).code == 0
    for path in (page, again):
        text = path.read_text("utf-8")
        assert "Not checked" in text and ran.data["root_causes"][0]["quirk"] in text
    replayed = tmp_path / "replay.html"
    quidnunc("replay", CASES / "mutants" / "announce-to-topic.case", "--report", replayed)
    assert "Replayed on ours:announce-to-topic: same" in replayed.read_text("utf-8")


def test_a_matrix_leads_to_its_root_causes(quidnunc: Command) -> None:
    ran = quidnunc("check", "floodsub", "--against", "ours:echo", "--runs", 5, "--json")
    column = {"name": "ours:echo", "title": "ours:echo 1", "broken": "", "report": ran.data}
    lost = {"name": "gone", "title": "gone", "broken": "it <ended>", "report": None}
    cells = {"relay.not-back": ["fails 1", "broken"], "hello.complete": ["not-refuted 3", "broken"]}
    matrix = {"protocol": "floodsub", "routers": [column, lost], "claims": cells}
    made = {"schema": 2, "matrices": [{**matrix, "unspoken": {"c": ["dog", "flood"]}}]}
    content = content_of_json(made, "matrix.json")
    assert [row[0] for row in content.matrices[0].telling] == ["relay.not-back"]
    text = page_of(content)
    assert 'href="#cause-ours-echo-1-floodsub-1">1</a>' in text and "it &lt;ended&gt;" in text
    assert "c does not speak it; it speaks dog, flood." in text
    page = read(text)
    assert {link[1:] for link in page.links if link.startswith("#")} <= {*page.ids}


@pytest.mark.parametrize(
    "found", [[], {}, {"schema": 1, "replays": []}, {"matrices": 3}, {"routers": 3}, 7, {"reports": [{}]}]
)
def test_another_json_is_refused(found: object, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(UsageError, match="other.json is no result of `quidnunc check --json`"):
        content_of([path])


def test_what_is_no_report_is_refused(quidnunc: Command, tmp_path: Path) -> None:
    assert quidnunc("report", tmp_path / "none.case").code == 2
    assert "contains no .case file" in quidnunc("report", tmp_path).err
    assert "name one .case file" in quidnunc("report", GO, "--markdown").err
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    assert "is not JSON" in quidnunc("report", broken).err


def test_a_page_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.reports.pages.page.MAX_PAGE_BYTES", 5_000)
    with pytest.raises(UsageError, match="name fewer cases"):
        page_of(content_of([SHARED]))


WRONG = CASES / "routers" / "js-libp2p" / "gs1.0.join.fill.twice-build-mesh.case"


def test_an_explanation_that_is_known_to_be_wrong_is_not_repeated() -> None:
    case = load(WRONG)
    page, issue = page_of(ReportContent(results=results_of_cases([case]))), issue_of(case)
    for text in (page, issue):
        assert case.quirk not in text.replace(WRONG.name, "") and case.reason not in text
        assert "keeps no backoff for a member of v1.0, so that JOIN grafts it again at once" in text
    assert issue.startswith("## LEAVE keeps no backoff")
    assert "Its peers see: " in issue and "l: graft t3" in issue


def test_the_defaults_of_parameters_are_said_to_be_ours() -> None:
    case = load(GO / "gs1.1.ihave.caps.ihave-cap-counts-control.case")
    found, issue = finding_of(case), issue_of(case)
    assert "quidnunc's default" not in issue
    assert "- `GossipSubMaxIHaveMessages = 4` (default: `10`)" in issue
    without = finding_of(evolve(case, against="python 1.0"))
    assert any("(quidnunc's default: 10)" in each for each in without.configuration.matters)
    assert found.case.notes and not any("default" in note for note in found.notes), "no parameter twice"


def test_when_it_was_is_told_with_what_was_so_then_or_not_at_all() -> None:
    with_facts = finding_of(
        load(CASES / "routers" / "js-libp2p" / "gs1.0.relay.mesh.accepted-late-not-relayed.case")
    )
    assert with_facts.notes[0].startswith(
        "By the specification, at that point, 5.5 s after the start: g is in the mesh"
    )
    bare = finding_of(load(GO / "gs1.0.ihave.any-topic.ihave-of-own-topics-alone.case"))
    assert any("after its start" in note for note in bare.case.notes)
    assert not any("after its start" in note for note in bare.notes)


def test_what_a_choice_at_fault_sent_is_not_expected() -> None:
    cut = CASES / "routers" / "js-libp2p" / "gs1.1.heartbeat.keep-best.cut-keeps-d-outbound.case"
    assert [each.text.split(":")[0] for each in finding_of(load(cut)).expected] == ["another choice mesh.cut"]


def test_an_issue_tells_a_choice_in_words() -> None:
    text = issue_of(
        load(CASES / "routers" / "js-libp2p" / "gs1.1.heartbeat.keep-best.cut-keeps-d-outbound.case")
    )
    told = text.partition("<details>")[0]
    assert "- makes another choice of the members that the cut keeps, one that follows the" in told
    assert "Note over p1: NOT ALLOWED: this choice of the members that the cut keeps\n" in told
    assert "- **sends `prune t1 backoff=60` to a..d,f**\n" in told
    assert "mesh.cut" not in told and "as the clause demands" not in told
    pruned = issue_of(
        load(CASES / "routers/py-libp2p/gs1.1.prune.unknown-topic.prune-of-unknown-topic-backs-off.case")
    )
    assert "- **chooses no peers to graft, where one is due**\n- sends" in pruned
    assert "By that reading, the run departs from this sentence:" in pruned
    cases = "".join(path.read_text("utf-8") for path in (CASES / "routers").rglob("*.case"))
    for name in re.findall(r"choice ([a-z.]+): ", cases):
        assert name in CHOICES, name


def test_an_issue_calls_settings_as_the_router_does() -> None:
    js = CASES / "routers" / "js-libp2p" / "gs1.1.heartbeat.keep-best.cut-keeps-d-outbound.case"
    text = issue_of(load(js))
    for line in ("`D = 4` (default: `6`)", "`Dhi = 6` (", "`Dscore = 2` (", "`Dout = 1` ("):
        assert f"- {line}" in text, line
    assert "By default, and decisive here: `pruneBackoff = 60000`." in text
    py = next((CASES / "routers" / "py-libp2p").glob("gs1.1.outbound.inbound-refused.*"))
    issue = issue_of(load(py))
    assert "- `degree_high = 2` (no default)\n" in issue and "All connections are inbound" in issue
    assert "- has not sent `prune t1 backoff=60` to c\n" in issue


def test_the_case_of_an_issue_has_what_a_replay_needs_and_no_more() -> None:
    for path in sorted((CASES / "routers").rglob("*.case")):
        case = load(path)
        shown = render(lean(case))
        assert parse(shown).blocks == case.blocks and parse(shown).parameters == case.parameters, path
        for kit in ("quirk:", "argument:", "found by:", "control:", "reproduced:", "explanation:", "# "):
            assert not any(line.startswith(kit) for line in shown.splitlines()), (path, kit)


def test_an_issue_says_how_to_get_the_kit_and_the_release() -> None:
    text = issue_of(load(SHARED))
    assert "Install it with `pip install .` in a clone of quidnunc, and" in text
    assert "`quidnunc routers build py-libp2p@0.8.1`" in text
    assert "routers build" not in issue_of(evolve(load(SHARED), against="python 1.0"))


def test_an_issue_shows_first_what_of_the_test_is_of_this_finding() -> None:
    text = "prelude\n# -- this finding -----\n\n\ndef test_it():\n    assert False\n"
    issue = issue_of(load(SHARED), Reproduction(text, "python", "test_finding.py", "here", "pytest it"))
    shown, _, _ = issue.rpartition("<details><summary>To replay")
    before, _, folded = shown.rpartition("<details>")
    assert "```python\ndef test_it():\n    assert False\n```\n" in before and "prelude" not in before
    assert "as `test_finding.py` here, and run `pytest it` there:" in before
    assert folded.startswith("<summary>The whole file, <code>test_finding.py</code>") and "prelude" in folded


def test_the_sentence_that_a_rule_decides_for_too_is_cited_alone() -> None:
    found = finding_of(load(GO / "pubsub.signing.reject.flawed-overlooks-no-seqno.case"))
    assert [each.clause.id for each in found.sentences] == ["pubsub/signing.strict-required"]


def test_the_heading_of_an_issue_is_without_the_peers_of_the_run() -> None:
    assert heading("Grafts peers (peer b, topic t1) at once.") == "Grafts peers at once."
    assert heading("Delivers `seqno` (or D_out, _so_).") == r"Delivers `seqno` (or D_out, \_so\_)."
    assert heading("Removes it from mesh[topic], [here](x).") == r"Removes it from mesh[topic], \[here](x)."


def test_an_issue_says_that_additions_were_off() -> None:
    spec = next(
        c for c in map(load, sorted((CASES / "routers" / "js-libp2p").glob("*.case"))) if c.profile == "spec"
    )
    assert "with what the router adds to the protocol switched off) " in issue_of(spec)
    shipped = load(CASES / "routers" / "js-libp2p" / "gs1.0.relay.mesh.accepted-late-not-relayed.case")
    assert "switched off) " not in issue_of(shipped).partition("\n>")[0]


def test_a_router_of_your_own_is_to_be_named() -> None:
    case = evolve(load(SHARED), against="python 1.0", path="<text>")
    issue = issue_of(case)
    assert "run `quidnunc replay finding.case --against python:MODULE:FACTORY`" in issue
    assert "quidnunc replay finding.case --against" not in issue_of(load(SHARED))


@pytest.mark.parametrize(
    ("against", "package"),
    [
        ("js-libp2p 17.1.1", "@libp2p/gossipsub 17.1.1"),
        ("js-libp2p@14.1.1", "@chainsafe/libp2p-gossipsub 14.1.1"),
        ("py-libp2p 0.8.1", "libp2p 0.8.1"),
        ("go-libp2p-pubsub 0.19.0", "github.com/libp2p/go-libp2p-pubsub 0.19.0"),
        ("cometbft 2.0.0-rc1", "github.com/cometbft/cometbft/v2 2.0.0-rc1"),
        ("exec 3.1", "exec 3.1"),
    ],
)
def test_an_issue_names_the_package_that_its_users_have(against: str, package: str) -> None:
    assert finding_of(evolve(load(WRONG), against=against)).package == package


def test_the_packages_of_js_are_those_that_are_built() -> None:
    assert PACKAGES["js-libp2p"] == builds.PACKAGES


def test_a_setting_that_no_rule_of_the_run_reads_is_left_out() -> None:
    """Nothing is published where one peer is told of another's topic."""
    case = load(SHARED)
    read = names_in_play(case)
    assert read is not None and "d" in read and "flood_publish" not in read
    assert "flood_publish" in str(case.notes) and "flood" not in str(finding_of(case).configuration)
    other = evolve(case, parameters=evolve(case.parameters, d=5, d_out=1))
    assert finding_of(other).configuration.matters[0] == "`degree = 5` (no default)"
    own = finding_of(evolve(other, against="python 1.0")).configuration.matters
    assert own[0] == "`D=5` (quidnunc's default: 6): How many members a mesh should have."
    assert "flood" not in str(own)
    # Of a run in which the router chose, not all outputs are in the case.
    choice = CASES / "routers" / "js-libp2p" / "gs1.0.publish.fanout.unexplained.choice.case"
    assert names_in_play(load(choice)) is None


def test_what_is_expected_is_not_shown_as_a_failure(quidnunc: Command, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    asked = ("check", "gossipsub-1.2", "--against", "ours:echo", "--runs", "12", "--workers", "1")
    quidnunc(*asked, "--expect", known, "--update-expect", "--cases", tmp_path / "cases")
    page = tmp_path / "page.html"
    assert quidnunc(*asked, "--expect", known, "--report", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert 'class="verdict expected"' in text and 'class="verdict fails"' not in text
    assert "is listed in the file of expectations: it violates the specification" in text


def test_a_print_leaves_out_what_is_folded() -> None:
    page = page_of(ReportContent(results=results_of_cases([load(WRONG)])))
    printed = page[page.index("@media print") :]
    assert "details > :not(summary) { display: none; }" in printed
