"""One run: trains a model by a recipe on a graph, from a seed, and returns its record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from torch import Tensor

from nodewise.models.layerwise import Watch, unwatched
from nodewise.randomness import seeded_randomness
from nodewise.runs.diagnostics import diagnose
from nodewise.runs.open_run import open_run
from nodewise.runs.record import record_of
from nodewise.runs.task import Task
from nodewise.training.engines.base import Engine
from nodewise.training.inference import Inference
from nodewise.training.loop import Epoch, Keeper, Timer, fit
from nodewise.training.temperature import best_temperature


@dataclass(frozen=True)
class Callbacks:
    """Callbacks of a run.

    Attributes:
        epoch: Called after every epoch with its line of history.
        stop: Asked after every epoch whether to save and stop.
        enough: Asked after every epoch whether to end training as if its patience were used up.
        checkpoint_seconds: Time between checkpoints.
        seconds: How long a model that is trained at once may take; others end by `stop`.
        timer: Measures the seconds of the record.
        nodes: Called after every part of the nodes that are computed when training has ended.
    """

    epoch: Callable[[Epoch], None] = lambda line: None
    stop: Callable[[], bool] = lambda: False
    enough: Callable[[], bool] = lambda: False
    checkpoint_seconds: float = 10.0
    seconds: float = inf
    timer: Timer = perf_counter
    nodes: Watch = unwatched


def train_in(
    folder: Path, task: Task, seed: int, callbacks: Callbacks | None = None
) -> dict[str, Any]:
    """Train in a folder, from its last checkpoint on, and return the record.

    A finished run is not trained again. The record of an interrupted one has `interrupted` set, and
    is not written.

    Raises:
        RunError: Another process works there, or the folder holds another run.
        DivergedError: The loss became infinite or undefined.
    """
    processes = task.resources.processes
    with open_run(folder, task.config(seed)) as run:
        if task.preprocessing is not None:
            run.write_preprocessing(task.preprocessing)
        record: dict[str, Any] | None = processes.of_first(run.result)
        if record is None:
            engine, record, logits = train(task, seed, run, callbacks)
            if logits is not None:
                ids = range(task.graph.y.numel()) if task.ids is None else task.ids
                how = Inference.within(task.recipe.batching.budget)
                diagnostics = diagnose(engine.model, task.graph, logits, task.class_names, ids, how)
                run.write_diagnostics(diagnostics)
                run.finish(engine.model.state_dict(), record)
        return record


def follow(task: Task, seed: int, callbacks: Callbacks | None = None) -> dict[str, Any]:
    """Train in a further process, while the first one calls `train_in`; returns the record.

    Only the first process has a folder, so that files are written once. The record of a further one
    lacks the scores, unless the run was finished before.
    """
    record: dict[str, Any] | None = task.resources.processes.of_first(None)
    return train(task, seed, None, callbacks).record if record is None else dict(record)


class Trained(NamedTuple):
    """The result of training.

    Attributes:
        engine: The engine; its model has the weights of the best epoch.
        record: The run's record.
        logits: The model's logits of all nodes, calibrated if the recipe says so; None if training
            was interrupted.
    """

    engine: Engine
    record: dict[str, Any]
    logits: Tensor | None


def train(
    task: Task, seed: int, keeper: Keeper | None = None, callbacks: Callbacks | None = None
) -> Trained:
    """Train; only the keeper, if there is one, writes files."""
    callbacks = callbacks or Callbacks()
    with seeded_randomness(seed):
        engine = task.engine(callbacks.seconds)
        progress = fit(
            engine,
            task.rule,
            keeper,
            callbacks.epoch,
            callbacks.stop,
            callbacks.enough,
            callbacks.checkpoint_seconds,
            callbacks.timer,
        )
    if progress.interrupted or not engine.processes.is_first:
        return Trained(engine, record_of(task, seed, engine.model, progress, None), None)
    logits, calibration = engine.logits(callbacks.nodes), {}
    if task.recipe.optimization.calibration == "temperature":
        temperature = _temperature(task, logits)
        logits, calibration = logits / temperature, {"temperature": temperature}
    record = record_of(task, seed, engine.model, progress, logits)
    return Trained(engine, {**record, "engine": engine.name, **calibration}, logits)


def _temperature(task: Task, logits: Tensor) -> float:
    """The best temperature on validation nodes; of a refit, which has learned them, that before."""
    if task.refit is not None and task.refit.temperature is not None:
        return task.refit.temperature
    nodes = task.split.val
    return best_temperature(logits.cpu().numpy()[nodes], task.data.y.cpu().numpy()[nodes])
