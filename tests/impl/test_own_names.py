"""Each router's own names of the parameters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import fields

import quidnunc.impl.drivers
from quidnunc.impl.own_names import OWN_NAMES, own_setting
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
