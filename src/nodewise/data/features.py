"""Features as tensors, and the rule that makes them dense or sparse."""

from __future__ import annotations

import warnings
from typing import Any, Final

import torch
from scipy.sparse import csr_matrix, issparse
from torch import Tensor

from nodewise.data.index_arrays import ArrayChecks
from nodewise.errors import GraphError

# The share of non-zeros from which on features are dense. Kernels visit only the non-zeros of
# sparse rows, but each visit costs more than a multiplication of a dense product; and sparse rows
# keep 8 bytes for an entry where a dense matrix keeps 4 for each, so that at half they are larger.
SPARSE_BELOW: Final = 0.4
# A matrix of fewer entries (4 MB) is read as dense, since much of PyG requires dense features.
_SMALL = 1 << 20


def is_sparse(nonzeros: int, entries: int) -> bool:
    """Whether features are sparse: fewer than 40 % of the matrix's entries are not zero.

    Args:
        nonzeros: The entries that are not zero.
        entries: All entries, nodes times features.
    """
    return nonzeros < SPARSE_BELOW * entries


def to_tensor(matrix: Any, sparse: bool | None = None) -> Tensor:
    """A float32 tensor of a NumPy array or scipy CSR matrix.

    Args:
        matrix: The features (nodes, features).
        sparse: Whether to give `torch.sparse_csr`; None takes it for large matrices that are
            sparse (`is_sparse`).
    """
    if _is_large_and_sparse(matrix) if sparse is None else sparse:
        tidy = csr_matrix(matrix, dtype="float32")
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        return to_csr(tidy)
    dense = matrix.toarray() if issparse(matrix) else matrix
    return torch.from_numpy(dense.astype("float32", copy=False))


def to_csr(x: Any) -> Tensor:
    """A scipy CSR matrix as a `torch.sparse_csr` tensor.

    Raises:
        GraphError: Its arrays are not such a matrix.
    """
    parts = {f"x.{part}": getattr(x, part) for part in ("data", "indices", "indptr", "shape")}
    ArrayChecks(error=GraphError, way_out="build the matrix again").csr(parts)
    with warnings.catch_warnings():
        # torch announces once per process that CSR is in beta; users cannot act on it.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(x.indptr.astype("int64")),
            torch.from_numpy(x.indices.astype("int64")),
            torch.from_numpy(x.data),
            size=x.shape,
            check_invariants=True,
        )


def _is_large_and_sparse(matrix: Any) -> bool:
    rows, columns = matrix.shape
    nonzeros = matrix.count_nonzero() if issparse(matrix) else (matrix != 0).sum()
    return rows * columns >= _SMALL and is_sparse(int(nonzeros), rows * columns)
