"""What the page about CometBFT's reactors counts, and that the page is what its figures say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.dog_reactors import NAME, Point, figures_of, longest_silence_ms, network, page_of

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_page_is_what_the_figures_say() -> None:
    figures = json.loads((RESULTS / f"{NAME}.json").read_text(encoding="utf-8"))
    assert (RESULTS / f"{NAME}.md").read_text(encoding="utf-8") == page_of(figures)


def test_a_share_is_of_those_who_did_not_submit() -> None:
    sent = [(5000, 0), (700_000, 1)]
    said = {
        "reached": [3, 2],
        "copies": [6, 3],
        "have_tx": [1] * 16,
        "reset_route": [2] * 16,
        "missed": [[1, 2]],
        "disabled_routes": [1, 0, 0],
    }
    found = figures_of(Point(nodes=3), sent, said)
    assert (found["delivered"], found["delivered_late"], found["whole_late"]) == (0.75, 0.5, 0)
    assert (found["copies_late"], found["have_tx_late"], found["reset_route_late"]) == (1, 5, 10)


@pytest.mark.parametrize(
    ("missed", "ms"),
    [([], 0), ([[0, 5]], 0), ([[0, 5], [2, 5]], 20), ([[0, 5], [4, 5]], 0), ([[0, 5], [2, 6]], 0)],
)
def test_a_silence_is_of_one_source_at_one_node_in_a_row(missed: list[list[int]], ms: int) -> None:
    sent = [(10 * k, k % 2) for k in range(6)]
    assert longest_silence_ms(sent, missed) == ms


def test_a_network_has_what_its_point_says() -> None:
    given = network(Point(nodes=12, degree=4, target=0.5), 1)
    assert len(given["edges"]) == 24 and {a for a, *_ in given["edges"]} <= {*range(12)}
    assert given["dog"]["target_redundancy"] == 0.5 and given["dog"]["dog"]
    assert len(given["traffic"]) == 2 * 895 and given == network(Point(nodes=12, degree=4, target=0.5), 1)
