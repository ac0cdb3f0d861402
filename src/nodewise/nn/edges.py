"""The forms in which PyG's convs take edges -> edges (2, E) and their weights.

In a sparse adjacency rows are targets and columns are sources (PyG's `adj_t`); its values are the
weights of the edges. Repeated entries of a COO matrix are one edge, whose weight is their sum.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.typing import SparseTensor

from nodewise.errors import InputError
from nodewise.ops.neighbors import check_edge_shape, check_ends
from nodewise.ops.safety import check_index, check_offsets, check_shape
from nodewise.ops.sparse import check_precision

_FORMS = "give a tensor (2, E), a torch.sparse matrix (COO, CSR or CSC) or an EdgeIndex"


def plain_edges(
    edge_index: Any, edge_weight: Tensor | None, num_nodes: tuple[int, int], weight: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Edges (2, E), sources above targets, and the weight of each if there are any.

    Args:
        edge_index: A tensor (2, E), which is returned as it is, a `torch.sparse` adjacency of shape
            (targets, sources), or a `torch_geometric.EdgeIndex`.
        edge_weight: The weights of the edges (E,); a sparse adjacency has them as its values.
        num_nodes: How many sources and targets there are.
        weight: A weight of the layer; those of edges have its type.

    Raises:
        InputError: It is none of these, or belongs to another number of nodes.
    """
    if isinstance(edge_index, EdgeIndex):
        _check_sizes(edge_index.sparse_size(), num_nodes)
        edge_index = edge_index.as_tensor().long()
    if isinstance(edge_index, SparseTensor):
        raise _refuse("torch_sparse.SparseTensor", "call its to_torch_sparse_csr_tensor()")
    if not isinstance(edge_index, Tensor):
        raise _refuse(type(edge_index).__name__, _FORMS)
    if edge_index.layout == torch.strided:
        if edge_weight is not None:
            _check_weights(edge_weight, edge_index, weight)
        return edge_index, edge_weight
    check_no_weights(edge_weight, "the values of a sparse edge_index")
    _check_sizes(tuple(edge_index.shape[::-1]), num_nodes)
    edges, values = _edges_of_matrix(edge_index, *num_nodes)
    return edges, values.to(weight.dtype)


def _check_weights(edge_weight: Any, edge_index: Tensor, weight: Tensor) -> None:
    """Check that there is a number for each edge, of the layer's type."""
    if not isinstance(edge_weight, Tensor):
        raise InputError(
            "edge_weight",
            "must be a tensor",
            value=type(edge_weight).__name__,
            way_out="convert it with torch.tensor",
        )
    check_edge_shape(edge_index)
    check_shape("edge_weight", edge_weight, (edge_index.size(1),))
    check_precision("edge_weight", edge_weight, weight)


def check_no_weights(edge_weight: Tensor | None, others: str) -> None:
    """Check that weights are not given beside a graph that has some.

    Raises:
        InputError: They are.
    """
    if edge_weight is not None:
        raise InputError(
            "edge_weight",
            f"is given twice: {others} are weights, too",
            way_out="leave edge_weight out",
        )


def _refuse(found: str, way_out: str) -> InputError:
    return InputError("edge_index", "has a type that is not known", value=found, way_out=way_out)


def _check_sizes(sizes: tuple[int | None, ...], num_nodes: tuple[int, int]) -> None:
    """Check that a graph has as many sources and targets as there are rows of features."""
    for name, size, expected in zip(("sources", "targets"), sizes, num_nodes, strict=True):
        if size not in (None, expected):
            raise InputError(
                "edge_index",
                f"must be of {expected} {name}, the number of rows of x",
                value=size,
                way_out="give features to all nodes; rows of a sparse matrix are targets",
            )


def _edges_of_matrix(matrix: Tensor, sources: int, targets: int) -> tuple[Tensor, Tensor]:
    """The entries of an adjacency as edges (2, E), and their values."""
    if matrix.layout == torch.sparse_coo:
        check_ends("edge_index.indices()", matrix._indices(), (targets, sources))
        matrix = matrix.coalesce()
        return matrix.indices().flip(0), matrix.values()
    if matrix.layout == torch.sparse_csr:
        source = matrix.col_indices()
        check_index("edge_index.col_indices()", source, sources, of="nodes")
        target = _runs("edge_index.crow_indices()", matrix.crow_indices(), len(source), targets)
    elif matrix.layout == torch.sparse_csc:
        target = matrix.row_indices()
        check_index("edge_index.row_indices()", target, targets, of="nodes")
        source = _runs("edge_index.ccol_indices()", matrix.ccol_indices(), len(target), sources)
    else:
        raise _refuse(str(matrix.layout), _FORMS)
    return torch.stack([source.long(), target.long()]), matrix.values()


def _runs(name: str, offsets: Tensor, total: int, count: int) -> Tensor:
    """The number of the run that each entry belongs to."""
    check_offsets(name, offsets, total, count)
    return torch.repeat_interleave(offsets.diff())
