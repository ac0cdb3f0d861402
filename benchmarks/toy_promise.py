"""Does the toy graph keep its promise? Global models stay at or below 65 %, LGCN reaches 80 %.

Each seed draws the split and the initialization; the graph is the default one. The training is
that of the recipe `nodewise`, with the paper's activation, ELU, and dropout 0.4. The promise is
about that setting only: the last row shows a wide GCN with ReLU, which finds room for every
meaning of a word.

Usage:
    python benchmarks/toy_promise.py [--seeds 10] [--epochs N]

Prints a table and exits 1 where the promise fails. A model is one line in `MODELS`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from nodewise.errors import NodewiseError
from nodewise.experiments.runner import Job, run_all
from nodewise.runs.sources import dataset_source

PAPERS = {"act": "elu", "input_dropout": 0.4, "bias": False}


@dataclass(frozen=True)
class Promise:
    """A model, and the band of mean test accuracies that the toy graph promises for it."""

    model: str
    at_least: float = 0.0
    at_most: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=lambda: PAPERS)

    def kept(self, accuracy: float) -> bool:
        """Whether the accuracy lies in the band."""
        return self.at_least <= accuracy <= self.at_most


MODELS = {
    "GCN-8": Promise("GCN", at_most=0.65, settings={**PAPERS, "hidden_channels": 8}),
    "GCN-64": Promise("GCN-64", at_most=0.65),
    "LGCN": Promise("LGCN", at_least=0.80),
    "GCN-64, ReLU": Promise("GCN-64", settings={**PAPERS, "act": "relu"}),
}


def accuracies(
    folder: Path, seeds: int, more: Mapping[str, Any] | None = None
) -> dict[str, list[float]]:
    """The test accuracies of every model, a seed each; `more` settings go on top of its own."""
    jobs = [
        Job(
            dataset_source("toy", "random", seed),
            promise.model,
            seed,
            folder / name / str(seed),
            settings={**promise.settings, **(more or {})},
        )
        for name, promise in MODELS.items()
        for seed in range(seeds)
    ]
    found: dict[str, list[float]] = {name: [] for name in MODELS}
    for job, record in run_all(jobs, os.cpu_count() or 1):
        if isinstance(record, NodewiseError):
            raise record
        found[job.folder.parent.name].append(record["test_accuracy"])
    return found


def main() -> None:
    """Train every model, print a row each, and exit 1 if one is outside its band."""
    parser = argparse.ArgumentParser(description="Check what the toy graph promises.")
    parser.add_argument("--seeds", type=int, default=10, help="runs per model (default: 10)")
    parser.add_argument("--epochs", type=int, help="at most so many epochs, for a quick look")
    asked = parser.parse_args()
    more = {"epochs": asked.epochs} if asked.epochs else {}
    with TemporaryDirectory() as folder:
        found = accuracies(Path(folder), asked.seeds, more)
    print(f"{'model':<14} {'test accuracy':>13}   promised          kept")
    failed = False
    for name, promise in MODELS.items():
        mean = fmean(found[name])
        failed |= not promise.kept(mean)
        print(
            f"{name:<14} {100 * mean:>5.1f} ± {100 * stdev(found[name]):>3.1f} %   "
            f"{100 * promise.at_least:>3.0f} to {100 * promise.at_most:>3.0f} %      "
            f"{'yes' if promise.kept(mean) else 'NO'}"
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
