"""One decision, dense or sparse, for tables, data sets and models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from nodewise.data.features import SPARSE_BELOW, is_sparse, to_tensor
from nodewise.ops.sparse import SparseRows
from nodewise.training.inputs import prepare

WIDTH = 2000


def matrix(share: float, rows: int = 1 << 10) -> np.ndarray:
    """So large a share of every row is not zero."""
    x = np.zeros((rows, WIDTH), np.float32)
    x[:, : round(share * WIDTH)] = 1
    return x


@pytest.mark.parametrize(("share", "sparse"), [(SPARSE_BELOW - 0.01, True), (SPARSE_BELOW, False)])
def test_tables_and_models_decide_alike(share: float, sparse: bool) -> None:
    x = matrix(share)
    assert is_sparse(int((x != 0).sum()), x.size) is sparse
    for given in (x, csr_matrix(x)):
        read = to_tensor(given)
        assert (read.layout == torch.sparse_csr) is sparse
        assert isinstance(prepare(read, "none"), SparseRows) is sparse
    assert isinstance(prepare(torch.from_numpy(x), "none"), SparseRows) is sparse


def test_a_small_matrix_is_read_as_dense_and_made_sparse_for_the_model() -> None:
    read = to_tensor(matrix(0.01, rows=(1 << 20) // WIDTH))
    assert read.layout == torch.strided and isinstance(prepare(read, "none"), SparseRows)


@pytest.mark.parametrize("sparse", [True, False])
def test_an_explicit_choice_overrides_the_decision(sparse: bool) -> None:
    for share in (0.01, 0.9):
        assert (to_tensor(matrix(share, rows=4), sparse).layout == torch.sparse_csr) is sparse
