"""Cases read what they wrote, and say where they are wrong and what was expected there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings

from quidnunc.model.errors import CaseError
from quidnunc.model.events import Advance, Receive
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Graft
from quidnunc.properties.cases.case import (
    Case,
    CaseBlock,
    RefusedRouterError,
    against_text,
    command_of,
    events_of,
    own_kind,
    parameters_of,
    replay_command,
    router_of,
)
from quidnunc.properties.cases.file import MAX_BYTES, MAX_ERRORS, MAX_LINES, load, parse, render
from tests.helpers.case_values import cases

TEXT = """\
A GRAFT inside the backoff is refused
with a PRUNE.

format: 2
claim: backoff.regraft-refused
clause: gs1.1/backoff.regraft
protocols: gossipsub-1.2 gossipsub-1.1
against: py-libp2p 0.8.1
status: open
quirk: backoff-in-whole-seconds
argument: the sentence says MUST
  and names no rounding
parameters: D=4 D_low=3 explicit=b,e message_id=content flood_publish=no
reproduced: 2/3

connect a..d /meshsub/1.2.0 outbound
a..d: subscribe t1
join t1
----
  a..d: graft t1

a: prune t1 backoff=5
----

a: graft t1
----
  a: subscribe t2
- a: prune t1 backoff=60
+ a: prune t1
= b: message m1 t1
~ c,d: ihave t1 m1 m2
"""


@settings(max_examples=60)
@given(cases())
def test_cases_round_trip(case: Case) -> None:
    text = render(case)
    assert parse(text) == case
    assert render(parse(text)) == text


def test_a_case_reads_as_it_is_written() -> None:
    case = parse(TEXT, path="a.case")
    assert case.path == "a.case"
    assert case.reason == "A GRAFT inside the backoff is refused with a PRUNE."
    assert case.argument == "the sentence says MUST and names no rounding"
    assert case.reproduced == (2, 3)
    assert case.seed == 0
    assert parameters_of(case) == Parameters(
        d=4, d_low=3, explicit_peers=frozenset({2, 5}), message_id="content", flood_publish=False
    )
    assert events_of(case)[-1] == Receive((1,), (Graft("t1"),))
    assert [block.departs for block in case.blocks] == [False, False, True]
    assert [each.side for each in case.blocks[2].shown] == ["both", "model", "router", "later", "may", "may"]


def test_a_case_says_what_is_known_of_it_and_has_notes() -> None:
    more = "control: not asked\nreproduced: 2/3\n\n# It departs\n#   at once.\n#\n# D=4\n"
    case = parse(TEXT.replace("reproduced: 2/3\n", more))
    assert (case.control, case.reproduced) == ("not asked", (2, 3))
    assert case.notes == ("It departs at once.", "", "D=4")
    assert parse(render(case)) == case
    assert evolve(case, control=None, notes=()) == parse(TEXT)
    for wrong, said in (
        ("control: holds", "expected control: passes or departs or not asked, got 'holds'"),
        ("reproduced: 2/3\n\n# D=4\nno note", r"expected a note \(`# TEXT`\) or a blank line, got 'no note'"),
    ):
        with pytest.raises(CaseError, match=said):
            parse(TEXT.replace("reproduced: 2/3", wrong))


def test_writing_is_idempotent_and_normalises() -> None:
    text = render(parse(TEXT.replace("\n\na: prune", "\n\n\n\na:   prune").replace("a..d", "a,b,c..d")))
    assert render(parse(text)) == text
    assert "\n\na: prune t1 backoff=5\n----\n\n" in text
    assert "connect a..d /meshsub/1.2.0 outbound\n" in text


def test_numbers_that_a_driver_fixes() -> None:
    fixed = Parameters(flood_publish=0, seen_ttl_ms=30_000.0)  # type: ignore[arg-type]
    case = evolve(parse(TEXT), parameters=fixed)
    assert "parameters: seen_ttl_ms=30000 flood_publish=no\n" in render(case)
    assert parse(render(case)) == case


def test_a_mempool_case() -> None:
    text = TEXT.replace("gossipsub-1.2 gossipsub-1.1", "dog").replace(
        "D=4 D_low=3 explicit=b,e message_id=content flood_publish=no", "pool_size=3"
    )
    head, _, _ = text.partition("connect")
    case = parse(
        head.replace("status: open", "status: fixed")
        + "connect a,b mempool\nsubmit x1\na: tx x2; havetx x1; resetroute\nadjust\ncommit x1\n"
        + "----\n  b: tx x2\n"
    )
    assert parameters_of(case) == DogParameters(pool_size=3)
    assert parse(render(case)) == case


@pytest.mark.parametrize(
    ("against", "router"),
    [
        ("any", "ours"),
        ("ours:no-backoff", "ours:no-backoff"),
        ("py-libp2p 0.8.1", "py-libp2p"),
        ("ours", "ours"),
    ],
)
def test_the_router_that_a_case_names(against: str, router: str) -> None:
    assert router_of(evolve(parse(TEXT), against=against)) == router


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("exec:node driver.mjs --quiet", "exec 1.2"),
        ("python:module:factory", "python 1.2"),
        ("py-libp2p", "py-libp2p 1.2"),
        ("ours:no-backoff", "ours:no-backoff 1.2"),
    ],
)
def test_a_router_of_ones_own_is_named_by_its_kind_alone(given: str, named: str) -> None:
    assert against_text(given, "1.2") == named
    case = evolve(parse(TEXT), against=named, found_by=command_of("dog", given))
    assert parse(render(case)) == case
    assert "driver.mjs" not in render(case) and "factory" not in render(case)
    assert f"--against {named.split()[0]}" in case.found_by
    # The user is told the whole command; the file is not.
    assert (f"--against {shlex.quote(given)}" in replay_command("a.case", given)) is (own_kind(given) != "")


@pytest.mark.parametrize("against", ["exec", "python 3", "exe:sh", "docker:image"])
def test_no_router_is_started_that_only_a_file_names(against: str) -> None:
    case = evolve(parse(TEXT, path="a.case"), against=against)
    for allowed in (False, True):
        with pytest.raises(RefusedRouterError, match=r"a\.case: no router is started that only a file names"):
            router_of(case, allow_exec=allowed)


OLD = TEXT.replace("format: 2", "format: 1").replace(
    "protocols: gossipsub-1.2 gossipsub-1.1", "protocol: gossipsub-1.2"
)


def test_a_case_of_format_1_is_read_and_written_as_one_of_format_2() -> None:
    case = parse(OLD)
    assert case == evolve(parse(TEXT), protocols=("gossipsub-1.2",))
    assert render(case) == render(parse(TEXT)).replace(" gossipsub-1.1\n", "\n")


def test_a_command_of_format_1_is_started_by_the_users_word_alone_and_never_written() -> None:
    case = parse(OLD.replace("py-libp2p 0.8.1", "exec:sh -c 'touch pwned'"))
    with pytest.raises(RefusedRouterError, match="touch pwned"):
        router_of(case)
    assert router_of(case, allow_exec=True) == "exec:sh -c 'touch pwned'"
    text = render(case)
    assert "against: exec\n" in text and "pwned" not in text
    with pytest.raises(RefusedRouterError):
        router_of(parse(text), allow_exec=True)


def test_a_case_under_one_of_its_protocols() -> None:
    case = parse(TEXT)
    assert case.protocol == "gossipsub-1.2"
    assert case.under("gossipsub-1.1").protocols == ("gossipsub-1.1",)
    with pytest.raises(ValueError, match="protocols"):
        evolve(case, protocols=())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format: 2", "format: 3", "a.case:4: expected `format: 2`, got '3'"),
        ("format: 2\n", "", "a.case:4: expected a value for 'format'"),
        ("claim: backoff.regraft-refused", "claim:", "a.case:5: expected a value for 'claim'"),
        ("clause:", "cluase:", "a.case:6: expected a field of a case, got 'cluase'; did you mean 'clause'"),
        ("clause:", "nonsense:", "there are format, claim"),
        ("quirk:", "claim:", "a.case:10: expected 'claim' once, got it again (line 5)"),
        (
            "protocols: gossipsub-1.2",
            "protocols: gossip",
            "no protocol 'gossip' (did you mean gossipsub-1",
        ),
        ("protocols: gossipsub-1.2", "protocol: gossipsub-1.2", "expected 'protocols' in format 2"),
        ("format: 2", "format: 1", "a.case:7: expected 'protocol' in format 1, got 'protocols'"),
        ("gossipsub-1.1\n", "gossipsub-1.2\n", "a.case:7: expected each protocol once"),
        ("gossipsub-1.1\n", "dog\n", "a.case:7: expected protocols of one family"),
        ("py-libp2p 0.8.1", "exec:sh -c true", "a.case:8: expected a router that this kit ships, or exec or"),
        ("py-libp2p 0.8.1", "python:os:system", "a case holds no command: give it by --against"),
        ("status: open", "status: closed", "a.case:9: expected a status: open or fixed"),
        ("status: open", "status open", "a.case:9: expected a field (`name: value`), got 'status open'"),
        ("D=4", "D=0", "a.case:13: need 0 <= D_low"),
        ("D=4", "D=four", "a.case:13: expected D: a whole number"),
        ("D=4", "d=4", "did you mean"),
        ("D=4", "D=4 D=5", "a.case:13: expected D once"),
        ("message_id=content", "message_id=random", "expected message_id: origin or content"),
        ("flood_publish=no", "flood_publish=False", "expected flood_publish: yes or no, got 'False'"),
        ("flood_publish=no", "gossip_factor=lots", "expected gossip_factor: a number"),
        ("2/3", "4/3", "a.case:14: expected K/N"),
        ("2/3", "2", "a.case:14: expected how many tries"),
        ("join t1", "a: raw mud", "a.case:18: expected a kind of bytes: bare-subscription or cut-short or"),
        ("join t1", "jion t1", "a.case:18: expected an event (connect"),
        ("  a..d: graft t1", " a..d: graft t1", "a.case:20: expected an output behind two spaces"),
        ("- a: prune", "- a: pruned", "a.case:28: expected a part"),
        ("+ a: prune t1", "+ choice", "a.case:29: expected an output (deliver"),
        ("+ a: prune t1", "+ choice mesh.fill", "a.case:29: expected `choice NAME: REASON`"),
        ("\n----\n\na: graft", "\n\na: graft", "a.case:22: expected `----` after the events"),
        ("connect a..d", "----\nconnect a..d", "a.case:16: expected an event"),
    ],
)
def test_errors_name_the_line_and_what_was_expected(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(CaseError) as caught:
        parse(TEXT.replace(old, new, 1), path="a.case")
    assert said in str(caught.value)
    assert str(caught.value).startswith("a.case:")


def errors_of(*changes: tuple[str, str]) -> list[str]:
    """What is said of the text with these changes, line by line."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(CaseError) as caught:
        parse(text, path="a.case")
    return str(caught.value).splitlines()


