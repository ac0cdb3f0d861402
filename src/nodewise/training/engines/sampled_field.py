"""From a sampled batch to a receptive field: a `Block` for each layer, sums weighed to be unbiased.

A target v with d edges, k of them sampled, has multiplicity d / k on each: the sum over its C_v is
then right in expectation, whatever the sample. Normalizations use all edges of the graph: GCN's the
degrees of both ends, a mean |C_v|. With all neighbors, the field is that of the full graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.sampling.edge_sums import EdgeSums, IntArray
from nodewise.data.sampling.sampler import SampledBatch
from nodewise.errors import InputError
from nodewise.models.receptive_field import ReceptiveField
from nodewise.nn.block import Block, BlockRule
from nodewise.nn.sample import Sample
from nodewise.ops.neighbors import Neighborhood
from nodewise.training.engines.reach import Reach, context_sizes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FieldMaker:
    """Makes the receptive fields of a model's layers from sampled batches.

    Attributes:
        edges: All edges of the graph.
        rules: The rule of each layer, first layer first.
        reach: The full receptive field of the nodes that seeds are drawn from.
        dtype: The type of the model's weights.
    """

    edges: EdgeSums
    rules: Sequence[BlockRule]
    reach: Reach
    dtype: torch.dtype

    @classmethod
    def of(
        cls, edges: EdgeSums, rules: Sequence[BlockRule], nodes: IntArray, dtype: torch.dtype
    ) -> FieldMaker:
        """For batches of some nodes.

        Raises:
            InputError: A rule takes the first neighbors by number, not a sample.
        """
        weighted = edges.graph.edge_weight is not None
        return cls(
            edges,
            [_checked(rule, weighted) for rule in rules],
            Reach.of(edges, rules, nodes),
            dtype,
        )

    def __call__(self, batch: SampledBatch, seed_weight: float) -> ReceptiveField:
        """The field of a batch's seeds.

        Args:
            batch: The batch, of as many hops as the model has layers.
            seed_weight: How many nodes each seed stands for.
        """
        edges = _sampled_edges(self.edges, batch)
        weights = self.reach.weights(batch, edges.multiplicity, seed_weight)
        layers = reversed(self.rules)
        blocks = [self._block(batch, edges, weights, *layer) for layer in enumerate(layers)]
        return ReceptiveField(torch.from_numpy(batch.n_id), tuple(reversed(blocks)))

    def _block(
        self,
        batch: SampledBatch,
        edges: _SampledEdges,
        weights: Sequence[Floats],
        hop: int,
        rule: BlockRule,
    ) -> Block:
        """The layer whose targets are `hop` hops away from the seeds, or fewer."""
        targets = len(weights[hop])
        sources = sum(batch.num_sampled_nodes[: hop + 2])
        layer = edges.first(targets).under(rule, self.edges, batch.n_id[:targets])
        coefficient = self._coefficients(batch, layer, rule, sources)
        neighbors = Neighborhood(
            torch.from_numpy(layer.row),
            torch.from_numpy(layer.target),
            torch.from_numpy(layer.ptr),
            torch.from_numpy(layer.e_id),
            sources,
        )
        sample = Sample(
            self._tensor(layer.multiplicity),
            torch.from_numpy(context_sizes(self.edges, rule, batch.n_id[:targets])),
            self._tensor(weights[hop]),
            self.reach.num_targets[hop],
            self.reach.num_edges[hop],
        )
        return Block(neighbors, self._tensor(coefficient), torch.arange(targets), sample)

    def _coefficients(
        self, batch: SampledBatch, layer: _SampledEdges, rule: BlockRule, sources: int
    ) -> Floats:
        """The weight of each edge in a sum over C_v, times how many it stands for."""
        weight: Floats = layer.weight * layer.multiplicity
        if rule.normalization == "none":
            return weight
        if rule.normalization == "count":
            sizes = context_sizes(self.edges, rule, batch.n_id[: len(layer.ptr) - 1])
            return np.asarray(weight / sizes[layer.target])
        degree = _weighted_degrees(self.edges, rule, batch.n_id[:sources])
        if rule.normalization == "mean":
            return np.asarray(weight / np.where(degree == 0, 1, degree)[layer.target])
        if (degree < 0).any():
            raise InputError(
                "edge_weight",
                "must add up to at least 0 over the edges into a node, because symmetric "
                "normalization divides by a square root",
                value=float(degree.min()),
                way_out="give weights of at least 0, or take the aggregator 'mean' or 'sum'",
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            root = degree**-0.5
        root[np.isinf(root)] = 0
        return np.asarray(root[layer.row] * weight * root[layer.target])

    def _tensor(self, array: Floats) -> Tensor:
        return torch.from_numpy(array).to(self.dtype)


@dataclass(frozen=True, eq=False)
class _SampledEdges:
    """Edges sorted by target: `ptr`, source `row`, and the numbers that each has."""

    ptr: NDArray[Any]
    row: NDArray[Any]
    target: NDArray[Any]
    e_id: NDArray[Any]
    weight: NDArray[Any]
    multiplicity: NDArray[Any]

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.row, self.target, self.e_id, self.weight, self.multiplicity

    def first(self, targets: int) -> _SampledEdges:
        """Those of the first targets."""
        edges = slice(int(self.ptr[targets]))
        return _SampledEdges(self.ptr[: targets + 1], *(array[edges] for array in self._arrays))

    def under(self, rule: BlockRule, edges: EdgeSums, nodes: IntArray) -> _SampledEdges:
        """With the loops that a rule takes out and adds; added ones are the last of their target.

        Args:
            rule: The rule.
            edges: All edges of the graph.
            nodes: The number of each target in the graph.
        """
        if rule.loops == "none":
            return self
        loop_weight = np.full(len(nodes), rule.self_weight)
        kept = self
        if rule.loops == "set":
            kept = self if edges.loops is None else self._where(self.row != self.target)
            if rule.keeps_loop_weights:
                loop_weight = edges.weights_of_loops(nodes, rule.self_weight)
        return kept._with_loops(loop_weight)

    def _where(self, keep: NDArray[np.bool_]) -> _SampledEdges:
        counts = np.bincount(self.target[keep], minlength=len(self.ptr) - 1)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        return _SampledEdges(ptr, *(array[keep] for array in self._arrays))

    def _with_loops(self, weight: Floats) -> _SampledEdges:
        targets = np.arange(len(self.ptr) - 1)
        ptr = self.ptr + np.arange(len(self.ptr))
        at, loops = np.arange(len(self.row)) + self.target, ptr[1:] - 1

        found = []
        for array, of_loops in zip(self._arrays, (targets, targets, -1, weight, 1.0), strict=True):
            found.append(np.empty(int(ptr[-1]), array.dtype))
            found[-1][at], found[-1][loops] = array, of_loops
        return _SampledEdges(ptr, *found)


def _sampled_edges(edges: EdgeSums, batch: SampledBatch) -> _SampledEdges:
    """The edges of a batch, with the numbers that the graph gives them."""
    counts = np.diff(batch.ptr)
    target = np.repeat(np.arange(len(counts)), counts)
    all_edges = edges.counts(batch.n_id[: len(counts)])
    with np.errstate(divide="ignore", invalid="ignore"):
        multiplicity = (all_edges / counts)[target]
    given = edges.graph.edge_weight
    weight = np.ones(len(batch.row)) if given is None else given[batch.e_id].astype(np.float64)
    return _SampledEdges(batch.ptr, batch.row, target, batch.e_id, weight, multiplicity)


def _weighted_degrees(edges: EdgeSums, rule: BlockRule, nodes: IntArray) -> Floats:
    """The sum of the weights of each node's C_v in the graph."""
    sums = edges.sums(nodes, loops=rule.loops != "set")
    if rule.loops == "none":
        return sums
    if rule.loops == "set" and rule.keeps_loop_weights:
        return sums + edges.weights_of_loops(nodes, rule.self_weight)
    return sums + rule.self_weight


def _checked(rule: BlockRule, weighted: bool) -> BlockRule:
    """The rule as `build_block` applies it."""
    if rule.max_neighbors is not None:
        raise InputError(
            "max_neighbors",
            "takes the first neighbors by number, which mini-batches sample instead",
            value=rule.max_neighbors,
            way_out="set max_neighbors=0, and give --fanout",
        )
    if rule.keeps_loop_weights and not weighted:
        return replace(rule, self_weight=1.0)
    return rule
