"""An explanation of one case of the suite is asked of all other cases."""

from __future__ import annotations

import pytest

from quidnunc.impl.seam import Config, Hello
from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.suite.explanations import SuiteExplanations
from quidnunc.properties.suite.files import suite_of

NAME = "gossipsub-1.0"
SPEC = protocol_named(NAME)


def played(built: Edit | None = None) -> SuiteExplanations:
    """All cases of the suite, played by a router as the edit has it."""

    def no_router(config: Config) -> ModelSubject:
        raise AssertionError("the cases were played before")

    explain = SuiteExplanations(
        FindingSearch(NAME, no_router, Hello(name="x", version="1", protocols=(NAME,)))
    )
    protocol = built.applied_to(SPEC) if built else SPEC
    assert protocol is not None
    for _, case in suite_of(NAME):
        subject = ModelSubject(protocol, parameters_of(case), case.seed)
        explain.note(play(events_of(case), subject, SPEC, parameters_of(case)), parameters_of(case))
    return explain


@pytest.mark.parametrize("name", ["without:fill_to_d", "without:serve"])
def test_an_explanation_is_refuted_by_a_case_in_which_the_router_keeps_to_the_protocol(name: str) -> None:
    edit = edit_named(name, SPEC)
    assert played().refuted(edit)
    assert not played(edit).refuted(edit)


def test_a_reading_stays_though_it_does_not_always_hold() -> None:
    reading = edit_named("unsubscribed-stays-in-mesh", SPEC)
    assert reading.kind == "reading"
    assert not played().refuted(reading)
