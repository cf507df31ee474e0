"""Each router's own names of the parameters."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import re
from pathlib import Path

import pytest
from attrs import fields

import quidnunc.impl.drivers
from quidnunc.impl.drivers.js_libp2p import builds as js_builds
from quidnunc.impl.own_names import NONE, OWN_NAMES, own_default, own_setting
from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import TopicScoreParameters

DRIVERS = Path(quidnunc.impl.drivers.__file__).parent
FOLDERS = {
    "py-libp2p": "py_libp2p",
    "js-libp2p": "js_libp2p",
    "go-libp2p-pubsub": "go_libp2p",
    "cometbft": "cometbft",
}
WORD = re.compile(r"[A-Za-z_]{2,}|D(?= =)")
UNITS = {"ms", "true"}


@pytest.mark.parametrize("router", OWN_NAMES)
def test_each_name_is_one_that_the_driver_sets(router: str) -> None:
    folder = DRIVERS / FOLDERS[router]
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.suffix in (".py", ".mjs", ".go")
    )
    for attribute, text in OWN_NAMES[router].named.items():
        for name in set(WORD.findall(re.sub(r"\{\w*\}", "", text))) - UNITS:
            if name != "set_topic_validator":
                assert re.search(rf"\b{name}\b", sources), (attribute, name)


@pytest.mark.parametrize("router", ["py-libp2p", "js-libp2p", "go-libp2p-pubsub"])
def test_each_is_a_parameter_of_the_kit(router: str) -> None:
    assert {*OWN_NAMES[router].named} <= {each.name for each in fields(Parameters)}


def test_values_have_the_unit_of_the_router() -> None:
    assert own_setting("js-libp2p", "prune_backoff_s", "60") == "pruneBackoff = 60000"
    assert own_setting("py-libp2p", "fanout_ttl_ms", "1500") == "time_to_live = 1.5"
    assert own_setting("go-libp2p-pubsub", "prune_backoff_s", "60") == "GossipSubPruneBackoff = 60 s"
    assert own_setting("js-libp2p", "flood_publish", "no") == "floodPublish = false"
    assert own_setting("py-libp2p", "d_score", "4") is None and own_setting("ours", "d", "4") is None


def test_parameters_of_scores_are_named_as_the_router_does() -> None:
    shown = own_setting("js-libp2p", "scores.t1.mesh_message_deliveries_window_ms", "10")
    assert shown == "t1.meshMessageDeliveriesWindow = 10 ms"
    shown = own_setting("go-libp2p-pubsub", "scores.ip_colocation_factor_weight", "-5.0")
    assert shown == "IPColocationFactorWeight = -5.0"
    source = (DRIVERS / "go_libp2p" / "source" / "parameters.go").read_text(encoding="utf-8")
    source += (DRIVERS / "go_libp2p" / "source" / "router.go").read_text(encoding="utf-8")
    for each in fields(TopicScoreParameters):
        if each.name != "topic":
            name = (own_setting("go-libp2p-pubsub", f"scores.t1.{each.name}", "1") or "").split(" ")[0]
            assert re.search(rf"\b{name.removeprefix('t1.')}\b", source), name


def test_defaults_of_py_libp2p_are_those_of_the_release() -> None:
    gossipsub = pytest.importorskip("libp2p.pubsub.gossipsub")
    pubsub = pytest.importorskip("libp2p.pubsub.pubsub")
    own = OWN_NAMES["py-libp2p"]
    if importlib.metadata.version("libp2p") != own.release:
        pytest.skip("another release is installed")
    signed = {
        **inspect.signature(pubsub.Pubsub).parameters,
        **inspect.signature(gossipsub.GossipSub).parameters,
        **inspect.signature(gossipsub.ScoreParams).parameters,
    }
    for attribute, text in own.named.items():
        name = re.split(r" = |: ", text)[0]
        if name in signed and own.defaults[attribute] not in ("origin", ""):
            shown = (own_default("py-libp2p", attribute) or "").removesuffix("0") or "0"
            assert float(shown) == float(str(signed[name].default).removesuffix("0") or "0"), attribute
        elif own.defaults[attribute] == NONE and attribute.startswith("d"):
            assert signed[name].default is inspect.Parameter.empty


def test_defaults_of_js_libp2p_are_those_of_the_release() -> None:
    own = OWN_NAMES["js-libp2p"]
    source = js_builds.release_named(own.release).folder / "node_modules" / "@libp2p" / "gossipsub" / "src"
    if not source.is_dir():
        pytest.skip("js-libp2p is not built")
    text = "".join(path.read_text("utf-8") for path in sorted(source.rglob("*.ts")))
    for constant, attribute in {
        "GossipsubD": "d",
        "GossipsubDlo": "d_low",
        "GossipsubDhi": "d_high",
        "GossipsubDscore": "d_score",
        "GossipsubDout": "d_out",
        "GossipsubHistoryLength": "mcache_len",
        "GossipsubHistoryGossip": "mcache_gossip",
        "GossipsubIdontwantMinDataSize": "idontwant_min_bytes",
        "GossipsubIdontwantMaxMessages": "max_idontwant_messages",
    }.items():
        assert re.search(rf"const {constant} = {own.defaults[attribute]}\n", text), attribute
    for name in ("gossip", "publish", "graylist", "accept_px", "opportunistic_graft"):
        setting = own.named[f"{name}_threshold"].partition(" = ")[0]
        assert re.search(rf"\b{setting}: {own.defaults[f'{name}_threshold']}\b", text), name


def test_defaults_of_go_libp2p_pubsub_are_those_of_the_release() -> None:
    own = OWN_NAMES["go-libp2p-pubsub"]
    modules = Path(os.environ.get("GOMODCACHE") or Path.home() / "go" / "pkg" / "mod")
    source = modules / "github.com" / "libp2p" / f"go-libp2p-pubsub@v{own.release}" / "gossipsub.go"
    if not source.is_file():
        pytest.skip("the module is not there")
    text = source.read_text("utf-8")
    units = {"time.Millisecond": 1, "time.Second": 1000, "time.Minute": 60_000}
    found = dict(re.findall(r"^\t(GossipSub\w+)(?: +uint64)? += (.+?)(?: +//.*)?$", text, re.MULTILINE))
    read = 0
    for attribute, template in own.named.items():
        name = template.partition(" = ")[0]
        if name in found:
            number, _, unit = found[name].rpartition(" * ")
            value = float(number or 1) * units[unit] if unit in units else float(unit)
            value /= 1000 if attribute.endswith("_s") else 1
            assert float(own.defaults[attribute]) == value, attribute
            read += 1
    assert read > 20


def test_every_name_has_a_default() -> None:
    for router, own in OWN_NAMES.items():
        assert {*own.named} - {*own.defaults} <= {"message_id"}, router
        for attribute in own.defaults:
            assert own_default(router, attribute) is not None
    assert own_default("js-libp2p", "prune_backoff_s") == "60000"
    assert own_default("go-libp2p-pubsub", "prune_backoff_s") == "60 s"
    assert own_default("go-libp2p-pubsub", "publish_threshold") == "no peer scores"
    assert own_default("ours", "d") is None
