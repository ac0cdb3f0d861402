from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nodewise.bench import planted
from nodewise.bench.planted import PlantedGraph

SMALL = PlantedGraph(3000, width=16, labeled=0.5)


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "BLOCK", 700)


def test_edges_are_without_repeats_and_self_loops_and_about_as_many_as_asked() -> None:
    csc = PlantedGraph(20_000).csc()
    target = np.repeat(np.arange(csc.num_nodes), np.diff(csc.colptr))
    assert not (csc.row == target).any()
    assert (np.diff(target * csc.num_nodes + csc.row) > 0).all()
    assert 17 < csc.num_edges / csc.num_nodes < 21


def test_degrees_are_power_laws_in_both_directions() -> None:
    csc = PlantedGraph(20_000).csc()
    for degrees in (np.diff(csc.colptr), np.bincount(csc.row, minlength=csc.num_nodes)):
        assert degrees.max() > 15 * degrees.mean()


def test_neighbors_are_of_the_same_region_mostly() -> None:
    csc = SMALL.csc()
    region = np.arange(3000) // SMALL.classes % SMALL.contexts
    target = np.repeat(np.arange(3000), np.diff(csc.colptr))
    assert 0.85 < (region[csc.row] == region[target]).mean() < 0.97


def test_a_code_stands_for_another_class_in_another_region() -> None:
    """The mean of each kind, but for noise: the same vectors, permuted among the classes."""
    graph = PlantedGraph(60_000, width=32)
    x = np.concatenate([graph.features(nodes) for nodes in graph.blocks()])
    kinds = np.arange(60_000) % 24
    means = np.stack([x[kinds == kind].mean(0) for kind in range(24)]).reshape(6, 4, 32)
    codes = means - means.mean(1, keepdims=True)  # without the marker of the region
    for region in range(6):
        np.testing.assert_allclose(codes[region], np.roll(codes[0], -region, axis=0), atol=0.15)
    assert np.abs(codes[0][0] - codes[0][1]).max() > 0.8


def test_the_store_has_the_same_edges_and_the_split(tmp_path: Path) -> None:
    store, csc = SMALL.write(tmp_path), SMALL.csc()
    np.testing.assert_array_equal(store.csc.colptr, csc.colptr)
    np.testing.assert_array_equal(store.csc.row, csc.row)
    split = store.split
    assert split is not None
    labeled = (store.y >= 0).sum()
    assert 1350 < labeled == len(split.train) + len(split.val) + len(split.test) < 1650
    assert 0.5 < len(split.train) / labeled < 0.7
    assert (store.y[split.train] == split.train % SMALL.classes).all()


def test_a_store_of_the_same_settings_is_not_written_again(tmp_path: Path) -> None:
    first = SMALL.write(tmp_path)
    written = (tmp_path / "x.npy").stat().st_mtime_ns
    assert SMALL.write(tmp_path).sha256 == first.sha256
    assert (tmp_path / "x.npy").stat().st_mtime_ns == written
    assert replace(SMALL, seed=1).write(tmp_path).sha256 != first.sha256
