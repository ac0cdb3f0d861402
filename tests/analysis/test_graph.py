"""A whole graph: what localization corrected and spoiled, and where."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nodewise.analysis.graph import Counts, analyze_graph
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph


def test_corrected_and_spoiled_are_the_difference_of_two_accuracies() -> None:
    data = small_graph()
    data.y[:6] = -1
    view = random_view(data=data)
    y = data.y.numpy()
    after, before = (view.probabilities(on).argmax(1) == y for on in (None, ()))
    corrected, spoiled = view.corrected(), view.spoiled()
    assert corrected["id"].tolist() == np.flatnonzero(after & ~before & (y >= 0)).tolist()
    assert spoiled["id"].tolist() == np.flatnonzero(before & ~after & (y >= 0)).tolist()
    assert len(corrected) and len(spoiled)
    assert view.graph.corrected["id"].tolist() == corrected["id"].tolist()
    assert view.graph.spoiled["id"].tolist() == spoiled["id"].tolist()
    counts = view.graph.counts["labeled"]
    assert (counts.nodes, counts.corrected, counts.spoiled) == (54, len(corrected), len(spoiled))
    gain = counts.corrected - counts.spoiled
    assert counts.accuracy - counts.accuracy_without == pytest.approx(gain / 54)
    assert view.to_frame()["correct"].isna().sum() == 6


def a_table() -> pd.DataFrame:
    """Six nodes, of which the last has no label: `a` is far from the global weights, `b` near."""
    return pd.DataFrame(
        {
            "id": list("pqrstu"),
            "label": ["a", "a", "b", "b", "b", None],
            "part": ["train", "test", "train", "test", "test", None],
            "correct": [True, True, True, False, True, None],
            "without_global": ["a", "b", "b", "b", "b", "a"],
            "distance": [6.0, 5.0, 1.0, 2.0, 3.0, 4.0],
            "degree": [99, 9, 1, 2, 3, 4],
            "homophily": [0.5] * 6,
            "confidence": [-99.0, -9.0, -1.0, -2.0, -3.0, np.nan],
        }
    )


def test_counts_groups_and_correlations_of_a_table_by_hand() -> None:
    found = analyze_graph(a_table(), ("node",), None)
    assert found.counts["labeled"] == Counts(5, 0.8, 0.8, 1, 1)
    assert found.counts["train"] == Counts(2, 1.0, 1.0, 0, 0) and "val" not in found.counts
    assert found.corrected["id"].tolist() == ["q"] and found.spoiled["id"].tolist() == ["s"]
    assert found.most_localized is not None
    assert found.most_localized["id"].tolist() == list("pquts" + "r")
    assert found.correlations["degree"] == pytest.approx(1)
    assert found.correlations["confidence"] == pytest.approx(-1)
    assert "homophily" not in found.correlations  # the same everywhere
    assert {(g.by, g.group): (g.nodes, g.mean, g.median) for g in found.groups} == {
        ("label", "a"): (2, 5.5, 5.5),
        ("label", "b"): (3, 2.0, 2.0),
        ("correct", "wrong"): (1, 2.0, 2.0),
        ("correct", "right"): (4, 3.75, 4.0),
    }


def test_nothing_is_said_of_distances_where_nothing_is_localized() -> None:
    found = analyze_graph(a_table().assign(distance=np.nan), (), None)
    assert found.most_localized is None and found.groups == () and found.correlations == {}
    content = found.to_dict()
    assert content["most_localized"] is None and content["clusters"] == []
    assert content["corrected"][0]["id"] == "q" and content["corrected"][0]["distance"] is None
