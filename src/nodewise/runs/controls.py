"""Controls: what a model must beat, the majority class and a model of the features alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nodewise.errors import RunError
from nodewise.io import read_json, write_json
from nodewise.ops.sparse import SparseRows, take_rows
from nodewise.runs.folder import CONFIG, RunFolder
from nodewise.runs.formats import check_controls
from nodewise.runs.run import train
from nodewise.runs.task import Task
from nodewise.training.engines.resources import Resources
from nodewise.training.inputs import prepare
from nodewise.training.recipe import load_recipe

CONTROLS = "controls.json"
FEATURES_ONLY = "Logistic"
_MOST_VALUES = 50_000_000  # features that are read of a graph in files
_MOST_WORK = 500_000_000  # values of training nodes times classes: a step takes a tenth of a second


def controls_in(folder: Path, task: Task, known_run: Path | None = None) -> dict[str, Any]:
    """The controls of a task, from `controls.json`; they are computed if it has none of this task.

    Args:
        folder: The folder of all runs of the task.
        task: The task.
        known_run: A folder that may have a run of logistic regression on the same task.
    """
    path = folder / CONTROLS
    about, known = _about(task), {}
    with suppress(RunError):
        known = read_controls(folder) or {}
    if not about.items() <= known.items():
        known = {**about, **controls_of(task, known_run)}
        write_json(path, known)
    return known


def read_controls(folder: Path) -> dict[str, Any] | None:
    """The content of `controls.json`; None without such a file.

    Raises:
        RunError: The file was changed, or is something else.
    """
    path = folder / CONTROLS
    if not path.exists():
        return None
    return read_json(path, check_controls, "delete it: `nodewise train` writes it again")


def controls_of(task: Task, known_run: Path | None = None) -> dict[str, Any]:
    """Scores of the majority class (`majority`) and of the features alone (`features_only`).

    The majority class is that of training and validation nodes, whose shares are its probabilities.
    The features alone are those of the nodes themselves, in a logistic regression whose scaling and
    strength validation nodes choose. Where it would take long, the reason is in `skipped`.

    Args:
        task: The task.
        known_run: As of `controls_in`.
    """
    task = task.in_memory(_MOST_VALUES)
    split, labels = task.split, task.data.y.cpu().numpy()
    known = labels[np.concatenate([split.train, split.val])]
    name = task.class_names[int(np.bincount(known).argmax())]
    majority = {**_trained(task, "Majority"), "class": name}
    majority.pop("seconds")
    return {"majority": majority, "features_only": _features_only(task, known_run)}


def _features_only(task: Task, known_run: Path | None) -> dict[str, Any]:
    found = None if known_run is None else _recorded(known_run, task)
    if found is not None:
        return found
    train = task.split.train
    if np.unique(task.data.y.cpu().numpy()[train]).size < 2:
        return {"skipped": "all training nodes have one class"}
    if not task.data.x.size(1) or _values(task) * len(task.class_names) > _MOST_WORK:
        return {"skipped": "the training nodes have too many features for a few seconds"}
    return _trained(task, FEATURES_ONLY)


def _values(task: Task) -> int:
    """How many values the training nodes have, without zeros where features are sparse."""
    rows = take_rows(prepare(task.data.x, "none"), torch.from_numpy(task.split.train.copy()))
    return rows.values.numel() if isinstance(rows, SparseRows) else rows.numel()


def _trained(task: Task, model: str) -> dict[str, Any]:
    """The scores of a model of scikit-learn, trained for this task."""
    keys = {key: task.recipe.settings[key] for key in ("metric", "class_weight")}
    recipe = load_recipe("nodewise", model, None, keys)
    # One process trains it, also where several trained the task.
    control = replace(task, model=model, recipe=recipe, build=None, refit=None)
    control = replace(control, resources=Resources())
    return _scores(train(control, 0).record)


def _recorded(folder: Path, task: Task) -> dict[str, Any] | None:
    """The scores of a finished run, if it is of this task."""
    run = RunFolder(folder)
    record = run.result if (folder / CONFIG).exists() else None
    if record is None or record["model"] != FEATURES_ONLY:
        return None
    about = {**record, **{key: record["settings"][key] for key in ("metric", "class_weight")}}
    return _scores(record) if _about(task).items() <= about.items() else None


def _about(task: Task) -> dict[str, Any]:
    """All that the controls depend on."""
    return {
        "split_sha256": task.split.sha256(),
        "graph_sha256": task.graph_sha256,
        "metric": task.recipe.stopping.metric,
        "class_weight": task.recipe.optimization.class_weight,
    }


def _scores(record: Mapping[str, Any]) -> dict[str, Any]:
    others = ("intervals", "seconds")
    return {k: v for k, v in record.items() if k.startswith(("val_", "test_")) or k in others}
