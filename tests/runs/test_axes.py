from __future__ import annotations

import numpy as np
import torch
from sklearn.decomposition import PCA

from nodewise.runs.axes import principal


def test_axes_are_those_of_pca_whatever_the_parts() -> None:
    make = torch.Generator().manual_seed(0)
    spread = torch.tensor([9.0, 5.0, 3.0, 1.0, 0.5, 0.1], dtype=torch.float64)
    rows = torch.randn(50, 6, generator=make, dtype=torch.float64) * spread + 4
    expected = np.abs(PCA(3).fit_transform(rows.numpy()))
    for size in (50, 7):
        found = principal(lambda size=size: iter(rows.split(size)), 50, 6, count=3)  # type: ignore[misc]
        np.testing.assert_allclose(np.abs(found), expected, atol=1e-8)
        assert (found.max(0) == np.abs(found).max(0)).all()


def test_axes_that_do_not_exist_are_zero() -> None:
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = principal(lambda: iter([rows]), 3, 2, count=4)
    assert found.shape == (3, 4) and not found[:, 1:].round(5).any()


def test_more_rows_are_placed_on_the_axes_of_the_others() -> None:
    rows = torch.randn(40, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    alone = principal(lambda: iter([rows]), 40, 5, count=2)
    found = principal(lambda: iter([rows]), 40, 5, count=2, also=rows[3:6])
    np.testing.assert_allclose(found[:40], alone, atol=1e-12)
    np.testing.assert_allclose(found[40:], alone[3:6], atol=1e-12)
