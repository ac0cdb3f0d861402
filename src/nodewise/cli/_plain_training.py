"""A plain GCN and a plain loop: what the demo trains until the training loop exists."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from nodewise.data.splits import Split, random_split
from nodewise.models.classifier import Classifier
from nodewise.nn.penalty import Penalty

EPOCHS = 400
_DROPOUT, _LEARNING_RATE, _WEIGHT_DECAY = 0.4, 0.01, 5e-4
# A light penalty: the modulations may do their work. The optimizer's decay holds the weights.
_LIGHT = Penalty(0.0, 0.0, 1e-3)


class PlainGCN(nn.Module):
    """Two of PyG's GCN layers, with dropout on the input of each, for one graph.

    Args:
        in_channels: Words.
        hidden_channels: Width between the layers.
        out_channels: Classes.
    """

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        # Cached: there is one graph, and normalizing it again in each epoch takes half the time.
        self.first = GCNConv(in_channels, hidden_channels, cached=True)
        self.second = GCNConv(hidden_channels, out_channels, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits, of shape (nodes, classes)."""
        h = F.elu(self.first(F.dropout(x, _DROPOUT, self.training), edge_index))
        logits: Tensor = self.second(F.dropout(h, _DROPOUT, self.training), edge_index)
        return logits


def toy_split(data: Data, seed: int) -> Split:
    """The toy graph's split: 20 labels per class, 500 nodes for validation, the rest for test."""
    return random_split(data.y, per_class=20, val=500, test=None, seed=seed)


def best_test_accuracy(model: nn.Module, data: Data, split: Split) -> float:
    """Train, and give the test accuracy of the epoch with the best validation accuracy."""
    x = data.x / data.x.sum(dim=1, keepdim=True)
    train, val, test = split.masks(data.num_nodes)
    adam = torch.optim.Adam(_groups(model), lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
    best = (-1.0, 0.0)
    for _ in range(EPOCHS):
        _step(model, adam, x, data, train)
        right = _right(model, x, data)
        val_accuracy = float(right[val].mean())
        if val_accuracy > best[0]:  # of equally good epochs the first one counts
            best = (val_accuracy, float(right[test].mean()))
    return best[1]


def _groups(model: nn.Module) -> list[dict[str, Any]]:
    """The parameters with their weight decay: a tenth of it for what generates modulations."""
    if not isinstance(model, Classifier):
        return [{"params": list(model.parameters())}]
    return [
        {"params": model.global_parameters()},
        {"params": model.local_parameters(), "weight_decay": 0.1 * _WEIGHT_DECAY},
    ]


def _step(
    model: nn.Module, adam: torch.optim.Optimizer, x: Tensor, data: Data, train: Tensor
) -> None:
    model.train()
    adam.zero_grad()
    loss = _loss(model, x, data, train)
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
    adam.step()


def _loss(model: nn.Module, x: Tensor, data: Data, train: Tensor) -> Tensor:
    """Cross-entropy, and for a localized model what holds its modulations back."""
    if not isinstance(model, Classifier):
        return F.cross_entropy(model(x, data.edge_index)[train], data.y[train])
    logits, made = model(x, data.edge_index, return_modulations=True)
    terms = _LIGHT(model.global_parameters(), model.local_parameters(), made)
    return F.cross_entropy(logits[train], data.y[train]) + torch.stack(terms).sum()


@torch.no_grad()
def _right(model: nn.Module, x: Tensor, data: Data) -> Tensor:
    """1 where the model is right, without dropout."""
    model.eval()
    right: Tensor = model(x, data.edge_index).argmax(dim=1) == data.y
    return right.float()
