"""What a case of the suite asks of a driver, and its parameters with those that the router sets itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, fields

from quidnunc.impl.seam import Hello
from quidnunc.model.events import (
    MEMPOOL_WITHOUT_DOG,
    Connect,
    Feedback,
    Join,
    PublishPartial,
    Raw,
    Resume,
    Score,
    Stall,
    Verdict,
)
from quidnunc.properties.cases.case import Case, events_of, parameters_of

NEEDS: Mapping[type[Any], str] = {
    Verdict: "verdict",
    Score: "score",
    Stall: "stall",
    Resume: "stall",
    Raw: "raw",
    PublishPartial: "partial",
    Feedback: "feedback",
}
"""What an event asks of a driver."""
NEEDED_BY: Mapping[str, str] = {
    "test_extension": "test-extension",
    "validation": "verdict",
    "explicit_peers": "explicit",
    "scores": "score-parameters",
    "prune_peers": "peer-exchange",
    "max_message_bytes": "message-limit",
    "signature_policy": "strict-no-sign",
}
"""What a parameter asks of a driver that is not the default."""


def fitted_parameters(case: Case, hello: Hello) -> tuple[Any, tuple[str, ...]]:
    """The parameters of a case, the router's own ones in force, and what it needs that the driver lacks."""
    needs = {NEEDS[type(event)] for event in events_of(case) if type(event) in NEEDS}
    flagged = any(isinstance(e, Join) and (e.requests or e.supports) for e in events_of(case))
    needs |= {"partial"} if flagged else set()
    mixed = any(isinstance(e, Connect) and e.protocol == MEMPOOL_WITHOUT_DOG for e in events_of(case))
    needs |= {"peers-without-dog"} if mixed else set()
    parameters: Any = parameters_of(case)
    if getattr(parameters, "d_score", 0) > getattr(parameters, "d", 0):
        # D is small and D_score the default, and no router is made to keep the best D_score of fewer.
        parameters = evolve(parameters, d_score=parameters.d)
    changed = {a.name for a in fields(type(parameters)) if getattr(parameters, a.name) != a.default}
    needs |= {need for name, need in NEEDED_BY.items() if name in changed}
    if "flood-publish" not in hello.capabilities and getattr(parameters, "flood_publish", False):
        parameters = evolve(parameters, flood_publish=False)
    try:
        parameters = evolve(parameters, **dict(hello.fixed))
    except ValueError as error:
        # What the router sets itself and what the case wants of the rest do not go together.
        return parameters, (str(error),)
    return parameters, tuple(sorted(needs - hello.capabilities))
