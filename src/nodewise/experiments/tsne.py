"""Figure II: representations of nodes, and the weights W_v of nodes, laid out in the plane.

The record keeps the points, not the models: pictures are drawn from it alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from nodewise.errors import RunError
from nodewise.experiments.records import read_record
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import Suite, cell_folder
from nodewise.io import replacing, writing
from nodewise.models.classifier import Classifier
from nodewise.nn.modulation import Modulations
from nodewise.ops.reference import localized_weight
from nodewise.runs.folder import MODEL, RESULT, RunFolder
from nodewise.runs.run import RESULTS_VERSION, versions
from nodewise.runs.saved import SavedRun, load_run

if TYPE_CHECKING:
    from torch_geometric.data import Data

LAYER = 1  # the second: its W_v are small enough to be taken as they are
PERPLEXITY, SEED = 30.0, 0
Rows = NDArray[np.floating[Any]]


def tsne_path(results: Path, dataset: str) -> Path:
    """Where the record of a data set lies."""
    return results / "tsne" / f"{dataset}.json"


def read_tsne(results: Path, dataset: str) -> dict[str, Any] | None:
    """The record of a data set, or None where there is none.

    Raises:
        RunError: It cannot be read, lacks something, comes from another results version, or shows
            other runs than those recorded.
    """
    path = tsne_path(results, dataset)
    record = read_record(path)
    if record is None:
        return None
    if record.get("results_version") != RESULTS_VERSION:
        raise RunError(
            str(path),
            "was made by another results version",
            value=record.get("results_version"),
            way_out="delete it, and run again",
        )
    _check_whole(path, record)
    for model, kept in record["representations"].items():
        run = read_record(
            cell_folder(results, dataset, model, record["recipe"]) / "seed-0" / RESULT
        )
        if run is not None and run.get("logits_sha256") != kept["logits_sha256"]:
            raise RunError(
                str(path),
                f"shows another run of {model} than the one recorded",
                way_out="delete it, and run again",
            )
    return record


_OF_MODEL = ("logits_sha256", "silhouette", "silhouette_by_class", "points")
_OF_WEIGHTS = ("distance_median", "distance_highest", "from_middle", "spread", "points")


def _check_whole(path: Path, record: Mapping[str, Any]) -> None:
    """Check a record to have what is shown of it."""
    of_models = record.get("representations")
    shown = of_models if isinstance(of_models, dict) else {}
    due = [
        (record, ("recipe", "classes", "labels")),
        (record.get("weights"), _OF_WEIGHTS),
        *((shown.get(model), _OF_MODEL) for model in Suite.load("tsne").models),
    ]
    for part, keys in due:
        lost = [key for key in keys if not isinstance(part, dict) or key not in part]
        if lost:
            raise RunError(
                str(path), f"has no {lost[0]} where one is due", way_out="delete it, and run again"
            )


def job_with_model(job: Job, results: Path) -> Job:
    """The job whose folder has the model, or will have it once it has run.

    Records are kept and models are not, so a finished run may have lost its model; the same run
    is then made once more, elsewhere.
    """
    if not job.is_done() or (job.folder / MODEL).exists():
        return job
    folder = results / "tsne" / "runs" / job.source["dataset"] / job.model.replace(":", "_")
    return replace(job, folder=folder)


def make_tsne(results: Path, jobs: Sequence[Job]) -> Path:
    """Lay out what the models of some runs make of their graph, and write the record.

    Args:
        results: The folder of records.
        jobs: The runs, the localized model last.

    Raises:
        RunError: A model is not there, or came out differently from what its record says.
    """
    models = []
    for job in jobs:
        saved = load_run(job_with_model(job, results).folder)
        _check_same(RunFolder(job.folder).result, saved)
        models.append(saved)
    return write_tsne(results, tsne_record(models, jobs[-1].task().data))


def _check_same(record: Mapping[str, Any] | None, saved: SavedRun) -> None:
    if record is not None and record["logits_sha256"] != saved.record["logits_sha256"]:
        raise RunError(
            str(saved.folder),
            "trained again, the run gave other logits than its record says",
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


def write_tsne(results: Path, record: dict[str, Any]) -> Path:
    """Write a record on one line, since most of it is numbers, and say where."""
    path = tsne_path(results, record["dataset"])
    with writing(path), replacing(path) as stream:
        stream.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
    return path


def _representations(saved: SavedRun, data: Data, labels: NDArray[np.int64]) -> dict[str, Any]:
    """Points, and how well classes keep apart before they were laid out: silhouettes, -1 to 1."""
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
    """Points of all W_v, the last one W, and how far they are from W, in units of its length."""
    own, everywhere = node_weights(saved, data)
    length = np.linalg.norm(everywhere)
    distance = np.linalg.norm(own - everywhere, axis=1) / length
    middle = own.mean(0)
    spread = np.sqrt(np.square(own - middle).sum(1).mean())
    return {
        "distance_median": float(np.median(distance)),
        "distance_highest": float(distance.max()),
        "from_middle": float(np.linalg.norm(everywhere - middle) / length),
        "spread": float(spread / length),
        "points": plane(np.concatenate([own, everywhere[None]])),
    }


@torch.no_grad()
def node_weights(saved: SavedRun, data: Data) -> tuple[Rows, Rows]:
    """W_v of every node (N, H out in) and the global W (H out in), of the layer that is shown."""
    assert isinstance(saved.model, Classifier)
    conv = saved.model.layers[LAYER]
    made: Modulations
    _, made = conv(saved.embeddings(data), data.edge_index, return_modulations=True)
    node = next(modulation for modulation in made if modulation.level == "node")
    own = localized_weight(conv.weight, node.scale, node.shift)
    return own.flatten(1).numpy(), conv.weight.flatten().numpy()


def plane(rows: Rows) -> list[list[float]]:
    """t-SNE's points for some rows, two decimals each; the same every time."""
    from sklearn.manifold import TSNE

    # W_v may differ in their fifth decimals only; t-SNE starts from principal components, which
    # are taken of numbers of ordinary size.
    centerd = rows.astype(np.float64) - rows.mean(0)
    scaled = centerd / max(float(centerd.std()), np.finfo(np.float64).tiny)
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    layout = TSNE(2, perplexity=perplexity, init="pca", random_state=SEED, n_jobs=1)
    points = layout.fit_transform(scaled)
    return [[round(float(x), 2), round(float(y), 2)] for x, y in points]
