"""What a search says of planted bugs that one edit of one rule does not tell, or that many edits fit."""

from __future__ import annotations

import pytest

from tools.planted_rows import PlantedRows, rows_of_planted, summary

LATE = {"fill-one-topic": (13, 80), "seen-half-as-long": (13, 80)}
"""Planted bug -> the seed and the runs of a search that meets all that shows of it."""


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("idontwant-for-all", "idontwant-of-anybody-heeded"),
        ("limit-of-one-class", "everywhere-persistent-peers-as-default"),
    ],
)
def test_one_row_says_what_is_wrong(name: str, cause: str) -> None:
    found = rows_of_planted(name, seed=0, runs=60)
    assert [cause for _, cause, _ in found.rows] == [cause]
    assert found.expected_first and not found.unexplained


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("own-goes-to-one", "one-forward-own"),
        ("reset-to-all", "all-too-little"),
        ("permission-withdrawn", "low-blocks"),
        ("cat-passes-requests-on", "passes-on-nothing-to-serve"),
        ("cat-tells-of-the-committed", "announce-pool-sees-all-in-pool"),
        ("limit-deaf-to-waiting", "take-in-deaf-to-waiting"),
        ("failed-decision-dropped", "keep-in-place-as-keep-decided"),
        ("group-lives-less", "three-at-least-one-less"),
        ("cat-keys-cut", "everywhere-seen-tx-with-wrong-key"),
        ("metadata-lost", "everywhere-metadata-left-out"),
        ("publish-empty-key", "everywhere-published-with-junk-key"),
        ("fill-one-topic", "fill-to-d-one-topic-by-name"),
        ("seen-half-as-long", "everywhere-seen-ttl-ms-as-half"),
    ],
)
def test_an_operator_says_what_is_wrong(name: str, cause: str) -> None:
    # Some show late.
    seed, runs = LATE.get(name, (11, 25))
    found = rows_of_planted(name, seed=seed, runs=runs)
    assert [cause for _, cause, _ in found.rows] == [cause]


def test_what_an_explanation_allows_where_the_router_does_not_do_it_is_asked_of_it() -> None:
    """That P1 counts nothing allows each of these PRUNEs, and many that are not sent."""
    found = rows_of_planted("near-first-never", seed=13, runs=60)
    assert found.rows and not any("time-in-mesh" in cause for _, cause, _ in found.rows)


def test_figures() -> None:
    one = PlantedRows("a", 0, 80, "", (("c", "without", "dropped"),), expected_first=True)
    two = PlantedRows(
        "b", 0, 80, "", (("c", "unexplained:missing", "unexplained"),) * 3, expected_first=False
    )
    assert summary([one, two]) == (
        "2 planted bugs: 2 with rows, median 3; 1 with more than two; 1 with an unexplained row; "
        "1 with the claim expected, or an accepted one, first"
    )
