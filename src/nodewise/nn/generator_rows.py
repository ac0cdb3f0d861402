r"""The input rows of generators: h_u as it is (Eqs. 5 and 7), or scaled to a sum s.

A generator is linear before its LeakyReLU, so that with h_u as it is, scales and shifts grow with
the features. With

.. math::
    \hat{h}_u = s \, h_u / \lVert h_u \rVert_1

as the input of generators, and only there, they do not grow: no entry of M \hat{h}_u is larger than
s times the largest entry of M, and a step of Adam at rate r, which changes entries of M by about r,
moves it by s r at most. A mean over C_v keeps both bounds. M \hat{h}_u is M h_u times a number, so
the product is still computed before pooling, sparse rows stay sparse, and kernels are unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nodewise.nn.base_conv import dense_rows, times_rows
from nodewise.ops.dispatch import project
from nodewise.ops.row_sizes import row_sizes
from nodewise.ops.sparse import Features


class GeneratorRows:
    """The rows of some nodes as input of generators.

    Args:
        x: The rows, dense or sparse.
        row_sum: s, or 0 for the rows as they are.
    """

    def __init__(self, x: Features, row_sum: float) -> None:
        self.x = x
        self.factors = _factors(x, row_sum) if row_sum else None

    def dense(self) -> Tensor:
        """The rows themselves, (N, in)."""
        return self._scaled(dense_rows(self.x))

    def times(self, weight: Tensor) -> Tensor:
        """A matrix (out, in) times every row, (N, out)."""
        return self._scaled(project(self.x, weight))

    def times_heads(self, weights: Sequence[Tensor]) -> list[Tensor]:
        """Each (H, out, in) matrix times every row, as (N, H, out): one product for all of them."""
        return [self._scaled(rows) for rows in times_rows(self.x, weights)]

    def _scaled(self, rows: Tensor) -> Tensor:
        if self.factors is None:
            return rows
        return rows * self.factors.view(-1, *[1] * (rows.dim() - 1))


def _factors(x: Features, row_sum: float) -> Tensor:
    """The factor of each row, (N,)."""
    sizes = row_sizes(x, "row-sum")
    # The gradient of a quotient grows as one over the size; a row this small counts as zero.
    return row_sum / sizes.clamp(min=torch.finfo(sizes.dtype).eps)
