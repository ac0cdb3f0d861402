"""The record of a run: its scores, its fingerprints, and the versions that computed them."""

from __future__ import annotations

import platform
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from nodewise._version import __version__
from nodewise.data.fingerprints import logits_sha256
from nodewise.data.splits.split import Split
from nodewise.runs.diagnostics import scored_part
from nodewise.runs.task import Task
from nodewise.training.intervals import intervals
from nodewise.training.loop import Progress
from nodewise.training.metrics import score


def record_of(
    task: Task, seed: int, model: Module, progress: Progress, logits: Tensor | None
) -> dict[str, Any]:
    """The record of a run; every number that is printed anywhere comes from a record."""
    record = {
        "dataset": task.source.get("dataset"),
        "model": task.model,
        "recipe": task.recipe.name,
        "seed": seed,
        "interrupted": progress.interrupted,
        "epochs": progress.epoch,
        "best_epoch": progress.best.epoch if task.refit is None else progress.epoch - 1,
        "seconds": progress.seconds,
    }
    if logits is None:
        return record
    return {
        **record,
        **scores_of(logits, task.data.y, task.split),
        **({} if task.refit is None else _refitted(task)),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "split_sha256": task.split.sha256(),
        "graph_sha256": task.graph_sha256,
        "logits_sha256": logits_sha256(logits),
        "settings": task.recipe.settings,
        "versions": versions(),
    }


def _refitted(task: Task) -> dict[str, Any]:
    """The fields of a record that a refit replaces: the scores are those from before it."""
    assert task.refit is not None
    about = {**task.refit.scores, "refit_epochs": task.refit.epochs}
    return about if len(task.split.test) else {**about, "intervals": {}}


def scores_of(logits: Tensor, y: Tensor, split: Split) -> dict[str, Any]:
    """Scores on the validation nodes and on the test nodes, if there are such nodes.

    See `scores_of_probabilities`.
    """
    return scores_of_probabilities(probabilities_of(logits), y.cpu().numpy(), split)


def probabilities_of(logits: Tensor) -> NDArray[np.float64]:
    """The probabilities of these logits, in double precision, so that no two classes tie."""
    return np.asarray(logits.cpu().double().softmax(1).numpy())


def scores_of_probabilities(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], split: Split
) -> dict[str, Any]:
    """All metrics of each part of a split but the training nodes, and intervals of one part.

    A metric that is undefined there is left out. `intervals` has 95 % intervals on the test nodes,
    or on the validation nodes if there are no others; see `nodewise.training.intervals`.
    """
    known = labels[np.concatenate([nodes for _, nodes in split])]
    scores: dict[str, Any] = {}
    for part, nodes in split:
        if part != "train" and len(nodes):
            metrics = vars(score(labels[nodes], probabilities[nodes], known))
            scores |= {f"{part}_{name}": v for name, v in metrics.items() if v is not None}
    part = scored_part(split)
    nodes = dict(split)[part]
    found = intervals(labels[nodes], probabilities[nodes]) if len(nodes) else {}
    return {**scores, "intervals": {f"{part}_{name}": list(ends) for name, ends in found.items()}}


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that computed a record."""
    names = ["torch", "torch-geometric", "numpy", *(["numba"] if find_spec("numba") else [])]
    packages = {name: version(name) for name in names}
    return {"nodewise": __version__, "python": platform.python_version(), **packages}
