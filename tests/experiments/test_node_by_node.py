from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from nodewise.experiments.node_by_node import Comparison


def compared(both: int, only_localized: int, only_matched: int, neither: int) -> Comparison:
    counts = (both, only_localized, only_matched, neither)
    localized = np.repeat([True, True, False, False], counts)
    return Comparison.of(localized, np.repeat([True, False, True, False], counts))


def test_it_counts_nodes_in_pairs() -> None:
    found = compared(60, 20, 5, 15)
    assert (found.nodes, found.localized, found.matched) == (100, 80, 65)
    assert found.difference == pytest.approx(0.15)
    gaps = np.repeat([0, 1, -1, 0], (60, 20, 5, 15))
    assert found.standard_error == pytest.approx(gaps.std() / sqrt(100))


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((60, 20, 5, 15), "helped"),
        ((60, 5, 20, 15), "hurt"),
        ((60, 1, 0, 39), "made no significant difference"),
        ((60, 5, 0, 35), "made no significant difference"),
        ((60, 12, 11, 17), "made no significant difference"),
        ((60, 0, 0, 40), "made no significant difference"),
    ],
)
def test_a_node_or_two_are_not_sold_as_help(counts: tuple[int, ...], verdict: str) -> None:
    assert f"localization {verdict}:" in compared(*counts).sentence


def test_the_sentence_says_by_how_much_over_how_many_and_how_sure() -> None:
    assert compared(600, 200, 50, 150).sentence == (
        "On validation nodes localization helped: 80.0 % against 65.0 % of the matched global "
        "model, +15.0 points over 1,000 nodes (paired standard error 1.5; 200 nodes are right only "
        "with it, 50 only without)."
    )