def test_all_errors_of_a_paragraph_are_told_at_once() -> None:
    names = errors_of(("claim:", "clam:"), ("status:", "statu:"))
    assert [line.partition("; ")[2] for line in names] == ["did you mean 'claim'", "did you mean 'status'"]
    values = errors_of(("status: open", "status: opn"), ("2/3", "4/3"))
    assert len(values) == 2 and "(did you mean open?)" in values[0] and "expected K/N" in values[1]
    body = errors_of(("join t1", "jion t1"), ("- a: prune", "- a: prne"))
    assert len(body) == 2 and body[0].endswith("'jion' (did you mean join?)")
    assert body[1].endswith("'prne' (did you mean prune?)")


def test_no_more_errors_are_told_than_can_be_read() -> None:
    told = errors_of(("join t1", "jion t1\n" * 30 + "join t1"))
    assert len(told) == MAX_ERRORS + 1 and told[-1] == "a.case: and 21 errors more"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t:1: the file is empty"),
        ("format: 1\nclaim: x\n", "t:1: expected the reason"),
        ("A reason.\n", "t:2: expected front matter"),
        (TEXT[: TEXT.index("connect")], "t:16: expected a block"),
        ("x" * (MAX_BYTES + 1), "t:1: expected at most 256 KiB"),
        ("\n" * (MAX_LINES + 1), f"t:{MAX_LINES + 1}: expected at most {MAX_LINES} lines"),
    ],
)
def test_what_is_no_case_at_all(text: str, said: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse(text, path="t")
    assert str(caught.value).startswith(said)


def test_an_open_case_without_a_departure_is_cut_off() -> None:
    """Else it would replay as fixed."""
    whole = TEXT.splitlines()
    cut = "\n".join(line for line in whole if not line.startswith(("+ ", "- ")))
    with pytest.raises(CaseError, match="expected what departs .*: the case is open"):
        parse(cut)
    assert parse(cut.replace("status: open", "status: fixed")).status == "fixed"


def test_names_that_there_are_not_are_refused_with_the_nearest(tmp_path: Path) -> None:
    """With a typo in its clause a case was played, and reported under a clause that does not exist."""
    source = Path("counterexamples/routers/py-libp2p/gs1.0.mesh.members.control-lists-shared.case")
    text = source.read_text(encoding="utf-8")
    case = load(source)
    mistyped = {
        "claim": (case.claim, case.claim[:-1], f"no claim {case.claim[:-1]!r} (did you mean {case.claim}?)"),
        "clause": (case.clause, f"{case.clause}x", f"(did you mean {case.clause}?); `quidnunc clauses`"),
        "quirk": (case.quirk, "control-list-shared", "did you mean control-lists-shared?"),
    }
    for field, (old, new, _) in mistyped.items():
        assert f"\n{field}: {old}\n" in text
        text = text.replace(f"\n{field}: {old}\n", f"\n{field}: {new}\n")
    path = tmp_path / "x.case"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CaseError) as caught:
        load(path)
    told = str(caught.value).splitlines()
    assert len(told) == len(mistyped)
    for line, (field, (_, _, said)) in zip(told, mistyped.items(), strict=True):
        number = next(n for n, each in enumerate(text.splitlines(), 1) if each.startswith(f"{field}:"))
        assert line.startswith(f"{path}:{number}: ") and said in line


