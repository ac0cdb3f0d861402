"""From a graph's features to a model's input: normalized, and sparse where `is_sparse` says so."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from nodewise.data.features import is_sparse
from nodewise.ops.row_sizes import row_sizes
from nodewise.ops.sparse import Features, SparseRows, as_features

# What was prepared of a tensor that still exists: its version, the normalization, the features.
# A selection trains many models on the same features, of two kinds at most one after the other.
_PREPARED = WeakIdKeyDictionary()
_KEPT = 2


def prepare(x: Tensor, normalization: str) -> Features:
    """The features normalized, sparse or dense; not to be changed in place.

    Args:
        x: Node features, dense or `torch.sparse_csr`.
        normalization: "row-sum", "unit" or "none"; rows without features stay as they are.
    """
    known: dict[tuple[int, str], Features] = _PREPARED.setdefault(x, {})  # type: ignore[no-untyped-call]
    key = (x._version, normalization)
    if key not in known:
        while len(known) >= _KEPT:
            known.pop(next(iter(known)))
        known[key] = _prepare(x, normalization)
    return known[key]


def _prepare(x: Tensor, normalization: str) -> Features:
    rows = as_features(x)
    if isinstance(rows, Tensor):
        if is_sparse(int(rows.count_nonzero()), rows.numel()):
            rows = SparseRows.from_dense(rows)
    elif not is_sparse(rows.values.numel(), rows.num_rows * rows.width):
        rows = rows.dense()
    return normalize(rows, normalization)


def normalize(x: Features, method: str) -> Features:
    """Rows of absolute sum one ("row-sum"), of length one ("unit"), or as they were ("none")."""
    if method == "none":
        return x
    size = row_sizes(x, method)
    if isinstance(x, Tensor):
        return x / size[:, None]
    lengths = (x.crow[1:] - x.crow[:-1]).long()
    return x.with_values(x.values / torch.repeat_interleave(size, lengths))
