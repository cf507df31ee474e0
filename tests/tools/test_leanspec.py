"""Handler vectors in leanSpec's form: those of ours are agreed with, and wrong ones are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Driver
from quidnunc.model.errors import CaseError
from tools.leanspec.__main__ import main
from tools.leanspec.vectors import VectorResult, message_id, read, run_vector

FRUIT, STONES = "fruit", "stones"
PEAR = "0x70656172"
ID = message_id(FRUIT, b"pear")
OTHER = "0x" + "5c" * 20


def peer(*topics: str, **more: Any) -> dict[str, Any]:
    return {"subscriptions": list(topics), "withStream": True, "backoff": {}, "dontWantIds": [], **more}


def sent(to: str, **what: Any) -> dict[str, Any]:
    return {"toPeer": to, **what}


def vector(
    peers: dict[str, Any],
    event: dict[str, Any],
    expected: list[dict[str, Any]],
    mesh_after: dict[str, list[str]],
    **state: Any,
) -> dict[str, Any]:
    """One in their form: peers by name, the incoming RPC, what is sent, the mesh after it."""
    filled = {"subscriptions": [FRUIT], "peers": peers, "meshes": {}, **state}
    return {
        "handlerName": "any",
        "params": {"d": 2, "dLow": 1, "dHigh": 3, "dLazy": 2},
        "initialState": {"seenMessageIds": [], "cachedMessages": [], **filled},
        "event": event,
        "now": 50.0,
        "expected": {"sentRpcs": expected, "meshAfter": mesh_after},
        "_info": {"fixtureFormat": "gossipsub_handler_test"},
    }


TWO = {"ann": peer(FRUIT), "bob": peer(FRUIT)}
PRUNED = {"control": {"prune": [{"topicId": FRUIT, "backoff": 60}]}}

VECTORS: dict[str, dict[str, Any]] = {
    "graft_of_two_topics": vector(
        {"ann": peer(FRUIT, STONES)},
        {"fromPeer": "ann", "graft": [{"topicId": FRUIT}, {"topicId": STONES}]},
        [],
        {FRUIT: ["ann"]},
    ),
    "graft_in_backoff": vector(
        {"ann": peer(FRUIT), "bob": peer(FRUIT, backoff={FRUIT: 58.0})},
        {"fromPeer": "bob", "graft": [{"topicId": FRUIT}]},
        [sent("bob", **PRUNED)],
        {FRUIT: ["ann"]},
        meshes={FRUIT: ["ann"]},
    ),
    "graft_after_backoff": vector(
        {"ann": peer(FRUIT, backoff={FRUIT: 50.0})},
        {"fromPeer": "ann", "graft": [{"topicId": FRUIT}]},
        [],
        {FRUIT: ["ann"]},
    ),
    "prune_of_one": vector(
        TWO,
        {"fromPeer": "ann", "prune": [{"topicId": FRUIT, "backoff": 7}]},
        [],
        {FRUIT: ["bob"]},
        meshes={FRUIT: ["ann", "bob"]},
    ),
    "ihave_of_one_seen": vector(
        TWO,
        {"fromPeer": "bob", "ihave": [{"topicId": FRUIT, "messageIds": [ID, OTHER]}]},
        [sent("bob", control={"iwant": [{"messageIds": [OTHER]}]})],
        {FRUIT: []},
        seenMessageIds=[ID],
    ),
    "iwant_of_seen_and_cached": vector(
        TWO,
        {"fromPeer": "ann", "iwant": [{"messageIds": [OTHER, ID]}]},
        [sent("ann", publish=[{"topic": FRUIT, "data": PEAR}])],
        {FRUIT: ["bob"]},
        meshes={FRUIT: ["bob"]},
        seenMessageIds=[OTHER],
        cachedMessages=[{"topic": FRUIT, "data": PEAR, "messageId": ID}],
    ),
    "message_and_idontwant": vector(
        {**TWO, "cleo": peer(FRUIT, dontWantIds=[ID])},
        {"fromPeer": "ann", "publish": [{"topic": FRUIT, "data": PEAR}]},
        [sent("bob", publish=[{"topic": FRUIT, "data": PEAR}])],
        {FRUIT: ["ann", "bob", "cleo"]},
        meshes={FRUIT: ["ann", "bob", "cleo"]},
    ),
    "message_of_a_topic_not_joined": vector(
        {"ann": peer(STONES)}, {"fromPeer": "ann", "publish": [{"topic": STONES, "data": PEAR}]}, [], {}
    ),
    "peer_without_a_stream": vector(
        {"ann": peer(FRUIT), "bob": peer(FRUIT, withStream=False)},
        {"fromPeer": "ann", "publish": [{"topic": FRUIT, "data": PEAR}]},
        [],
        {FRUIT: ["bob"]},
        meshes={FRUIT: ["bob"]},
    ),
}


def played(path: Path, against: str = "ours", **vectors: dict[str, Any]) -> list[VectorResult]:
    def opener(config: Config) -> Driver:
        return open_router(against, config)

    file = path / "vectors.json"
    file.write_text(json.dumps({f"tests/x.py::{name}[fork_A]": each for name, each in vectors.items()}))
    return [run_vector(each, opener) for each in read(file)]


def test_vectors_of_ours_are_played_and_agreed_with(tmp_path: Path) -> None:
    results = played(tmp_path, **VECTORS)
    assert [r.name for r in results] == list(VECTORS)
    assert not [r for r in results if r.model or r.router or r.not_played or r.played_with]


WRONG = {
    "graft_in_backoff": ([], {FRUIT: ["ann", "bob"]}),
    "ihave_of_one_seen": ([sent("bob", control={"iwant": [{"messageIds": [ID]}]})], {FRUIT: []}),
    "iwant_of_seen_and_cached": ([], {FRUIT: ["bob"]}),
    "message_and_idontwant": ([sent("cleo", publish=[{"topic": FRUIT, "data": PEAR}])], {FRUIT: ["ann"]}),
    "prune_of_one": ([sent("ann", **PRUNED)], {FRUIT: ["bob"]}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_text_expects_is_differed_with(name: str, tmp_path: Path) -> None:
    expected, mesh = WRONG[name]
    wrong = {**VECTORS[name], "expected": {"sentRpcs": expected, "meshAfter": mesh}}
    (result,) = played(tmp_path, **{name: wrong})
    assert result.model and result.router and not result.not_played


@pytest.mark.parametrize(
    ("mutant", "name"),
    [("regraft-taken", "graft_in_backoff"), ("idontwant-ignored", "message_and_idontwant")],
)
def test_a_planted_departure_differs_and_the_model_does_not(mutant: str, name: str, tmp_path: Path) -> None:
    (result,) = played(tmp_path, f"ours:{mutant}", **{name: VECTORS[name]})
    assert result.router and not result.model


def test_a_state_that_nothing_leads_to_is_not_played(tmp_path: Path) -> None:
    beyond = vector(
        {f"p{n}": peer(FRUIT) for n in range(4)},
        {"fromPeer": "p0", "prune": [{"topicId": FRUIT}]},
        [],
        {FRUIT: []},
        meshes={FRUIT: ["p0", "p1", "p2", "p3"]},
    )
    stranger = vector({}, {"fromPeer": "ann", "graft": [{"topicId": FRUIT}]}, [], {FRUIT: []})
    elsewhere = vector(TWO, {"fromPeer": "ann"}, [], {}, subscriptions=[], seenMessageIds=[ID])
    results = played(tmp_path, beyond=beyond, stranger=stranger, elsewhere=elsewhere)
    said = [each.not_played for each in results]
    assert "the mesh is" in said[0] and "ann takes part" in said[1] and "not in" in said[2]


def test_degrees_that_no_text_allows_are_named(tmp_path: Path) -> None:
    high = {**VECTORS["prune_of_one"], "params": {"d": 9, "dLow": 1, "dHigh": 3, "dLazy": 2}}
    none = {**VECTORS["prune_of_one"], "params": {"d": 2, "dLow": 5, "dHigh": 3, "dLazy": 2}}
    changed, refused = played(tmp_path, high=high, none=none)
    assert changed.played_with == "D 9, outside its bounds, taken as 3" and not changed.router
    assert "D_low <= D <= D_high" in refused.not_played


def test_the_command_tells_agreement_difference_and_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "deep" / "a.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"a::b": VECTORS["prune_of_one"], "a::c": {"_info": {"fixtureFormat": "x"}}}))
    assert main([str(tmp_path)]) == 0
    assert "b: the model agrees, ours agrees" in capsys.readouterr().out
    assert main([str(file), "--against", "ours:prune-ignored", "--json"]) == 1
    (only,) = json.loads(capsys.readouterr().out)["vectors"]
    assert only["router"] and not only["model"]
    assert main([str(file), "--against", "nobody"]) == 2
    assert "no router 'nobody'" in capsys.readouterr().err
    assert main([str(file), "--against", "rust-libp2p"]) == 4
    file.write_text("{}")
    assert main([str(tmp_path)]) == 2
    assert "let `fill` write them" in capsys.readouterr().err
    assert main([str(tmp_path / "gone")]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "gone") in said and "name a folder that `fill` wrote" in said
    file.write_text('{"a": {"handlerName": "graft"}}')
    with pytest.raises(CaseError, match="a vector of gossipsub_handler_test was expected"):
        read(file)