def test_a_stream_protocol_that_there_is_not_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """Unless it is, the router's driver ends with words of its own."""
    path = tmp_path / "x.case"
    path.write_text(TEXT.replace("/meshsub/1.2.0", "/meshsub/12.0"))
    line = next(at for at, each in enumerate(path.read_text().splitlines(), 1) if "/meshsub/12.0" in each)
    with pytest.raises(CaseError, match=f"^{path}:{line}: expected a stream protocol .*did you mean"):
        load(path)


def test_loading_names_the_file(tmp_path: Path) -> None:
    good = tmp_path / "good.case"
    good.write_text(TEXT)
    assert load(good) == parse(TEXT)
    assert load(good).path == str(good)
    with pytest.raises(CaseError, match=r"absent\.case: cannot be read: No such file"):
        load(tmp_path / "absent.case")
    bad = tmp_path / "bad.case"
    bad.write_bytes(b"A reason.\n\xff\n")
    with pytest.raises(CaseError, match=r"bad\.case:2: expected UTF-8, got byte 0xff"):
        load(bad)
    bad.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(CaseError, match="at most 262144 are read"):
        load(bad)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ("advance 9999999s", r"a\.case:22: expected at most 86400 s in all the events of a case"),
        ("advance 50000s\nadvance 50000s", r"a\.case:23: expected at most 86400 s"),
        ("a..cv: 2000x iwant m1", r"a\.case:22: expected at most 100000 parts"),
        ("connect a..alk /floodsub/1.0.0\nadvance 80000s", r":23: 999 peers, 0 messages and 80000 s are"),
        (
            "connect a..alk /floodsub/1.0.0\na..alk: message m1 t by a",
            r":23: 999 peers, 999 messages and 0 s are",
        ),
    ],
)
def test_a_case_cannot_occupy_a_machine_for_days(events: str, said: str) -> None:
    text = TEXT.replace("a: prune t1 backoff=5\n----", f"{events}\n----")
    with pytest.raises(CaseError, match=said):
        parse(text, path="a.case")


