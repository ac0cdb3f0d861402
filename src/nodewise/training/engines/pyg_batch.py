"""Batches of PyG's `NeighborLoader`, as ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.sampler import SampledBatch
from nodewise.errors import InputError

_WAY_OUT = "sample with NeighborLoader(data, num_neighbors=[10, 10], input_nodes=...)"


def from_pyg(batch: Any, graph: CscGraph, hops: int) -> SampledBatch:
    """A batch of `torch_geometric.loader.NeighborLoader`, its edges sorted by target.

    Args:
        batch: The batch, with `n_id`, `edge_index`, `batch_size` and `num_sampled_nodes`.
        graph: The edges that it was sampled from.
        hops: How many hops it must have.

    Raises:
        InputError: The batch is not of that shape, or the graph has weights.
    """
    missing = [key for key in ("n_id", "batch_size", "num_sampled_nodes") if key not in batch]
    if missing:
        raise InputError("loader", f"has batches without {missing[0]}", way_out=_WAY_OUT)
    if graph.edge_weight is not None:
        raise InputError(
            "loader",
            "samples a graph with weights of edges, whose places in a batch PyG does not name",
            way_out="leave it out: batches are then sampled here",
        )
    sizes = [int(size) for size in batch.num_sampled_nodes]
    if len(sizes) != hops + 1:
        raise InputError(
            "loader",
            f"samples {len(sizes) - 1} hops, and the model has {hops} layers",
            value=sizes,
            way_out=_WAY_OUT,
        )
    targets = sum(sizes[:-1])
    target, order = torch.sort(batch.edge_index[1].cpu(), stable=True)
    if len(target) and int(target[-1]) >= targets:
        raise InputError(
            "loader",
            "has edges that lead to the nodes of the last hop",
            way_out="take subgraph_type='directional'",
        )
    counts = np.bincount(target.numpy(), minlength=targets)
    seeds = int(batch.batch_size)
    return SampledBatch(
        batch.n_id.cpu().numpy(),
        np.concatenate([[0], np.cumsum(counts)]),
        batch.edge_index[0].cpu()[order].numpy(),
        np.arange(len(target)),
        sizes,
        [int(size) for size in batch.get("num_sampled_edges", [len(target)])],
        np.arange(seeds),
        seeds,
    )
