"""What a router may send and never does is told."""

from __future__ import annotations

import pytest

from quidnunc.impl.gossipsub.gossip import Gossip
from quidnunc.properties.search.unsent import add_sent, never_sent
from quidnunc.properties.suite.run import run_suite


def test_a_kind_is_sent_once_any_run_has_it() -> None:
    sent: dict[str, bool] = {}
    for run in ({"Graft": True, "IWant": False}, {"Graft": False, "IWant": False}, {"IDontWant": False}):
        add_sent(sent, run)
    assert sent == {"Graft": True, "IWant": False, "IDontWant": False}
    assert [line.split(":")[0] for line in never_sent(sent)] == ["IDONTWANT", "IWANT"]


@pytest.mark.parametrize("mute", [False, True])
def test_the_suite_says_that_no_idontwant_came(mute: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text lets a router send none, so that no claim fails."""
    if mute:
        monkeypatch.setattr(Gossip, "is_told_idontwant", lambda self, peer: False)
    campaign = run_suite("gossipsub-1.2", "ours")
    assert not campaign.roots
    lines = never_sent(campaign.sent)
    assert lines == (["IDONTWANT: the router was allowed to send some, and sent none"] if mute else [])
