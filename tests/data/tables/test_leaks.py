"""A feature that copies the label is pointed out, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import nodewise as nw

COUNT, CLASSES = 300, np.array(["math", "physics", "biology"])
RANDOM = np.random.default_rng(0)
Y = RANDOM.integers(0, 3, COUNT)
EDGES = pd.DataFrame({"source": range(COUNT - 1), "target": range(1, COUNT)})
YEARS = RANDOM.integers(1990, 2020, COUNT)


def flipped(share: float) -> Any:
    """The class numbers, a share of them wrong."""
    wrong = RANDOM.random(COUNT) < share
    return np.where(wrong, (Y + 1) % 3, Y)


def warned(column: Any, labels: Any = CLASSES[Y], **options: Any) -> tuple[str, ...]:
    nodes = pd.DataFrame({"id": range(COUNT), "topic": labels, "copy": column, "year": YEARS})
    return nw.from_pandas(nodes, EDGES, label="topic", **options).summary.warnings


@pytest.mark.parametrize(
    "column",
    [Y, Y * 1.5 + 0.25, CLASSES[::-1][Y], [f"{y}-{i % 3}" for i, y in enumerate(Y)]],
    ids=["numbers", "fractions", "names", "three names for each class"],
)
def test_a_copy_of_the_label_is_pointed_out(column: Any) -> None:
    (warning,) = warned(column)
    assert "column 'copy' determines the label on 100.0 % of 300 labeled nodes" in warning
    assert warning.endswith("(--features year)")


def test_some_wrong_values_and_empty_cells_do_not_hide_it() -> None:
    copy = pd.Series(flipped(0.003), dtype="Int64")
    copy[:7] = pd.NA
    labels = np.where(np.arange(COUNT) < 200, CLASSES[Y], "")
    (warning,) = warned(copy, labels, missing="zero")
    assert "of 193 labeled nodes" in warning


@pytest.mark.parametrize(
    "column",
    [
        flipped(0.05),
        Y > 0,
        np.arange(COUNT),
        [f"title {i}" for i in range(COUNT)],
        [f"{y}-{i % 20}" for i, y in enumerate(Y)],
        Y + RANDOM.normal(0, 0.01, COUNT),
        np.zeros(COUNT),
    ],
    ids=["correlated", "one class", "ids", "titles", "many names", "measured", "constant"],
)
def test_other_columns_are_no_copies(column: Any) -> None:
    assert warned(column) == ()


def test_a_large_class_is_no_copy() -> None:
    rare = np.where(np.arange(COUNT) < 3, "rare", "usual")
    assert warned(np.arange(COUNT) % 2, rare) == ()
    (warning,) = warned(rare == "rare", rare)
    assert "100.0 %" in warning


def test_few_labels_say_nothing() -> None:
    labels = np.where(np.arange(COUNT) < 12, CLASSES[Y], "")
    assert warned(Y, labels) == ()


def test_it_is_in_the_summary_and_later_tables_are_not_looked_at() -> None:
    nodes = pd.DataFrame({"id": range(COUNT), "topic": CLASSES[Y], "copy": Y})
    graph = nw.from_pandas(nodes, EDGES, label="topic")
    assert "WARNING   column 'copy' determines the label" in str(graph.summary)
    assert str(graph.summary).endswith("(--features '')")
    later = nw.from_pandas(nodes, EDGES, preprocessing=graph.preprocessing)
    assert later.summary.warnings == ()
