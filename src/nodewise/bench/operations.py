"""Operations of a forward pass, counted from sizes: torch cannot count those of our kernels.

A multiply-add is two operations. `products` are those of matrix products, as torch's own
FlopCounterMode counts them; `entrywise` is all the rest, one for every number that an addition, a
product, an activation or an exponential gives. Notation: N targets, E edges with loops, H heads, i
and o the widths of a layer's input and output, k that of the bottleneck; nnz(x) are the entries of
the input that are stored, N i of a dense one.

| part | products | entrywise |
|---|---|---|
| W h_u, one W for all | 2 H o nnz(x) | |
| W_v h_u | 2 H o (nnz(h_u) summed over edges) | W_v: 2 H o (columns in use, over targets) |
| a_v, b_v from c_v | 2 x 2 H k nnz(x) + 2 x 2 N H i k | pooling 2 E 2 H k, then 3 N H i |
| the same, no bottleneck | 2 x 2 N H i i | pooling 2 E i, then 3 N H i |
| bias_v from c_v | 2 x 2 H o nnz(x) | pooling 2 E 2 H o, then 5 N H o |
| a_uv, b_uv, their use | 4 x 2 H o nnz(x) | 7 E H o |
| attention of W h | 2 (2 H o i + 2 H nnz(x)) | 6 E H |
| attention of messages | | 2 E H o + 2 N H o + 6 E H |
| bias or activation of messages | | E H o each |
| the sum over C_v | | 2 E H o |
| bias, activation of a layer | | N H o each |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from scipy.sparse import csr_matrix
from torch import Tensor

from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.nn.aggregators import Aggregator, Gat, WeightedSum
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import Features, SparseRows, as_features


@dataclass(frozen=True)
class Operations:
    """Operations of matrix products, and all others."""

    products: int = 0
    entrywise: int = 0

    @property
    def total(self) -> int:
        """All operations."""
        return self.products + self.entrywise

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.products + other.products, self.entrywise + other.entrywise)


@dataclass(frozen=True)
class LayerSizes:
    """The sizes of one layer's input.

    Attributes:
        nodes: Targets, which are also the sources.
        edges: Members of all C_v.
        entries: Numbers in the nodes' rows.
        edge_entries: Numbers in the sources' rows, summed over edges.
        columns: Columns that occur in C_v, summed over targets.
    """

    nodes: int
    edges: int
    entries: int
    edge_entries: int
    columns: int

    @classmethod
    def of(cls, x: Features, neighbors: Neighborhood) -> LayerSizes:
        """The sizes of these rows and edges."""
        if isinstance(x, SparseRows):
            lengths = (x.crow[1:] - x.crow[:-1]).long()
            along = int(lengths[neighbors.source].sum())
            columns = count_columns(x, neighbors)
            return cls(neighbors.num_targets, neighbors.num_edges, x.col.numel(), along, columns)
        return cls.dense(neighbors, x.size(1))

    @classmethod
    def dense(cls, neighbors: Neighborhood, width: int) -> LayerSizes:
        """The sizes of dense rows."""
        nodes, edges = neighbors.num_targets, neighbors.num_edges
        return cls(nodes, edges, nodes * width, edges * width, nodes * width)


def count_columns(rows: SparseRows, neighbors: Neighborhood) -> int:
    """The number of columns that occur in C_v, summed over targets: a product of patterns."""

    def pattern(ptr: Tensor, index: Tensor, shape: tuple[int, int]) -> csr_matrix:
        return csr_matrix((np.ones(index.numel()), index.numpy(), ptr.numpy()), shape)

    graph = pattern(neighbors.ptr, neighbors.source, (neighbors.num_targets, rows.num_rows))
    return int((graph @ pattern(rows.crow, rows.col, (rows.num_rows, rows.width))).nnz)


def operations(model: Classifier, x: Features, edge_index: Tensor) -> Operations:
    """The operations of a forward pass over all nodes, without dropout.

    Args:
        model: A stack of convolutions.
        x: The input: dense rows count all entries, sparse ones those stored.
        edge_index: The edges, shape (2, E).

    Raises:
        InputError: A layer is of a kind whose operations are not counted.
    """
    x, total = as_features(x), Operations()
    count = x.num_rows if isinstance(x, SparseRows) else x.size(0)
    for i, conv in enumerate(model.layers):
        neighbors = conv.block(edge_index, (count, count)).neighbors
        sizes = LayerSizes.dense(neighbors, conv.widths[0]) if i else LayerSizes.of(x, neighbors)
        activated = i + 1 < len(model.layers) or model.output_act is not None
        total += of_layer(conv, sizes)
        total += Operations(entrywise=activated * count * conv.heads * conv.out_channels)
    return total


@singledispatch
def of_layer(conv: BaseConv, sizes: LayerSizes) -> Operations:
    """Operations of one layer."""
    raise InputError(
        "model",
        "operations of such a layer are not counted",
        value=type(conv).__name__,
        way_out="count a model of localized layers or its base model",
    )


@of_layer.register
def _(conv: LocalizedConv, sizes: LayerSizes) -> Operations:
    out = conv.heads * conv.out_channels
    total = _of_messages(conv, sizes) + of_aggregator(conv.aggregator, conv, sizes)
    if conv.edge_modulator is not None:
        total += Operations(8 * out * sizes.entries, 7 * sizes.edges * out)
    if conv.bias_modulator is not None:
        pooling, making = 4 * sizes.edges * out, 5 * sizes.nodes * out
        total += Operations(4 * out * sizes.entries, pooling + making)
    if conv.attention is not None:
        total += _of_attention(conv, sizes)
    on_messages = (conv.message_bias is not None) + (conv.message_act is not None)
    after = int(conv.bias is not None)
    return total + Operations(0, (on_messages * sizes.edges + after * sizes.nodes) * out)


def _of_messages(conv: LocalizedConv, sizes: LayerSizes) -> Operations:
    """W h_u for every node, or W_v h_u for every edge with all that makes W_v."""
    heads, out, width = conv.weight.shape
    if conv.node_modulator is None:
        return Operations(2 * heads * out * sizes.entries)
    narrow = conv.node_modulator.bottleneck
    generated = sizes.nodes * heads * width
    local = Operations(2 * heads * out * sizes.edge_entries, 2 * heads * out * sizes.columns)
    if narrow is None:
        return local + Operations(4 * generated * width, 2 * sizes.edges * width + 3 * generated)
    reduced = Operations(4 * heads * narrow * sizes.entries, 4 * sizes.edges * heads * narrow)
    return local + reduced + Operations(4 * generated * narrow, 3 * generated)


@singledispatch
def of_aggregator(aggregator: Aggregator, conv: LocalizedConv, sizes: LayerSizes) -> Operations:
    """Operations of AGGR."""
    raise InputError(
        "aggregator",
        "operations of it are not counted",
        value=type(aggregator).__name__,
        way_out="count a model of the paper's table",
    )


@of_aggregator.register
def _(aggregator: WeightedSum, conv: LocalizedConv, sizes: LayerSizes) -> Operations:
    return Operations(0, 2 * sizes.edges * conv.heads * conv.out_channels)


@of_aggregator.register
def _(aggregator: Gat, conv: LocalizedConv, sizes: LayerSizes) -> Operations:
    out = conv.heads * conv.out_channels
    total = Operations(0, 2 * sizes.edges * out)
    if aggregator.sees_messages:
        softmax = 6 * sizes.edges * conv.heads
        return total + Operations(0, 2 * (sizes.edges + sizes.nodes) * out + softmax)
    return total + _of_attention(conv, sizes)


def _of_attention(conv: LocalizedConv, sizes: LayerSizes) -> Operations:
    """Coefficients from W h of both ends, for AGGR or for the penalty's targets of edge scales."""
    heads, out, width = conv.weight.shape
    return Operations(4 * heads * (out * width + sizes.entries), 6 * sizes.edges * heads)
