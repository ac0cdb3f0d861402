"""The penalties of Eq. 11, which keep localized weights close to the global ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from nodewise.nn.modulation import Modulation, Modulations
from nodewise.ops.order import total, weighted


class Localizable(Protocol):
    """A model or layer that separates the two groups of weights: Theta_G and Theta_L."""

    def global_parameters(self) -> Iterable[Tensor]:
        """Theta_G."""

    def local_parameters(self) -> Iterable[Tensor]:
        """Theta_L."""


class PenaltyTerms(NamedTuple):
    """The three terms separately, so that a run can report which one diverged."""

    global_weights: Tensor
    local_weights: Tensor
    modulations: Tensor


@dataclass(frozen=True)
class Penalty:
    r"""lambda_G |Theta_G|^2 + lambda_L |Theta_L|^2 + lambda (|A - 1|^2 / |A| + |B|^2 / |B|).

    Attributes:
        lambda_global: Weight of the global model's squared norm.
        lambda_local: Weight of the generators' squared norm.
        lambda_modulation: Weight of the modulations' mean squares.
        modulation_mean: "pool" takes one mean over all of A, as printed; "tensor" adds the means of
            the single tensors, as in the released program.
        half_norms: Whether the two norms of weights carry a factor 1/2, as in the released program.
        bias_modulations: Whether the modulations of biases (LGIN) belong to A and B.
        edge_share: The weight of the edge level relative to the node level. Below one it imitates
            the released program, whose mean over edges includes padding.
    """

    lambda_global: float = 5e-4
    lambda_local: float = 1.0
    lambda_modulation: float = 1.0
    modulation_mean: Literal["pool", "tensor"] = "pool"
    half_norms: bool = False
    bias_modulations: bool = True
    edge_share: float = 1.0

    def __call__(
        self,
        global_parameters: Iterable[Tensor],
        local_parameters: Iterable[Tensor],
        modulations: Modulations,
    ) -> PenaltyTerms:
        """The three terms, each with its lambda."""
        factor = 0.5 if self.half_norms else 1.0
        return PenaltyTerms(
            self.lambda_global * factor * _squares(global_parameters),
            self.lambda_local * factor * _squares(local_parameters),
            self.lambda_modulation * self._modulations(modulations),
        )

    def of(self, model: Localizable, modulations: Modulations) -> Tensor:
        """The sum of the three terms, differentiable: what to add to the loss.

        A training step is `loss = cross_entropy(out, y) + penalty.of(model, modulations)` with
        `out, modulations = model(x, edge_index, return_modulations=True)`.

        Args:
            model: The model or layer that returned the modulations.
            modulations: What it returned with `return_modulations`.
        """
        terms = self(model.global_parameters(), model.local_parameters(), modulations)
        return terms.global_weights + terms.local_weights + terms.modulations

    def _modulations(self, modulations: Modulations) -> Tensor:
        items = [item for item in modulations if self.bias_modulations or item.level != "bias"]
        items = [item for item in items if item.count]
        if not items:
            return torch.zeros(())
        share = [self.edge_share if item.level == "edge" else 1.0 for item in items]
        sums = torch.stack(
            [s * (_scale_squares(m) + m.shift_squares) for s, m in zip(share, items, strict=True)]
        )
        if self.modulation_mean == "tensor":
            # Each head is a separate tensor, all of one size.
            return (sums / sums.new_tensor([item.count / item.heads for item in items])).sum()
        return sums.sum() / sum(item.count for item in items)


def _squares(weights: Iterable[Tensor]) -> Tensor:
    parts = [total(weight.square()) for weight in weights]
    return torch.stack(parts).sum() if parts else torch.zeros(())


def _scale_squares(modulation: Modulation) -> Tensor:
    """|a - 1|^2, or |a - alpha|^2 where attention is the target of edge scales (Sect. 2.4)."""
    if modulation.attention is None:
        return modulation.scale_squares
    apart = modulation.scale - modulation.attention[..., None]
    return total(weighted(apart.square(), modulation.weight))
