"""Records that no run has made, in tables as runs would leave them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodewise.experiments.cost import cost_table
from nodewise.experiments.records import run_table
from nodewise.experiments.suite import Variant, job_of
from nodewise.experiments.table import Record, RecordTable
from nodewise.experiments.tsne import tsne_table
from nodewise.runs.task import RESULTS_VERSION
from nodewise.training.recipe import default_settings, load_recipe

OFFICIAL = Variant("official")


def put(table: RecordTable, record: Record) -> Path:
    """Write a record into a table, in the place of one with its key; returns the table's file."""
    records = {key: line.record for key, line in table.read().lines.items()}
    records[tuple(record[name] for name in table.fields)] = record
    table.path.parent.mkdir(parents=True, exist_ok=True)
    table.path.write_text("".join(f"{json.dumps(one)}\n" for one in records.values()))
    return table.path


def put_run(
    results: Path,
    model: str,
    seed: int,
    accuracy: float,
    dataset: str = "cora",
    variant: Variant = OFFICIAL,
    **changes: Any,
) -> Path:
    """A finished run with that accuracy; `changes` override what its record says."""
    job = job_of(results, dataset, model, variant, seed)
    source = {key: value for key, value in job.source.items() if key != "dataset"}
    record = {
        "dataset": dataset,
        "model": model,
        "variant": variant.name,
        "seed": seed,
        "recipe": job.recipe,
        "val_accuracy": accuracy,
        "test_accuracy": accuracy,
        "test_micro_f": accuracy - 0.01,
        "test_macro_f": accuracy - 0.02,
        "logits_sha256": "0",
        "seconds": 2.0,
        "epochs": 10,
        "best_epoch": 5,
        "parameters": 7,
        "versions": {"torch": "1.0"},
        "begun_with": "0.0.0",
        "results_version": RESULTS_VERSION,
        "split_sha256": "0",
        "graph": {**source, "sha256": "0", "nodes": 9, "features": 3, "classes": ["a", "b"]},
        "settings": {**default_settings(), **job.expected_record().settings},
    }
    return put(run_table(results, dataset, model, variant.name), {**record, **changes})


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
    """A record of costs, all of them 10 unless given."""
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
    return put(cost_table(results), record)


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
    return put(tsne_table(results), record)
