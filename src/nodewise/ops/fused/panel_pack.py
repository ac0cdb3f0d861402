"""Between torch tensors and kernels that go by panels: the layouts of `panels`, and back."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused.panels import GROUP


def narrow(code: Tensor) -> Any:
    """(nodes, H, size) with heads in front, flat for each head, padded."""
    nodes, heads, size = code.shape
    padded = pad(code.detach().transpose(0, 1), (0, -size % 4, 0, -nodes % GROUP))
    return padded.reshape(heads, -1).numpy()


def wide(matrix: Tensor) -> Any:
    """(H, size, columns), flat for each head, padded."""
    heads, size, columns = matrix.shape
    padded = pad(matrix.detach(), (0, -columns % 32, 0, -size % 4))
    return padded.reshape(heads, -1).numpy()


def from_wide(found: Tensor, size: int, columns: int) -> Tensor:
    """Wide matrices (some, H, ...) as kernels fill them, without what pads them."""
    return found.view(*found.shape[:2], size + -size % 4, -1)[:, :, :size, :columns]


def panel_of(columns: int, size: int, numbers: int) -> int:
    """How many columns of a matrix of such a size make a panel of so many numbers."""
    return max(32, min(columns + -columns % 32, numbers // max(size, 1) // 32 * 32))
