"""One run: trains a model by a recipe on a graph, from a seed, and returns its record."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from math import inf
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from nodewise._version import __version__
from nodewise.data.fingerprints import graph_sha256, logits_sha256, names_sha256
from nodewise.data.splits.split import Split
from nodewise.models.layerwise import Watch, unwatched
from nodewise.models.zoo import build_model
from nodewise.randomness import seeded_randomness
from nodewise.runs.diagnostics import diagnose, scored_part
from nodewise.runs.open_run import open_run
from nodewise.runs.whole_graph import WholeGraph
from nodewise.training.early_stopping import StoppingRule
from nodewise.training.engines.base import Engine, TrainingGraph
from nodewise.training.engines.choice import EngineChoice, choose_engine
from nodewise.training.engines.make import make_engine
from nodewise.training.engines.model_inputs import check_weights
from nodewise.training.engines.resources import Resources
from nodewise.training.inference import Inference
from nodewise.training.inputs import prepare
from nodewise.training.intervals import intervals
from nodewise.training.loop import Epoch, Keeper, Progress, Timer, fit
from nodewise.training.metrics import score
from nodewise.training.recipe import Recipe
from nodewise.training.temperature import best_temperature

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from nodewise.data.tables.preprocessing import Preprocessing


# Increased by a change that alters results by more than rounding or another draw from the same
# distribution, so that records from before and after it are not mixed. A test fails otherwise.
RESULTS_VERSION = 1


# Builds the user's model from the numbers of features and classes.
Factory = Callable[[int, int], Module]


@dataclass(frozen=True)
class Refit:
    """How a chosen model is trained once more, on training and validation nodes together.

    Attributes:
        epochs: How many epochs; no nodes are left on which one could be chosen.
        scores: The scores on validation nodes from before, by their names in a record.
        temperature: The temperature from before, if the recipe asks for one.
    """

    epochs: int
    scores: Mapping[str, float]
    temperature: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, as `config.toml` has them."""
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Task:
    """A model, a recipe and a graph; with a seed they define a run.

    Attributes:
        data: The graph, with `x`, `edge_index` and `y`.
        split: The training, validation and test nodes.
        source: Where graph and split come from, for the record: `dataset` and more.
        model: A name of the zoo, or a name for the user's model.
        recipe: The settings of model and training.
        build: Builds the user's model from the numbers of features and classes; its `forward` takes
            (x, edge_index).
        ids: The nodes' names; None uses their numbers.
        preprocessing: The encoding with which later tables get the same features, if the graph was
            read from tables.
        known_sha256: The graph's fingerprint, if it was computed before.
        refit: Set where the model learns from validation nodes too.
        resources: The processes, threads and time of training; they do not change results.
    """

    data: Data
    split: Split
    source: Mapping[str, Any]
    model: str
    recipe: Recipe
    build: Factory | None = field(default=None, repr=False)
    ids: Sequence[Any] | None = field(default=None, repr=False)
    preprocessing: Preprocessing | None = field(default=None, repr=False)
    known_sha256: str | None = field(default=None, repr=False)
    refit: Refit | None = None
    resources: Resources = field(default_factory=Resources, repr=False, compare=False)

    @cached_property
    def graph_sha256(self) -> str:
        """The graph's fingerprint."""
        return self.known_sha256 or graph_sha256(self.data)

    @cached_property
    def graph(self) -> TrainingGraph:
        """The graph as an engine takes it, features prepared."""
        x = prepare(self.data.x, self.recipe.optimization.features)
        split = self.split if self.refit is None else self.split.with_validation_learned()
        weight = self.data.get("edge_weight")
        return TrainingGraph(x, self.data.edge_index, self.data.y, split, weight)

    @property
    def rule(self) -> StoppingRule:
        """The recipe's stopping rule; one without validation where there are no nodes for it."""
        rule = self.recipe.stopping
        if self.refit is None:
            return rule
        return replace(rule, epochs=self.refit.epochs, start_record_epoch=self.refit.epochs)

    @cached_property
    def class_names(self) -> list[str]:
        """The names of the classes, or their numbers where the graph has no names."""
        names = self.data.get("class_names")
        return list(names) if names else [str(k) for k in range(int(self.data.y.max()) + 1)]

    def config(self, seed: int) -> dict[str, Any]:
        """Everything that identifies a run, as `config.toml` has it."""
        return {
            "nodewise": __version__,
            "results_version": RESULTS_VERSION,
            "model": self.model,
            "recipe": self.recipe.name,
            "seed": seed,
            "split_sha256": self.split.sha256(),
            "graph": {
                **self.source,
                "sha256": self.graph_sha256,
                "nodes": int(self.data.x.size(0)),
                "features": int(self.data.x.size(1)),
                "feature_names_sha256": names_sha256(self.data.get("feature_names")),
                "classes": self.class_names,
                **({"weighted": True} if self.graph.edge_weight is not None else {}),
            },
            "settings": self.recipe.settings,
            **({} if self.refit is None else {"refit": self.refit.to_dict()}),
        }

    def fresh_model(self) -> Module:
        """An untrained model, initialized from torch's random state.

        Raises:
            InputError: The model would ignore the graph's edge weights.
        """
        nodes, features = self.data.x.shape
        sizes = (int(features), len(self.class_names), int(nodes))
        model = new_model(self.model, sizes, self.recipe, self.build)
        check_weights(model, self.graph.edge_weight)
        return model.to(self.data.y.device)

    def in_memory(self, most: int) -> Task:
        """The task with features that can be read at once; see `StoredTask`."""
        return self

    @property
    def whole_graph(self) -> WholeGraph:
        """The graph as predictions take it."""
        ids = range(self.data.y.numel()) if self.ids is None else self.ids
        return WholeGraph(self.data, *self._sizes, ids)

    @property
    def engine_choice(self) -> EngineChoice:
        """The engine that trains it, and why.

        Raises:
            InputError: The engine that the recipe names cannot train this model.
        """
        with seeded_randomness(0):
            model = self.fresh_model()
        return choose_engine(model, self._sizes, self.recipe.batching, self.resources)

    @property
    def _sizes(self) -> tuple[int, int]:
        """The numbers of nodes and of edges."""
        return int(self.data.x.size(0)), int(self.data.edge_index.size(1))

    def engine(self, seconds: float = inf) -> Engine:
        """An engine with an untrained model; `seconds` are those of its `Resources`."""
        resources = replace(self.resources, seconds=seconds)
        return make_engine(self.fresh_model(), self.graph, self.recipe, resources)


def new_model(
    name: str, sizes: tuple[int, int, int], recipe: Recipe, build: Factory | None = None
) -> Module:
    """An untrained model: one of the zoo, as the recipe shapes it, or the user's.

    Args:
        name: The model's name.
        sizes: The numbers of features, classes and nodes.
        recipe: The recipe, for a model of the zoo.
        build: Builds the user's model from the numbers of features and classes.
    """
    if build is not None:
        return build(*sizes[:2])
    return build_model(name, *sizes, **vars(recipe.architecture))


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
                about = (logits, task.class_names, ids)
                diagnostics = diagnose(engine.model, task.graph, *about, how)
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
