"""Layers under `torch.autocast` compute in the type of their weights.

The fused kernels have float32 and float64 only, and the sums of squares of the penalty would
overflow in float16. So autocast is switched off within a layer, and rows that an earlier layer has
computed in half precision are converted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from nodewise.ops.sparse import SparseRows, is_autocast_on

T = TypeVar("T")
_HALF = (torch.float16, torch.bfloat16)


def without_autocast(forward: Callable[..., T]) -> Callable[..., T]:
    """A layer's `forward` that is not affected by `torch.autocast`."""

    @wraps(forward)
    def unaffected(
        self: Any,
        x: Any,
        edge_index: Any,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> T:
        if not is_autocast_on(self.weight.device):
            return forward(self, x, edge_index, edge_weight, return_modulations)
        with torch.autocast(self.weight.device.type, enabled=False):
            x, edge_weight = (_converted(part, self.weight.dtype) for part in (x, edge_weight))
            return forward(self, x, edge_index, edge_weight, return_modulations)

    return unaffected


def _converted(rows: Any, dtype: torch.dtype) -> Any:
    """Rows of half precision in another type, and all others as they are."""
    if isinstance(rows, tuple):
        return tuple(_converted(part, dtype) for part in rows)
    if isinstance(rows, SparseRows):
        return replace(rows, values=_converted(rows.values, dtype))
    return rows.to(dtype) if isinstance(rows, Tensor) and rows.dtype in _HALF else rows
