"""Figure II: representations of nodes, and the weights W_v of nodes, laid out in the plane.

The table `tsne.jsonl` has the points, not the models: pictures are drawn from it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from nodewise.errors import NodewiseError, RunError
from nodewise.experiments.plane import PERPLEXITY, SEED, plane
from nodewise.experiments.records import REPAIR, read_runs
from nodewise.experiments.runner import Job, run_all
from nodewise.experiments.suite import Suite, run_key
from nodewise.experiments.table import Content, Key, Line, RecordTable
from nodewise.models.classifier import Classifier
from nodewise.nn.modulation import Modulations
from nodewise.ops.reference import localized_weight
from nodewise.runs.folder import MODEL
from nodewise.runs.record import versions
from nodewise.runs.saved import SavedRun, load_run
from nodewise.runs.task import RESULTS_VERSION

if TYPE_CHECKING:
    from torch_geometric.data import Data

LAYER = 1  # the second: its W_v are small enough to be taken as they are
Rows = NDArray[np.floating[Any]]


def tsne_table(results: Path) -> RecordTable:
    """The table of points, a record for each data set."""
    return RecordTable(results / "tsne.jsonl", ("dataset",))


def read_tsne(results: Path, datasets: Iterable[str]) -> Content:
    """The records of some data sets, without those that are damaged or show other runs.

    Raises:
        RunError: The table cannot be read.
    """
    runs = read_runs(results, Suite.load("tsne")).lines
    keys = [(dataset,) for dataset in datasets]
    return tsne_table(results).read().checked(keys, lambda line: _check(line, runs))


def _check(line: Line, runs: Mapping[Key, Line]) -> None:
    """Check that a record is complete, of this results version, and of the runs in the tables."""
    record = line.record
    version = record.get("results_version")
    if version != RESULTS_VERSION:
        reason = "was made by another results version"
        raise RunError(str(line), reason, value=version, way_out=REPAIR)
    _check_complete(line)
    for model, shown in record["representations"].items():
        run = runs.get((record["dataset"], model, record["recipe"], 0))
        if run is not None and run.record.get("logits_sha256") != shown["logits_sha256"]:
            reason = f"shows another run of {model} than the one recorded"
            raise RunError(str(line), reason, way_out=REPAIR)


_OF_MODEL = ("logits_sha256", "silhouette", "silhouette_by_class", "points")
_OF_WEIGHTS = ("distance_median", "distance_highest", "from_middle", "spread", "points")


def _check_complete(line: Line) -> None:
    """Check that a record has all fields that a section shows."""
    record = line.record
    of_models = record.get("representations")
    shown = of_models if isinstance(of_models, dict) else {}
    required = [
        (record, ("recipe", "classes", "labels")),
        (record.get("weights"), _OF_WEIGHTS),
        *((shown.get(model), _OF_MODEL) for model in Suite.load("tsne").models),
    ]
    for part, keys in required:
        lost = [key for key in keys if not isinstance(part, dict) or key not in part]
        if lost:
            raise RunError(str(line), f"lacks {lost[0]}", way_out=REPAIR)


def job_with_model(results: Path, job: Job) -> Job:
    """The job in the folder that has its model, or will have it.

    Tables keep records and no models: a recorded run without a model is trained again, elsewhere.
    """
    if (job.folder / MODEL).exists():
        return job
    folder = results / "tsne" / "runs" / job.source["dataset"] / job.model.replace(":", "_")
    return replace(job, folder=folder)


def train_models(results: Path, jobs: Sequence[Job], workers: int) -> None:
    """Train the models of recorded runs that are missing.

    Raises:
        NodewiseError: A run failed.
        KeyboardInterrupt: It was interrupted; the same call continues.
    """
    with_models = (job_with_model(results, job) for job in jobs)
    left = [job for job in with_models if not (job.folder / MODEL).exists()]
    for _, outcome in run_all(left, workers):
        if isinstance(outcome, NodewiseError):
            raise outcome
        if outcome["interrupted"]:
            raise KeyboardInterrupt


def make_tsne(results: Path, jobs: Sequence[Job]) -> None:
    """Lay out representations and weights of the models of some runs, and add the record.

    Args:
        results: The folder of records.
        jobs: The runs, the localized model last.

    Raises:
        RunError: A model is missing, or differs from that of the recorded run.
    """
    recorded = read_runs(results, Suite.load("tsne")).lines
    models = []
    for job in jobs:
        saved = load_run(job_with_model(results, job).folder)
        line = recorded.get(run_key(job))
        if line is not None:
            _check_same(line, saved)
        models.append(saved)
    record = tsne_record(models, jobs[-1].task().data)
    added = tsne_table(results).add([record])
    if added.refused:
        raise added.refused[0]


def _check_same(line: Line, saved: SavedRun) -> None:
    if line.record.get("logits_sha256") != saved.record["logits_sha256"]:
        raise RunError(
            str(saved.folder),
            f"trained again, the run gave other logits than its record, {line}",
            way_out="compare the versions in both records",
        )


def tsne_record(models: Sequence[SavedRun], data: Data) -> dict[str, Any]:
    """Points for every model's representations and for the weights of the last model's nodes.

    Args:
        models: The models, the localized one last.
        data: The graph they were trained on.
    """
    labels = data.y.numpy()
    config = models[-1].config
    return {
        "results_version": RESULTS_VERSION,
        "dataset": config["graph"]["dataset"],
        "graph_sha256": config["graph"]["sha256"],
        "recipe": config["recipe"],
        "seed": config["seed"],
        "perplexity": PERPLEXITY,
        "tsne_seed": SEED,
        "classes": config["graph"]["classes"],
        "labels": labels.tolist(),
        "representations": {m.config["model"]: _representations(m, data, labels) for m in models},
        "weights": {"model": config["model"], "layer": LAYER + 1, **_weights(models[-1], data)},
        "versions": versions(),
    }


def _representations(saved: SavedRun, data: Data, labels: NDArray[np.int64]) -> dict[str, Any]:
    """Points, and the silhouettes of the classes in the representations themselves, -1 to 1."""
    from sklearn.metrics import silhouette_samples

    rows = saved.embeddings(data).numpy()
    scores = silhouette_samples(rows, labels)
    classes = range(len(saved.class_names))
    return {
        "test_accuracy": saved.record["test_accuracy"],
        "logits_sha256": saved.record["logits_sha256"],
        "silhouette": round(float(scores.mean()), 4),
        "silhouette_by_class": [round(float(scores[labels == k].mean()), 4) for k in classes],
        "points": plane(rows),
    }


def _weights(saved: SavedRun, data: Data) -> dict[str, Any]:
    """Points of all W_v, then of W, and their distances from W, relative to its norm."""
    local, weight = node_weights(saved, data)
    norm = np.linalg.norm(weight)
    distance = np.linalg.norm(local - weight, axis=1) / norm
    middle = local.mean(0)
    spread = np.sqrt(np.square(local - middle).sum(1).mean())
    return {
        "distance_median": float(np.median(distance)),
        "distance_highest": float(distance.max()),
        "from_middle": float(np.linalg.norm(weight - middle) / norm),
        "spread": float(spread / norm),
        "points": plane(np.concatenate([local, weight[None]])),
    }


@torch.no_grad()
def node_weights(saved: SavedRun, data: Data) -> tuple[Rows, Rows]:
    """W_v of every node (N, H out in) and the global W (H out in), of the layer that is shown."""
    assert isinstance(saved.model, Classifier)
    conv = saved.model.layers[LAYER]
    modulations: Modulations
    _, modulations = conv(saved.embeddings(data), data.edge_index, return_modulations=True)
    node = next(modulation for modulation in modulations if modulation.level == "node")
    local = localized_weight(conv.weight, node.scale, node.shift)
    return local.flatten(1).numpy(), conv.weight.flatten().numpy()
