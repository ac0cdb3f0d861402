"""Localize a PyTorch Geometric model, train it, and print how far its nodes are localized.

Usage:
    python examples/localize_a_pyg_model.py [--epochs 100]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor
from torch.nn import Module, ModuleList, Parameter
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import nodewise as nw
from nodewise.nn.modulation import Modulations

PENALTY = nw.Penalty(lambda_global=5e-4, lambda_local=5e-5, lambda_modulation=1e-3)


class Localized(Module):
    """Two GCNConvs, each replaced by its localized twin."""

    def __init__(self, *convs: GCNConv) -> None:
        super().__init__()
        self.convs = ModuleList(nw.localize(conv, bottleneck=8) for conv in convs)

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Modulations]:
        """Logits, and the modulations of both layers."""
        first, second = self.convs
        x, of_first = first(x, edge_index, return_modulations=True)
        x = dropout(x.relu(), 0.5, self.training)
        x, of_second = second(x, edge_index, return_modulations=True)
        return x, of_first + of_second

    def global_parameters(self) -> list[Parameter]:
        """Theta_G of Eq. 11: the weights that all nodes share."""
        return [weight for conv in self.convs for weight in conv.global_parameters()]

    def local_parameters(self) -> list[Parameter]:
        """Theta_L of Eq. 11: the weights that generate scales and shifts."""
        return [weight for conv in self.convs for weight in conv.local_parameters()]


def fit(model: Localized, data: Data, epochs: int) -> None:
    """Train on the training nodes."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        logits, modulations = model(data.x, data.edge_index)
        loss = cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        (loss + PENALTY.of(model, modulations)).backward()  # Eq. 11
        optimizer.step()


@torch.no_grad()
def accuracy(model: Localized, data: Data) -> float:
    """The test accuracy."""
    logits, _ = model.eval()(data.x, data.edge_index)
    return float((logits.argmax(1) == data.y)[data.test_mask].float().mean())


def main() -> None:
    """Train on the toy graph and print how far scales are from one."""
    parser = argparse.ArgumentParser(description="Localize a PyG model.")
    parser.add_argument("--epochs", type=int, default=100, help="default: 100")
    args = parser.parse_args()
    torch.manual_seed(0)
    data = nw.load_dataset("toy")
    model = Localized(GCNConv(data.num_features, 16), GCNConv(16, 3))
    fit(model, data, args.epochs)
    print(f"test accuracy {accuracy(model, data):.2f}")
    _, modulations = model(data.x, data.edge_index)
    for modulation in modulations:
        distance = float((modulation.scale - 1).square().mean().detach())
        print(f"{modulation.level} level: mean square of scale - 1 is {distance:.3f}")


if __name__ == "__main__":
    main()
