"""Between torch tensors and kernels that go by panels: the layouts of `panels`, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from nodewise.ops.fused.panels import GROUP


def narrow(code: Tensor) -> Any:
    """(nodes, H, size) with heads in front, flat for each head, padded."""
    return _padded(code.detach().numpy().transpose(1, 0, 2), GROUP, 4)


def wide(matrix: Tensor) -> Any:
    """(H, size, columns), flat for each head, padded."""
    return _padded(matrix.detach().numpy(), 4, 32)


def _padded(array: NDArray[np.floating], rows: int, columns: int) -> NDArray[np.floating]:
    """The matrices of all heads, with zeros up to a multiple of so many rows and columns."""
    heads, height, width = array.shape
    if height % rows == width % columns == 0:
        return np.ascontiguousarray(array).reshape(heads, -1)
    out = np.zeros((heads, height + -height % rows, width + -width % columns), array.dtype)
    out[:, :height, :width] = array
    return out.reshape(heads, -1)


def from_wide(found: Tensor, size: int, columns: int) -> Tensor:
    """Wide matrices (some, H, ...) as kernels fill them, without what pads them."""
    return found.view(*found.shape[:2], size + -size % 4, -1)[:, :, :size, :columns]


def panel_of(columns: int, size: int, numbers: int) -> int:
    """How many columns of a matrix of such a size make a panel of so many numbers."""
    return max(32, min(columns + -columns % 32, numbers // max(size, 1) // 32 * 32))
