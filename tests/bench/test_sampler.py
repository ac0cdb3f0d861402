from __future__ import annotations

import json

import numpy as np
import torch
from typer.testing import CliRunner

from nodewise.bench.planted import PlantedGraph
from nodewise.bench.sampler import TorchSampler
from nodewise.cli.app import app

GRAPH = PlantedGraph(2000).csc()
FANOUTS = (4, 3)


def test_the_torch_sampler_does_the_same_work() -> None:
    """Each target has as many neighbors as with ours; they are its own, and differ."""
    seeds = np.random.default_rng(0).permutation(2000)[:50]
    batch = TorchSampler(GRAPH, FANOUTS).sample(torch.from_numpy(seeds), 7)
    n_id, (source, target), e_id = batch.n_id.numpy(), batch.edge_index.numpy(), batch.e_id.numpy()
    assert n_id[:50].tolist() == seeds.tolist() and len(set(n_id)) == len(n_id)
    assert len(set(e_id)) == len(e_id)
    np.testing.assert_array_equal(GRAPH.row[e_id], n_id[source])
    ends = np.searchsorted(GRAPH.colptr, e_id, side="right") - 1
    np.testing.assert_array_equal(ends, n_id[target])
    degrees = np.bincount(target)
    expected = np.minimum(GRAPH.degrees(n_id[: len(degrees)]), 3)
    expected[:50] = np.minimum(GRAPH.degrees(seeds), 4)
    np.testing.assert_array_equal(degrees, expected)


def test_its_subsets_are_all_alike() -> None:
    sampler, node = TorchSampler(GRAPH, (3,)), int(np.diff(GRAPH.colptr).argmin())
    degree = int(GRAPH.degrees(np.array([node]))[0])
    drawn = [sampler.sample(torch.tensor([node]), seed).e_id for seed in range(3000)]
    counts = np.bincount(torch.cat(drawn).numpy() - int(GRAPH.colptr[node]), minlength=degree)
    expected = 3000 * 3 / degree
    assert (np.abs(counts - expected) < 5 * expected**0.5).all()


def test_the_command_reports_both() -> None:
    given = ["--nodes", "20000", "--batches", "2", "--repeats", "1", "--json"]
    result = CliRunner().invoke(app, ["bench", "sampler", *given])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout.splitlines()[-1])
    ratio = found["edges_per_second"] / found["torch_edges_per_second"]
    assert found["ratio_vs_torch"] == ratio and found["fanouts"] == [15, 10]


def test_more_seeds_than_nodes_are_refused() -> None:
    result = CliRunner().invoke(app, ["bench", "sampler", "--nodes", "20000", "--batches", "20"])
    assert "have more seeds than nodes" in str(result.exception)
