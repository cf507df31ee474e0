"""The rows that `quidnunc check` would report of a search that was made in this process."""

from __future__ import annotations

from attrs import asdict

from quidnunc.properties.search.batch import BatchRequest
from quidnunc.properties.search.campaign import Campaign, merge, settle
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.rows import RootCause, fewest_rows
from quidnunc.properties.search.worker import answer_of
from quidnunc.reports.summary import most_telling


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
