"""Records that no run has made, laid where runs would lay theirs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from nodewise.experiments.cost import cost_path
from nodewise.experiments.suite import Variant, job_of
from nodewise.runs.run import RESULTS_VERSION
from nodewise.training.recipe import load_recipe

OFFICIAL = Variant("official")


def put_run(
    results: Path,
    model: str,
    seed: int,
    accuracy: float,
    dataset: str = "cora",
    variant: Variant = OFFICIAL,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """A finished run with that accuracy; `config` overrides what its configuration says."""
    job = job_of(results, dataset, model, variant, seed)
    settings = load_recipe(job.recipe, model, dataset, job.settings).settings
    about = {
        "nodewise": "0.0.0",
        "results_version": RESULTS_VERSION,
        "model": model,
        "recipe": job.recipe,
        "seed": seed,
        "split_sha256": "0",
        "graph": {**job.source, "sha256": "0", "classes": ["a", "b"]},
        "settings": settings,
    }
    record = {
        "dataset": dataset,
        "model": model,
        "seed": seed,
        "val_accuracy": accuracy,
        "test_accuracy": accuracy,
        "test_micro_f": accuracy - 0.01,
        "test_macro_f": accuracy - 0.02,
        "recipe": job.recipe,
        "settings": settings,
        "graph_sha256": "0",
        "split_sha256": "0",
        "logits_sha256": "0",
        "seconds": 2.0,
        "versions": {"torch": "1.0"},
    }
    job.folder.mkdir(parents=True)
    (job.folder / "config.toml").write_text(tomli_w.dumps({**about, **(config or {})}))
    (job.folder / "result.json").write_text(json.dumps(record))
    return job.folder


def put_runs(
    results: Path,
    model: str,
    accuracies: Sequence[float],
    dataset: str = "cora",
    variant: Variant = OFFICIAL,
) -> None:
    """A run for each accuracy, seeds from 0."""
    for seed, accuracy in enumerate(accuracies):
        put_run(results, model, seed, accuracy, dataset, variant)


def put_cost(results: Path, dataset: str, model: str, **figures: Any) -> Path:
    """A record of costs, all of them 10 unless said otherwise."""
    names = ["mflops", "mflops_sparse", "train_ms", "test_ms", "train_extra_mb", "test_extra_mb"]
    record = {
        "dataset": dataset,
        "model": model,
        "results_version": RESULTS_VERSION,
        "recipe": "official",
        "settings": load_recipe("official", model, dataset).settings,
        **dict.fromkeys(names, 10.0),
        "repeats": 3,
        "threads": 1,
        "load_average": 0.1,
        **figures,
    }
    path = cost_path(results, dataset, model)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path


def put_tsne(results: Path, **changes: Any) -> Path:
    """A record of six nodes in the plane."""
    points = [[float(i), float(i % 3)] for i in range(6)]
    kept = {
        "test_accuracy": 0.8,
        "logits_sha256": "0",
        "silhouette": 0.25,
        "silhouette_by_class": [0.5, 0.0],
        "points": points,
    }
    weights = {"model": "LGCN", "layer": 2, "points": [*points, [2.0, 1.0]]}
    far = dict.fromkeys(("distance_median", "distance_highest", "from_middle", "spread"), 0.125)
    record = {
        "results_version": RESULTS_VERSION,
        "dataset": "cora",
        "recipe": "official",
        "classes": ["Case_Based", "Theory"],
        "labels": [0, 0, 0, 1, 1, 1],
        "representations": {"GCN": kept, "LGCN": kept},
        "weights": {**weights, **far},
        **changes,
    }
    path = results / "tsne" / "cora.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path
