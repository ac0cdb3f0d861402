"""The non-zeros of all neighbors' rows, in the order in which segment sums read them.

A visit is an edge (u, v) and an entry j of row u. A column use is a pair (v, j) with at least one
visit: all that depends on v and j is computed once for it. Both depend on the places of the entries
only, not on their values, so that batches can be cached with a graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nodewise.ops.neighbors import Neighborhood, offsets
from nodewise.ops.sparse import SparseRows

# Batches of so many visits or fewer in all are cached with the rows: 16 bytes for each visit and 20
# for each column use, of which there are no more than visits: 150 MB at most.
CACHED_VISITS = 1 << 22


class VisitBatch(NamedTuple):
    """The visits of some edges and their column uses; all indices are int32.

    Attributes:
        first: The first target.
        last: The one behind the last target.
        edges: Which edges; their numbers below start at its beginning.
        entry: The entry of each visit, visits sorted by edge.
        use: The column use of each visit.
        ptr: Edge e's visits are `ptr[e]` to `ptr[e + 1]`.
        entry_by_use: As `entry`, visits sorted by column use.
        edge_by_use: The edge of each visit, in that order.
        use_ptr: A column use's visits in that order.
        target: v of each column use (v, j), less `first`; sorted by v, then j.
        col: j of each column use.
        target_ptr: The uses of each target.
        by_col: The uses sorted by j.
        target_by_col: `target` in that order.
        col_ptr: The uses of each column in that order.
    """

    first: int
    last: int
    edges: slice
    entry: Tensor
    use: Tensor
    ptr: Tensor
    entry_by_use: Tensor
    edge_by_use: Tensor
    use_ptr: Tensor
    target: Tensor
    col: Tensor
    target_ptr: Tensor
    by_col: Tensor
    target_by_col: Tensor
    col_ptr: Tensor


def visit_batches(x: SparseRows, neighbors: Neighborhood, limit: int) -> Iterator[VisitBatch]:
    """Batches of the visits of all edges, of at most `limit` visits unless a single edge has more.

    Those of few visits are cached with the places of `x` until other edges or a limit are given.
    """
    cached = x.cached_visits
    if cached and cached[0] is neighbors and cached[1] == limit:
        yield from cached[2]
        return
    lengths = (x.crow[1:] - x.crow[:-1]).long().index_select(0, neighbors.source)
    visits = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    runs = edge_runs(neighbors.ptr, visits, limit)
    with torch.inference_mode(False):  # a later call may need gradients
        batches = (_visit_batch(x, neighbors, *run) for run in runs)
        if int(visits[-1]) > CACHED_VISITS:
            yield from batches
            return
        cached[:] = neighbors, limit, list(batches)
    yield from cached[2]


def edge_runs(ptr: Tensor, cost: Tensor | None, limit: int) -> Iterator[tuple[int, int, slice]]:
    """Cut targets into chunks (first, last, edges) of bounded cost; at least one of them.

    The edges of a single target that exceeds the limit are cut, too.

    Args:
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`.
        cost: What all edges before each edge cost, shape (E + 1,); one for each edge if not given.
        limit: The largest cost of a chunk with more than one edge.
    """
    ends, limit, first = ptr.tolist(), max(limit, 1), 0
    costs = ends if cost is None else cost.index_select(0, ptr).tolist()
    for v in range(1, len(ends)):
        if v + 1 == len(ends) or costs[v + 1] - costs[first] > limit or v + 1 - first > limit:
            for edges in _runs(ends[first], ends[v], cost, limit, costs[v] - costs[first]):
                yield first, v, edges
            first = v
    if len(ends) == 1:
        yield 0, 0, slice(0, 0)


def _runs(begin: int, end: int, cost: Tensor | None, limit: int, total: int) -> Iterator[slice]:
    """Edges `begin` to `end`, which cost `total` together, in runs of bounded cost."""
    while total > limit and begin < end:
        stop = begin + limit
        if cost is not None:
            stop = int(torch.searchsorted(cost, cost[begin] + limit, right=True)) - 1
        stop = min(max(stop, begin + 1), end)
        yield slice(begin, stop)
        begin = stop
    if total <= limit:
        yield slice(begin, end)


def _visit_batch(
    x: SparseRows, neighbors: Neighborhood, first: int, last: int, edges: slice
) -> VisitBatch:
    """The visits of these edges, sorted both ways."""
    source, target = neighbors.source[edges], neighbors.target[edges] - first
    lengths = (x.crow[1:] - x.crow[:-1]).long().index_select(0, source)
    edge = torch.repeat_interleave(lengths)
    ptr = offsets(edge, source.numel())
    begins = x.crow.long().index_select(0, source) - ptr[:-1]
    entry = torch.arange(edge.numel(), device=edge.device) + begins[edge]
    pairs, order = torch.sort(target[edge] * x.width + x.col[entry], stable=True)
    is_new = torch.ones_like(pairs, dtype=torch.bool)
    is_new[1:] = pairs[1:] != pairs[:-1]
    sorted_use = is_new.long().cumsum(0) - 1
    pairs = pairs[is_new]
    use_target, col = torch.div(pairs, x.width, rounding_mode="floor"), pairs % max(x.width, 1)
    sorted_col, by_col = torch.sort(col, stable=True)
    parts = (
        entry,
        torch.empty_like(sorted_use).scatter_(0, order, sorted_use),
        ptr,
        entry[order],
        edge[order],
        offsets(sorted_use, pairs.numel()),
        use_target,
        col,
        offsets(use_target, last - first),
        by_col,
        use_target[by_col],
        offsets(sorted_col, x.width),
    )
    return VisitBatch(first, last, edges, *(part.int() for part in parts))
