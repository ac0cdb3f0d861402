"""A store is written block by block, and is none before it is complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodewise.data.stores.meta import is_store
from nodewise.data.stores.store import GraphStore
from nodewise.data.stores.writer import StoreWriter
from nodewise.errors import GraphError
from tests.data.stores.test_store import X, write


def test_blocks_do_not_change_the_files(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a", block=3), write(tmp_path / "b", block=10)
    assert one.sha256 == other.sha256
    for file in one.folder.glob("*.npy"):
        assert file.read_bytes() == (other.folder / file.name).read_bytes()


def test_integers_as_names_stay_integers(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, 2, "p", ids="integers") as writer:
        writer.add_nodes(np.ones((2, 1)), ids=[30, -4])
        writer.add_edges([1, 0], [1])
        assert writer.finish().ids() == [30, -4]


def test_a_store_that_is_written_anew_is_none_until_it_is_complete(tmp_path: Path) -> None:
    before = write(tmp_path)
    with StoreWriter(tmp_path, 2, "p") as writer:
        writer.add_nodes(np.ones((1, 1)))
    assert not is_store(tmp_path)
    with pytest.raises(GraphError, match="was not completed"):
        GraphStore.open(tmp_path)
    np.testing.assert_array_equal(before.x, X)  # who has it open keeps it


def test_what_is_missing_at_the_end_is_named(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, 2, "p") as writer:
        writer.add_nodes(np.ones((2, 1)))
        with pytest.raises(GraphError, match="colptr: must have 3 entries"):
            writer.finish()
    assert not is_store(tmp_path)


def test_features_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, 4, "pq") as writer:
        writer.add_nodes(np.ones((2, 2)))
        with pytest.raises(GraphError, match=r"x\[3, 0\]: must be finite"):
            writer.add_nodes([[1.0, 2.0], [np.nan, 1.0]])