def test_a_limit_is_told_once_and_in_plain_numbers() -> None:
    """Of 100,000,000 s it was told at each line that follows, and as 1e+08 s."""
    text = TEXT.replace("a: prune t1 backoff=5\n----", "advance 100000000s\nadvance 1500ms\n----")
    with pytest.raises(CaseError) as told:
        parse(text, path="a.case")
    assert str(told.value).count("at most 86400 s") == 1 and str(told.value).endswith("got 100000000 s")


def test_heartbeats_are_limited_where_they_are_short() -> None:
    text = TEXT.replace("D=4 D_low=3", "D=4 D_low=3 heartbeat_interval_ms=1")
    with pytest.raises(CaseError, match="at most 100 s .* got 101 s"):
        parse(text.replace("a: prune t1 backoff=5\n----", "advance 101s\n----"))


@pytest.mark.parametrize(
    "against",
    ["EXEC:touch x", "exec :touch x", "exec touch", "python evil:open", "Python:evil:open", "EXEC 1.2"],
)
def test_a_case_holds_no_command_however_it_is_spelt(against: str) -> None:
    with pytest.raises(CaseError, match=r"a\.case:8: .* a case holds no command"):
        parse(TEXT.replace("against: py-libp2p 0.8.1", f"against: {against}"), path="a.case")


def test_the_version_of_ones_own_router_is_one_word() -> None:
    said = [against_text("exec:x", version) for version in ("my router 1.2 (dev)", "rm -rf", "")]
    assert said == ["exec 1.2", "exec", "exec"]
    assert parse(TEXT.replace("py-libp2p 0.8.1", "python-router 0.1")).against == "python-router 0.1"


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.case").write_text("\ufeff" + TEXT, encoding="utf-8")
    assert load(tmp_path / "a.case") == parse(TEXT)


def test_a_new_case_is_short() -> None:
    case = parse(TEXT)
    long = evolve(case, status="fixed", blocks=(CaseBlock(tuple(Advance(ms) for ms in range(1, 41))),))
    assert parse(render(long)) == long
    with pytest.raises(CaseError, match="expected at most 40 lines of body, got 41"):
        render(long, strict=True)
    assert render(case, strict=True) == render(case)


def test_a_case_says_something() -> None:
    with pytest.raises(ValueError, match="reason"):
        evolve(parse(TEXT), reason=" ")
    with pytest.raises(ValueError, match="blocks"):
        evolve(parse(TEXT), blocks=())
