"""`Sample`: what the edges of a layer stand for when they were sampled from a larger graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sample:
    """What the edges and targets of a `Block` stand for, when both were sampled.

    Sums weighed by `multiplicity` are unbiased estimates of those over all of C_v, and sums over
    targets weighed by `target_weight` of those over all targets of the whole layer (Horvitz and
    Thompson, 1952): weights are one over the probability of being sampled.

    Attributes:
        multiplicity: How many members of C_v each edge stands for, shape (E,).
        size: |C_v| of each target, shape (targets,).
        target_weight: How many targets of the whole layer each target stands for, (targets,).
        num_targets: How many targets the whole layer has.
        num_edges: How many edges it has.
    """

    multiplicity: Tensor
    size: Tensor
    target_weight: Tensor
    num_targets: int
    num_edges: int

    def shares(self, target: Tensor) -> Tensor:
        """The weights (E,) of a mean over C_v; `target` is that of each edge."""
        return self.multiplicity / self.size[target]

    def edge_weight(self, target: Tensor) -> Tensor:
        """How many edges of the whole layer each edge stands for, (E,)."""
        return self.target_weight[target] * self.multiplicity

    def weighted_code(self, code: Tensor) -> Tensor:
        """Codes (targets, H, k) whose scales and shifts have the squares of a target's weight.

        LeakyReLU is positively homogeneous: sqrt(w) r(M c) = r(M sqrt(w) c).
        """
        return code * self.target_weight.sqrt().to(code.dtype).view(-1, 1, 1)

    def weighted_total(self, squares: Tensor) -> Tensor:
        """The sum of squares (targets, ...), weighed by `target_weight`."""
        return torch.einsum("t...,t->", squares, self.target_weight.to(squares.dtype))
