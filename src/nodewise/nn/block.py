"""C_v for the targets of a layer, with the fixed weight of every edge.

A `Block` is built from `edge_index` once, and cached while that tensor exists unchanged.
Restricted to some targets (`restrict`) it is one layer of their receptive field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from nodewise.errors import InputError
from nodewise.nn.sample import Sample
from nodewise.ops.content import content_of
from nodewise.ops.neighbors import Neighborhood, check_edge_index
from nodewise.ops.safety import has_numbers


@dataclass(frozen=True)
class BlockRule:
    """Which nodes belong to C_v, and the weights of the edges.

    Attributes:
        loops: Whether v belongs to C_v: "none" takes the edges as they are, "set" makes v a member
            exactly once (GCN, GAT), "extra" adds v once more (GIN). On a bipartite graph, "set"
            takes v for the source of that number, as PyG does; for "extra" the targets are the last
            of the sources.
        normalization: An edge's weight: as given ("none"), divided by the square roots of both
            ends' degrees ("symmetric", GCN), by the sum of weights over C_v ("mean"), or by the
            number of members of C_v ("count").
        self_weight: The weight of v in its own C_v before normalization.
        keeps_loop_weights: Whether a loop among the edges keeps its given weight; without weights
            all loops then weigh one, whatever `self_weight` (both as in PyG's GCN).
        max_neighbors: The largest size of C_v, the first by number; None keeps all.
        keeps_self: Whether such a cut always keeps v itself.
    """

    loops: Literal["none", "set", "extra"] = "set"
    normalization: Literal["none", "symmetric", "mean", "count"] = "none"
    self_weight: float = 1.0
    keeps_loop_weights: bool = False
    max_neighbors: int | None = None
    keeps_self: bool = False


@dataclass(frozen=True)
class Block:
    """One layer's graph.

    Attributes:
        neighbors: The edges. `neighbors.edge_id` is an edge's place in the caller's `edge_index`,
            or -1 for a loop that was added; such a loop is the last edge of its target.
        coefficient: The fixed weight of each edge, shape (E,); None where all are one.
        targets: Which source row each target is, shape (targets,); None where they are the same.
        sample: What edges and targets stand for where they were sampled; the coefficients then
            contain `multiplicity`. None where C_v is complete.
    """

    neighbors: Neighborhood
    coefficient: Tensor | None
    targets: Tensor | None = None
    sample: Sample | None = None

    @property
    def size(self) -> Tensor:
        """|C_v| of each target, shape (targets,)."""
        return self.neighbors.degree if self.sample is None else self.sample.size

    def shares(self, dtype: torch.dtype) -> Tensor:
        """The weights of a mean over C_v, shape (E,): 1 / |C_v| for each of its members."""
        if self.sample is None:
            return self.neighbors.shares(dtype)
        return self.sample.shares(self.neighbors.target).to(dtype)

    def restrict(self, targets: Tensor) -> tuple[Block, Tensor]:
        """The block of some targets only, and the nodes it needs as sources, ascending.

        Args:
            targets: Node numbers, shape (n,).
        """
        begin, length = self.neighbors.ptr[targets], self.neighbors.degree[targets]
        ptr = torch.cat([length.new_zeros(1), length.cumsum(0)])
        edge = torch.repeat_interleave(begin - ptr[:-1], length)
        edge = edge + torch.arange(edge.numel(), device=edge.device)
        nodes, where = torch.unique(
            torch.cat([self.neighbors.source[edge], targets]), return_inverse=True
        )
        neighbors = Neighborhood(
            where[: edge.numel()],
            torch.repeat_interleave(torch.arange(len(targets), device=edge.device), length),
            ptr,
            self.neighbors.edge_id[edge],
            nodes.numel(),
        )
        coefficient = None if self.coefficient is None else self.coefficient[edge]
        of_targets = None if torch.equal(nodes, targets) else where[edge.numel() :]
        return Block(neighbors, coefficient, of_targets), nodes

    def weighted_degree(self, dtype: torch.dtype) -> Tensor:
        """The sum of the edges' weights over C_v, shape (targets,)."""
        if self.coefficient is None:
            return self.neighbors.degree.to(dtype)
        return _weighted_degree(self.coefficient, self.neighbors)

    def rows_of_targets(self, x: Tensor) -> Tensor:
        """The targets' rows among the sources'."""
        return x if self.targets is None else x.index_select(0, self.targets)


def _add_loops(
    edge_index: Tensor, weight: Tensor, rule: BlockRule, itself: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Edges and loops, their weights, and each one's place in the caller's edges (-1 for loops).

    There are `count` loops, from `itself` to the first targets.
    """
    edge_id = torch.arange(edge_index.size(1), device=edge_index.device)
    if rule.loops == "none":
        return edge_index, weight, edge_id
    loop_weight = weight.new_full((count,), rule.self_weight)
    if rule.loops == "set":
        loop = edge_index[0] == itself[edge_index[1]]
        if torch.compiler.is_compiling():
            # A compiled graph has fixed shapes, so edges cannot be taken out of it.
            torch._assert_async(~loop.any(), "compiled models take edge_index without self-loops")
        else:
            if rule.keeps_loop_weights:
                loop_weight = loop_weight.index_put((edge_index[1, loop],), weight[loop])
            edge_index, edge_id, weight = edge_index[:, ~loop], edge_id[~loop], weight[~loop]
    nodes = torch.arange(count, device=edge_index.device)
    edges = torch.cat([edge_index, torch.stack([itself[:count], nodes])], 1)
    return edges, torch.cat([weight, loop_weight]), torch.cat([edge_id, torch.full_like(nodes, -1)])


def _first_by_number(
    neighbors: Neighborhood, limit: int, itself: Tensor, loops_first: bool
) -> Tensor:
    """The edges whose source is among the first `limit` of its target, by node number."""
    number = neighbors.source
    if loops_first:
        number = number.masked_fill(neighbors.source == itself[neighbors.target], -1)
    order = torch.argsort(neighbors.target * (neighbors.num_sources + 1) + number + 1, stable=True)
    rank = torch.arange(neighbors.num_edges, device=order.device) - neighbors.ptr[neighbors.target]
    keep = torch.empty_like(order, dtype=torch.bool)
    keep[order] = rank < limit
    return keep.nonzero().view(-1)


def _normalize(
    weight: Tensor, neighbors: Neighborhood, rule: BlockRule, itself: Tensor, degree: Tensor | None
) -> Tensor:
    if rule.normalization == "none":
        return weight
    if rule.normalization == "count":
        return weight / neighbors.degree[neighbors.target]
    if rule.normalization == "mean":
        total = _weighted_degree(weight, neighbors)
        return weight / total.masked_fill(total == 0, 1)[neighbors.target]
    total = _weighted_degree(weight, neighbors) if degree is None else degree
    _check_degree(total)
    root = total.pow(-0.5)
    root = root.masked_fill(root == float("inf"), 0)
    return root[neighbors.source] * weight * root[itself][neighbors.target]


def _weighted_degree(weight: Tensor, neighbors: Neighborhood) -> Tensor:
    """The sum of weights over C_v."""
    return weight.new_zeros(neighbors.num_targets).index_add(0, neighbors.target, weight)


def _check_degree(degree: Tensor) -> None:
    """Check that the sums of weights have square roots."""
    wrong = ~((degree >= 0) & (degree < torch.inf))
    if torch.compiler.is_compiling():
        torch._assert_async(~wrong.any(), "edge_weight adds up to less than 0 at a node")
    elif has_numbers(wrong) and bool(wrong.any()):
        node = int(wrong.nonzero()[0, 0])
        raise InputError(
            "edge_weight",
            "must add up to at least 0, and to a finite number, over the edges into node "
            f"{node}, because symmetric normalization divides by a square root",
            value=float(degree[node]),
            way_out="give weights of at least 0, or take the aggregator 'mean' or 'sum'",
        )


def build_block(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_targets: int,
    num_sources: int,
    rule: BlockRule,
    dtype: torch.dtype,
) -> Block:
    """Sort and weigh the edges by `rule`.

    Raises:
        InputError: An edge has a node number out of range.
    """
    first = num_sources - num_targets if rule.loops == "extra" else 0
    itself = torch.arange(first, first + num_targets, device=edge_index.device)
    return _build(edge_index, edge_weight, itself, num_sources, rule, dtype)


def build_part(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    itself: Tensor,
    num_sources: int,
    rule: BlockRule,
    dtype: torch.dtype,
    degree: Tensor | None = None,
) -> Block:
    """The block of some targets only, from all edges that lead to them.

    It is the block of the full graph, restricted to these targets, if sources are numbered in the
    order of their numbers there.

    Args:
        edge_index: The edges (2, e), numbers of sources above numbers of targets.
        edge_weight: The weight of each edge, or None.
        itself: Which source each target is, shape (targets,).
        num_sources: How many sources there are.
        rule: Which nodes belong to C_v, and the weights of the edges.
        dtype: The type of weights.
        degree: For symmetric normalization, `Block.weighted_degree` of each source under the same
            rule without normalization.
    """
    block = _build(edge_index, edge_weight, itself, num_sources, rule, dtype, degree)
    are_all = num_sources == itself.numel() and bool((itself.diff() == 1).all())
    return block if are_all else replace(block, targets=itself)


def _build(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    itself: Tensor,
    num_sources: int,
    rule: BlockRule,
    dtype: torch.dtype,
    degree: Tensor | None = None,
) -> Block:
    """The block of targets of which `itself` says which sources they are, or would be."""
    sizes = (itself.numel(), num_sources)
    # Before loops are taken out, since one of them may be out of range.
    check_edge_index(edge_index, *sizes)
    ones = torch.ones(edge_index.size(1), dtype=dtype, device=edge_index.device)
    given = ones if edge_weight is None else edge_weight
    if edge_weight is None and rule.keeps_loop_weights:
        rule = replace(rule, self_weight=1.0)
    edges, weight, edge_id = _add_loops(edge_index, given, rule, itself, min(sizes))
    neighbors = Neighborhood.from_edges(edges, *sizes)
    if rule.max_neighbors is not None:
        first = _first_by_number(neighbors, rule.max_neighbors, itself, rule.keeps_self)
        chosen = neighbors.edge_id[first]
        edges, edge_id, weight = edges[:, chosen], edge_id[chosen], weight[chosen]
        neighbors = Neighborhood.from_edges(edges, *sizes)
    weight = _normalize(weight[neighbors.edge_id], neighbors, rule, itself, degree)
    all_ones = rule.normalization == "none" and edge_weight is None and rule.self_weight == 1
    neighbors = replace(neighbors, edge_id=edge_id[neighbors.edge_id])
    return Block(neighbors, None if all_ones else weight)


_Key = tuple[int, int, BlockRule, torch.dtype]
# From an edge_index to its blocks, each with the content that it was built from.
_cache: WeakIdKeyDictionary = WeakIdKeyDictionary()


def block_of(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_targets: int,
    num_sources: int,
    rule: BlockRule,
    dtype: torch.dtype,
) -> Block:
    """As `build_block`, cached by `edge_index` and rule while that tensor is unchanged."""
    sizes = (num_targets, num_sources)
    if edge_weight is not None or torch.compiler.is_compiling():
        return build_block(edge_index, edge_weight, *sizes, rule, dtype)
    if edge_index not in _cache:
        _cache[edge_index] = {}
    cached: dict[_Key, tuple[object, Block]] = _cache[edge_index]
    key, content = (*sizes, rule, dtype), content_of(edge_index)
    if key not in cached or cached[key][0] != content:
        with torch.inference_mode(False):  # a later call may need gradients
            cached[key] = content, build_block(edge_index, None, *sizes, rule, dtype)
    return cached[key][1]
