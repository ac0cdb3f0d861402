"""Facts of columns, gathered block by block."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.data.streaming.same_store import assert_same, tables, write

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("missing", ["mean", "median", "zero"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_cells_are_filled_as_in_memory(missing: str, ending: str) -> None:
    nodes, edges = tables()
    random = np.random.default_rng(1)
    for column in ("size", "count", "flag", "kind"):
        nodes[column] = nodes[column].mask(random.random(300) < 0.1)
    assert_same(write(nodes, edges, ending), label="topic", missing=missing)


def test_columns_that_copy_the_label_are_warned_of() -> None:
    nodes, edges = tables()
    number = nodes["topic"].map({"math": 3, "physics": 1, "art": 2, "": None})
    random = pd.Series(np.random.default_rng(5).integers(0, 9, 300))
    nodes["copy"] = number.fillna(random).astype(int)
    nodes["word"] = nodes["topic"].replace("", "none")
    store = assert_same(write(nodes, edges), label="topic")
    warned = " ".join(store.meta["reading"]["warnings"])
    assert "'copy' determines the label" in warned and "'word' determines the label" in warned
