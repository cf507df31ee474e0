"""The rows that `quidnunc check` would report of a search that was made in this process."""

from __future__ import annotations

from attrs import asdict

from quidnunc.properties.search.batch import BatchRequest
from quidnunc.properties.search.campaign import Campaign, merge
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.rows import RootCause, fewest_rows
from quidnunc.properties.search.worker import answer_of
from quidnunc.reports.summary import most_telling


def rows_reported(hunt: FindingSearch) -> list[RootCause]:
    """The most telling first."""
    campaign = Campaign(hunt.protocol_name, "ours", 0)
    asked = BatchRequest(protocol=hunt.protocol_name, against="ours", seed=0, runs=hunt.runs)
    merge(campaign, answer_of(asdict(asked), hunt, hunt.hello))
    # What the explanations account for together, the search itself has let go of.
    return [row for _, row in most_telling(fewest_rows(campaign.roots))]
