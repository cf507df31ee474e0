"""The rows that `quidnunc check` would report of a search that was made in this process."""

from __future__ import annotations

from attrs import asdict

from quidnunc.properties.explain.root_cause import CRASH
from quidnunc.properties.search.batch import BatchRequest
from quidnunc.properties.search.campaign import Campaign, merge, settle
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.rows import RootCause, fewest_rows
from quidnunc.properties.search.worker import answer_of, explain_again, still_refuted
from quidnunc.reports.summary import most_telling


def explain_what_is_left(hunt: FindingSearch) -> None:
    """Explain again what has no explanation, with all that was found in force, as a check does in the end."""
    asked = asdict(BatchRequest(protocol=hunt.protocol_name, against="ours", seed=0, runs=0))
    told = answer_of(asked, hunt, hunt.hello)
    hunt.withdrawn[:] = still_refuted(told["refuting"], hunt)
    hunt.signatures.clear()
    for root in told["roots"]:
        own = (root["clause"], root["quirk"])
        if root["kind"] != "unexplained" or own not in hunt.found or own[1].startswith(CRASH):
            continue
        before = hunt.found.pop(own)
        if explain_again("", root["case"], hunt) is None:
            hunt.found.setdefault(own, before)


def rows_reported(hunt: FindingSearch, against: str = "") -> list[RootCause]:
    """The most telling first. Without the name of the router, rows stay whose cases other rows account for:
    that is asked of a process that plays them."""
    campaign = Campaign(hunt.protocol_name, against or "ours", 0)
    asked = BatchRequest(protocol=hunt.protocol_name, against="ours", seed=0, runs=hunt.runs)
    merge(campaign, answer_of(asdict(asked), hunt, hunt.hello))
    if against:
        settle(campaign)
        return [row for _, row in most_telling(campaign.roots)]
    # What is unexplained and the explanations account for together, the search itself has let go of.
    return [row for _, row in most_telling(fewest_rows(campaign.roots))]
