"""Our router under another reading: opened by name, listed by kind, and refused where it has no meaning."""

from __future__ import annotations

import pytest

from quidnunc.impl.ours.readings import READINGS_OF_OURS
from quidnunc.impl.routers import available, mutants_by_name, open_router, readings_by_name
from quidnunc.impl.seam import AdapterError, Config
from quidnunc.model.parameters import DogParameters, Parameters


def config(protocol: str) -> Config:
    return Config(protocol=protocol, parameters=Parameters())


def test_readings_are_listed_as_such_and_are_no_mutants() -> None:
    listed = {each.name for each in available() if each.kind == "reading"}
    assert listed == {f"ours:{name}" for name in READINGS_OF_OURS}
    assert len(listed) > 20
    assert not set(mutants_by_name()) & set(readings_by_name())


@pytest.mark.parametrize("name", sorted(READINGS_OF_OURS))
def test_each_opens_from_its_first_protocol_on(name: str) -> None:
    for protocol in {READINGS_OF_OURS[name].protocol, "gossipsub-1.2", "partial-messages"}:
        driver = open_router(f"ours:{name}", config(protocol))
        assert driver.hello.name == f"ours:{name}"
        driver.close()


def test_one_that_has_no_meaning_yet_is_refused() -> None:
    with pytest.raises(AdapterError, match="from gossipsub-1.2 on, and gossipsub-1.1 does not add to that"):
        open_router("ours:idontwant-not-honoured", config("gossipsub-1.1"))
    with pytest.raises(AdapterError, match="idontwant-not-honoured"):
        open_router("ours:idontwant-not-honoured", Config(protocol="dog", parameters=DogParameters()))


@pytest.mark.parametrize("name", sorted(READINGS_OF_OURS))
def test_each_edits_a_pubsub_router_and_nothing_else(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} edits a GossipsubRouter"):
        READINGS_OF_OURS[name].apply(object())
