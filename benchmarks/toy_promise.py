"""Does the toy graph keep its promise? Global models stay at or below 65 %, LGCN reaches 80 %.

Each seed draws the split and the initialization; the graph is the default one. The training is
the demo's: rows of `x` sum to one, dropout 0.4, Adam 0.01, 400 epochs, the test accuracy of the
epoch with the best validation accuracy.

Usage:
    python benchmarks/toy_promise.py [--seeds 10] [--graph 0]

Prints a table and exits 1 where the promise fails. A model is one line in `MODELS`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, pstdev

import torch
from torch import nn
from torch_geometric.data import Data

from nodewise import LGCN, toy_graph
from nodewise.cli._plain_training import PlainGCN, best_test_accuracy, toy_split


@dataclass(frozen=True)
class Promise:
    """A model, and the band of mean test accuracies that the toy graph promises for it."""

    build: Callable[[Data], nn.Module]
    at_least: float = 0.0
    at_most: float = 1.0

    def kept(self, accuracy: float) -> bool:
        """Whether the accuracy lies in the band."""
        return self.at_least <= accuracy <= self.at_most


def gcn(hidden_channels: int) -> Callable[[Data], nn.Module]:
    """A factory of PyG's GCN of that width."""
    return lambda data: PlainGCN(data.num_features, hidden_channels, len(data.class_names))


def lgcn(data: Data) -> nn.Module:
    """LGCN of width 8, with the dropout of the others."""
    return LGCN(data.num_features, hidden_channels=8, out_channels=len(data.class_names))


MODELS = {
    "GCN-8": Promise(gcn(8), at_most=0.65),
    "GCN-64": Promise(gcn(64), at_most=0.65),
    "LGCN": Promise(lgcn, at_least=0.80),
}


def accuracies(promise: Promise, data: Data, seeds: int) -> list[float]:
    """The test accuracy for each seed."""
    results = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        results.append(best_test_accuracy(promise.build(data), data, toy_split(data, seed)))
    return results


def main() -> None:
    """Train every model, print a row each, and exit 1 if one is outside its band."""
    parser = argparse.ArgumentParser(description="Check what the toy graph promises.")
    parser.add_argument("--seeds", type=int, default=10, help="runs per model (default: 10)")
    parser.add_argument("--graph", type=int, default=0, help="the graph's own seed (default: 0)")
    asked = parser.parse_args()
    data, failed = toy_graph(seed=asked.graph), False
    print(f"{'model':<8} {'test accuracy':>15}   promised          kept")
    for name, promise in MODELS.items():
        found = accuracies(promise, data, asked.seeds)
        kept = promise.kept(fmean(found))
        failed |= not kept
        print(
            f"{name:<8} {100 * fmean(found):>7.1f} ± {100 * pstdev(found):>3.1f} %   "
            f"{100 * promise.at_least:>3.0f} to {100 * promise.at_most:>3.0f} %      "
            f"{'yes' if kept else 'NO'}",
            flush=True,
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
