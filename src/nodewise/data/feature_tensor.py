"""From a matrix of features to a tensor, dense or sparse."""

from __future__ import annotations

from typing import Any

import torch
from scipy.sparse import csr_matrix, issparse
from torch import Tensor

from nodewise.data.datasets import to_csr

# Below, sparse kernels are ahead; small matrices stay dense, since much of PyG wants them so.
_SPARSE_BELOW, _SMALL = 0.1, 1 << 20


def to_tensor(matrix: Any, sparse: bool | None = None) -> Tensor:
    """A float32 tensor of a NumPy array or scipy CSR matrix.

    Args:
        matrix: The features (nodes, features).
        sparse: Whether to give `torch.sparse_csr`; None decides by density and size.
    """
    if _is_sparse(matrix) if sparse is None else sparse:
        tidy = csr_matrix(matrix, dtype="float32")
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        return to_csr(tidy)
    dense = matrix.toarray() if issparse(matrix) else matrix
    return torch.from_numpy(dense.astype("float32", copy=False))


def _is_sparse(matrix: Any) -> bool:
    rows, columns = matrix.shape
    nonzero = matrix.count_nonzero() if issparse(matrix) else (matrix != 0).sum()
    return bool(rows * columns >= _SMALL and nonzero < _SPARSE_BELOW * rows * columns)
