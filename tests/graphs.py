"""Generated graphs: isolated nodes, self-loops, repeated and directed edges, none, one node."""

from __future__ import annotations

from typing import NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows

# Six nodes: a loop, a repeated edge, and nodes with none, one and several edges that lead to them.
NINE_EDGES = torch.tensor([[0, 1, 2, 2, 2, 4, 0, 3, 5], [1, 1, 0, 0, 3, 3, 3, 5, 2]])
# Five nodes: a cycle and a chord.
SIX_EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])


class MessageCase(NamedTuple):
    x: Tensor
    weight: Tensor
    scale: tuple[Tensor, Tensor]
    shift: tuple[Tensor, Tensor]
    neighbors: Neighborhood
    drop: DropConnect | None


@st.composite
def edge_lists(draw: st.DrawFn, max_nodes: int = 9, max_edges: int = 24) -> tuple[Tensor, int]:
    nodes = draw(st.integers(1, max_nodes))
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    edges = draw(st.lists(ends, max_size=max_edges))
    return torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous(), nodes


@st.composite
def message_cases(draw: st.DrawFn) -> MessageCase:
    edge_index, nodes = draw(edge_lists())
    width, out = draw(st.integers(1, 20)), draw(st.integers(1, 11))
    heads = draw(st.sampled_from([1, 2, 3, 8, 16]))
    bottleneck = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16]))
    density = draw(st.sampled_from([0.0, 0.15, 1.0]))
    rate = draw(st.sampled_from([0.0, 0.4]))
    make = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=make, dtype=torch.float64)

    kept = torch.rand(nodes, width, generator=make) < density
    scale, shift = (
        (normal(nodes, heads, bottleneck), normal(heads, width, bottleneck)) for _ in range(2)
    )
    drop = DropConnect(rate, torch.tensor(draw(st.integers(0, 2**31 - 1)))) if rate else None
    neighbors = Neighborhood.from_edges(edge_index, nodes)
    return MessageCase(
        normal(nodes, width) * kept, normal(heads, out, width), scale, shift, neighbors, drop
    )


def sparse(x: Tensor) -> SparseRows:
    return SparseRows.from_csr(x.to_sparse_csr())
