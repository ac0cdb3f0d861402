"""Checks of a graph, before anything is computed on it.

Functions take tensors, return nothing, and raise on the first thing that is wrong. A label of -1
means unlabeled; every other label is a class number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nodewise.data.index_arrays import WIDEST, ArrayChecks
from nodewise.data.splits.checks import MASKS, check_split, first_true
from nodewise.data.tables.regression import WAY_OUT
from nodewise.errors import GraphError

if TYPE_CHECKING:
    from torch_geometric.data import Data

# torch builds sparse tensors without a check, and its kernels trust them: only these are looked at.
_DENSE = (torch.strided,)
_LAYOUTS = {"x": (*_DENSE, torch.sparse_csr), "edge_index": _DENSE, "y": _DENSE}

__all__ = ["check_data", "check_graph", "check_split"]


def check_data(data: Data) -> None:
    """Check a graph as PyG carries it: `x`, `edge_index`, `y`, and masks and names if it has them.

    Raises:
        GraphError: The graph is malformed.
        SplitError: The masks are.
    """
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        raise GraphError(
            "data",
            "is not a graph of PyTorch Geometric",
            value=type(data).__name__,
            way_out="give a torch_geometric.data.Data; of a GraphTable it is `.data`",
        )
    for field in ("x", "edge_index"):
        if field not in data:
            raise GraphError(field, "is missing", way_out=f"build the graph with Data({field}=...)")
    y = data.get("y")
    check_graph(data.x, data.edge_index, y)
    if "feature_names" in data:
        _check_names("feature_names", data.feature_names, data.x.size(1))
    if "class_names" in data and y is not None:
        _check_names("class_names", data.class_names, int(y.max()) + 1)
    if any(name in data for name in MASKS):
        masks = (data.get(name) for name in MASKS)
        check_split(*masks, y=y, num_nodes=data.x.size(0))


def check_graph(x: Tensor, edge_index: Tensor, y: Tensor | None = None) -> None:
    """Check features (nodes, features), edges (2, edges) and labels (nodes), and their agreement.

    Raises:
        GraphError: Something is missing, of the wrong kind, out of range or not finite.
    """
    _check_tensor("x", x)
    _check_tensor("edge_index", edge_index)
    _check_features(x)
    _check_edges(edge_index, x.size(0))
    if y is not None:
        _check_tensor("y", y)
        _check_labels(y, x.size(0))


def _check_tensor(field: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise GraphError(
            field,
            "must be a tensor",
            value=type(tensor).__name__,
            way_out=f"convert it with torch.as_tensor({field})",
        )
    if tensor.layout not in _LAYOUTS[field]:
        raise GraphError(
            field,
            f"must be {' or '.join(map(str, _LAYOUTS[field]))}",
            value=tensor.layout,
            way_out="call .to_dense(), or .to_sparse_csr() for sparse features",
        )


def _check_features(x: Tensor) -> None:
    if x.dim() != 2:
        raise GraphError(
            "x",
            "must have two dimensions, nodes and features",
            value=tuple(x.shape),
            way_out="reshape it, x.view(-1, 1) for a single feature",
        )
    if 0 in x.shape:
        raise GraphError(
            "x",
            "the graph is empty, it has no nodes or no features",
            value=tuple(x.shape),
            way_out="give at least one of each, a constant column if nothing is known of the nodes",
        )
    if x.size(1) > WIDEST:
        raise GraphError(
            "x",
            f"has more than {WIDEST} features",
            value=x.size(1),
            way_out="leave out the columns that are zero everywhere",
        )
    if not x.is_floating_point():
        raise GraphError(
            "x", "must hold floating point numbers", value=x.dtype, way_out="call x.float()"
        )
    if x.layout == torch.sparse_csr:
        _check_sparse(x)
    _check_finite(x)


def _check_sparse(x: Tensor) -> None:
    """Check the indices of sparse features, which torch does not check."""
    checks = ArrayChecks(
        error=GraphError, way_out="build x with torch.sparse_csr_tensor(..., check_invariants=True)"
    )
    entries, crow, col = x.values(), x.crow_indices().cpu().numpy(), x.col_indices().cpu().numpy()
    if entries.dim() != 1:
        raise checks.wrong("x.values()", "must have one dimension", value=tuple(entries.shape))
    count = entries.numel()
    checks.index("x.col_indices()", col, shape=(count,), bound=x.size(1))
    checks.offsets("x.crow_indices()", crow, rows=x.size(0), count=count)


def _check_finite(x: Tensor) -> None:
    values = x.values() if x.layout == torch.sparse_csr else x
    bad = ~torch.isfinite(values)
    if not bad.any():
        return
    first = first_true(bad)
    raise GraphError(
        "x",
        "must be finite",
        value=float(values[first]),
        position=_csr_position(x, first[0]) if x.layout == torch.sparse_csr else first,
        way_out="fill missing values first, for instance with torch.nan_to_num(x)",
    )


def _csr_position(x: Tensor, entry: int) -> tuple[int, int]:
    row = int(torch.searchsorted(x.crow_indices(), entry, right=True)) - 1
    return row, int(x.col_indices()[entry])


def _check_edges(edge_index: Tensor, num_nodes: int) -> None:
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise GraphError(
            "edge_index",
            "must have shape (2, edges): a row of sources, a row of targets",
            value=tuple(edge_index.shape),
            way_out="transpose a list of pairs with edge_index.t().contiguous()",
        )
    if edge_index.size(1) == 0:
        raise GraphError(
            "edge_index",
            "the graph has no edges, so that no node has a context",
            value=tuple(edge_index.shape),
            way_out="give edges, or use a classifier that needs no graph",
        )
    if edge_index.dtype != torch.int64:
        raise GraphError(
            "edge_index",
            "node ids must be 64-bit integers",
            value=edge_index.dtype,
            way_out="call edge_index.long(), after making sure that no id has a fraction",
        )
    _check_ids(edge_index, num_nodes)


def _check_ids(edge_index: Tensor, num_nodes: int) -> None:
    outside = (edge_index < 0) | (edge_index >= num_nodes)
    if outside.any():
        first = first_true(outside)
        raise GraphError(
            "edge_index",
            f"node ids must be between 0 and {num_nodes - 1}, there being {num_nodes} rows in x",
            value=int(edge_index[first]),
            position=first,
            way_out="number the nodes from 0 in the order of the rows of x",
        )


def _check_labels(y: Tensor, num_nodes: int) -> None:
    if y.dim() != 1 or y.size(0) != num_nodes:
        raise GraphError(
            "y",
            f"must hold one label for each of the {num_nodes} nodes",
            value=tuple(y.shape),
            way_out="give -1 to nodes without a label, and y.argmax(1) for one-hot rows",
        )
    if y.is_floating_point() and bool((y != y.round()).any()):
        raise GraphError(
            "y",
            "are numbers to predict (regression), and nodewise predicts classes",
            value=float(y[y != y.round()][0]),
            way_out=WAY_OUT,
        )
    if y.dtype != torch.int64:
        raise GraphError("y", "must hold 64-bit integers", value=y.dtype, way_out="call y.long()")
    # Checked before labels are counted: the counts of a class 10^12 would not fit the memory.
    outside = (y < -1) | (y >= num_nodes)
    if outside.any():
        first = first_true(outside)
        raise GraphError(
            "y",
            f"a label is a class number, below {num_nodes} for as many nodes, or -1 for none",
            value=int(y[first]),
            position=first,
            way_out="number the classes from 0",
        )
    _check_classes(y)


def _check_classes(y: Tensor) -> None:
    counts = torch.bincount(y[y >= 0])
    if counts.numel() == 0:
        raise GraphError("y", "no node has a label", value=-1, way_out="label some nodes")
    if (counts == 0).any():
        raise GraphError(
            "y",
            f"classes must be numbered 0 to {counts.numel() - 1} without gaps; one has no node",
            value=first_true(counts == 0)[0],
            way_out="renumber them with torch.unique(y, return_inverse=True)",
        )


def _check_names(field: str, names: Sequence[str], count: int) -> None:
    if len(names) != count:
        raise GraphError(
            field, f"must hold {count} names", value=len(names), way_out="give one name for each"
        )
