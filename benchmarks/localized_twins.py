"""Does a localized twin train as well as its conv in a plain PyG loop, however features are scaled?

Trains two layers of each conv that `nodewise.localize` knows, plain and localized, in the loop of
PyG's examples: hidden width 64, ReLU, dropout 0.5 between the layers, Adam with rate 0.01 and
weight decay 5e-4, no `nodewise.Penalty`; the epoch with the best validation accuracy counts.
Features come raw, with rows that sum to one, and standardized by column.

Records go to a table, one line per run; runs that are there are skipped, so a killed script
continues with the same command. `--part split` keeps the nodes of the split and the edges among
them, a few percent of the work.

Usage:
    python benchmarks/localized_twins.py [--dataset amazon] [--part split] [--seeds 2]
        [--epochs 100] [--convs GCNConv GATConv] [--out results/localize.jsonl]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module, ModuleList, ReLU, Sequential
from torch.nn.functional import cross_entropy, dropout
from torch_geometric import nn as pyg
from torch_geometric.data import Data

import nodewise as nw
from nodewise.experiments.table import RecordTable
from nodewise.runs.record import versions

HIDDEN, HEADS = 64, 8
FORMS = ("plain", "localized")
KEY = ("dataset", "part", "conv", "features", "form", "seed")
Layers = Callable[[int, int], list[Module]]


def sized(conv: Callable[[int, int], Module]) -> Layers:
    """Two layers of a conv without heads."""
    return lambda width, classes: [conv(width, HIDDEN), conv(HIDDEN, classes)]


def headed(conv: Callable[..., Module]) -> Layers:
    """Two layers of a conv with heads, of which the last has one."""
    first = {"out_channels": HIDDEN // HEADS, "heads": HEADS}
    return lambda width, classes: [conv(width, **first), conv(HIDDEN, classes)]


def gin(width: int, out: int) -> Module:
    """GINConv with an MLP of two layers."""
    return pyg.GINConv(Sequential(Linear(width, out), ReLU(), Linear(out, out)))


CONVS: dict[str, Layers] = {
    "GCNConv": sized(pyg.GCNConv),
    "SAGEConv": sized(pyg.SAGEConv),
    "GraphConv": sized(pyg.GraphConv),
    "GATConv": headed(pyg.GATConv),
    "GATv2Conv": headed(pyg.GATv2Conv),
    "GINConv": sized(gin),
}


def standardized(x: Tensor) -> Tensor:
    """Columns of mean zero and deviation one; constant columns are zero."""
    deviation = x.std(0)
    return (x - x.mean(0)) / torch.where(deviation > 0, deviation, torch.ones_like(deviation))


FEATURES: dict[str, Callable[[Tensor], Tensor]] = {
    "raw": lambda x: x,
    "row-sum": lambda x: x / x.abs().sum(1, keepdim=True).clamp(min=1e-12),
    "standardized": standardized,
}


class Net(Module):
    """Two layers with ReLU and dropout in between."""

    def __init__(self, layers: list[Module]) -> None:
        super().__init__()
        self.layers = ModuleList(layers)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The logits."""
        first, second = self.layers
        h = dropout(first(x, edge_index).relu(), 0.5, self.training)
        return second(h, edge_index)


def train(net: Net, data: Data, epochs: int) -> dict[str, Any]:
    """The scores of the epoch with the best validation accuracy."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    best: dict[str, Any] = {"val_accuracy": -1.0}
    for epoch in range(epochs):
        net.train()
        optimizer.zero_grad()
        out = net(data.x, data.edge_index)
        cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        scores = evaluate(net.eval(), data)
        if scores["val_accuracy"] > best["val_accuracy"]:
            best = {**scores, "best_epoch": epoch}
    return best


@torch.no_grad()
def evaluate(net: Net, data: Data) -> dict[str, float]:
    """Accuracies on validation and test nodes."""
    is_right = (net(data.x, data.edge_index).argmax(1) == data.y).float()
    masks = {"val_accuracy": data.val_mask, "test_accuracy": data.test_mask}
    return {name: float(is_right[mask].mean()) for name, mask in masks.items()}


@torch.no_grad()
def largest_scale(net: Net, data: Data) -> float:
    """The largest distance of a scale from one, in the trained net."""
    x, found = data.x, []
    for layer in net.layers:
        x, modulations = layer(x, data.edge_index, return_modulations=True)
        x = x.relu()
        found += [float((each - 1).abs().max()) for each in modulations.scales]
    return max(found)


def load(dataset: str, part: str) -> Data:
    """The graph, or the nodes of its split and the edges among them."""
    data = nw.load_dataset(dataset)
    if part == "all":
        return data
    return data.subgraph(data.train_mask | data.val_mask | data.test_mask)


def run(data: Data, key: dict[str, Any], epochs: int) -> dict[str, Any]:
    """Train one net; its record."""
    data = data.clone()
    data.x = FEATURES[key["features"]](data.x)
    torch.manual_seed(key["seed"])
    layers = CONVS[key["conv"]](data.num_features, int(data.y.max()) + 1)
    is_localized = key["form"] == "localized"
    net = Net([nw.localize(layer) for layer in layers] if is_localized else layers)
    began = time.process_time()
    record = {**key, **train(net, data, epochs), "epochs": epochs, "nodes": data.num_nodes}
    record |= {"seconds": time.process_time() - began, "versions": versions()}
    return {**record, "largest_scale": largest_scale(net, data)} if is_localized else record


def keys(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All runs; every cell has its first seed before one has a second."""
    for seed, conv, features, form in product(range(asked.seeds), asked.convs, FEATURES, FORMS):
        values = (asked.dataset, asked.part, conv, features, form, seed)
        yield dict(zip(KEY, values, strict=True))


def main() -> None:
    """Train what the table does not have yet, and print a line for each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="amazon", help="default: amazon")
    parser.add_argument("--part", choices=("all", "split"), default="all", help="default: all")
    parser.add_argument("--seeds", type=int, default=3, help="runs per cell (default: 3)")
    parser.add_argument("--epochs", type=int, default=200, help="default: 200")
    parser.add_argument("--convs", nargs="+", choices=CONVS, default=list(CONVS))
    parser.add_argument("--out", type=Path, default=Path("results/localize.jsonl"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    data, table = load(asked.dataset, asked.part), RecordTable(asked.out, KEY)
    for key in keys(asked):
        if tuple(key.values()) in table.read().lines:
            continue
        record = run(data, key, asked.epochs)
        table.add([record])
        print(*key.values(), f"test accuracy {100 * record['test_accuracy']:.1f}", flush=True)


if __name__ == "__main__":
    main()
