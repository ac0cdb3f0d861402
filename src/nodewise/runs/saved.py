"""Finished runs, read back from their folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from nodewise.data.fingerprints import names_sha256
from nodewise.data.stores.store import GraphStore
from nodewise.errors import GraphError, RunError
from nodewise.models.layerwise import Outputs
from nodewise.runs.folder import CANDIDATES, RESULT, RunFolder, is_finished
from nodewise.runs.task import Factory, new_model
from nodewise.training.engines.model_inputs import as_input
from nodewise.training.inference import Inference, MappedGraph
from nodewise.training.inputs import prepare
from nodewise.training.loop import Epoch, Tensors
from nodewise.training.metrics import record_score
from nodewise.training.recipe import Recipe

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class SavedRun:
    """A finished run: its model, its record, and the configuration it was trained with.

    Attributes:
        folder: The run's folder.
        config: The content of `config.toml`: graph, split, model, recipe, seed and settings.
        record: The content of `result.json`: scores, epochs, seconds, fingerprints, versions.
        model: The trained model, in evaluation mode.
        recipe: The recipe, with all its settings.
        allow_changes: Whether files that have changed since training are read, with a warning.
    """

    folder: Path
    config: dict[str, Any] = field(repr=False)
    record: dict[str, Any] = field(repr=False)
    model: Module = field(repr=False)
    recipe: Recipe = field(repr=False)
    allow_changes: bool = field(default=False, repr=False)

    @classmethod
    def of(
        cls, folder: Path, config: dict[str, Any], record: dict[str, Any], model: Module
    ) -> Self:
        """A run whose model is in memory."""
        recipe = Recipe.from_settings(config["recipe"], config["settings"])
        return cls(folder, config, record, model.eval(), recipe)

    @property
    def class_names(self) -> list[str]:
        """The names of the classes in the order of the logits."""
        return list(self.config["graph"]["classes"])

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of the logits: names where the graph had them, else numbers."""
        return class_labels(self.class_names)

    @property
    def history(self) -> list[Epoch]:
        """A dictionary for each epoch, as `history.jsonl` has it."""
        return self.files.history

    @property
    def files(self) -> RunFolder:
        """Its files."""
        return RunFolder(self.folder, self.allow_changes)

    def predict(self, data: Data | None = None) -> NDArray[Any]:
        """The class of each node, shape (N,); see `predict_proba`."""
        return np.asarray(self.classes[self.predict_proba(data).argmax(1)])

    def predict_proba(self, data: Data | None = None) -> NDArray[np.float32]:
        """The probability of each class for each node, shape (N, classes).

        Args:
            data: A graph with the same features; None reads the graph of training again.

        Raises:
            GraphError: The graph has other features or classes, or lacks edge weights.
            InputError: There is no graph, and that of training was in memory.
            TableError: The files of training have changed, or are gone.
        """
        graph = self._training_graph() if data is None else data
        return self.logits(graph).softmax(1).cpu().numpy()

    def _training_graph(self) -> Data:
        from nodewise.runs.sources import read_source

        return read_source(self.config["graph"], self.files).data

    def logits(self, data: Data | GraphStore, how: Inference | None = None) -> Tensor:
        """Logits of all nodes of a graph with the same features, shape (N, classes).

        They are divided by the run's temperature, if it was calibrated.

        Args:
            data: The graph, in memory or in a store.
            how: What may be used for it; by default half of the machine's memory.

        Raises:
            GraphError: The graph has other features or classes, or lacks edge weights.
        """
        return torch.cat([part.logits for part in self.outputs(data, how)])

    def outputs(
        self, data: Data | GraphStore, how: Inference | None = None, embeddings: bool = False
    ) -> Iterator[Outputs]:
        """As `logits`, some nodes at a time, in the order of their numbers.

        Args:
            data: The graph, in memory or in a store.
            how: What may be used for it; by default half of the machine's memory.
            embeddings: Whether the input of the last layer is wanted, too.

        Raises:
            GraphError: The graph has other features or classes, or lacks edge weights.
            InputError: Embeddings are wanted, and the model's layers are not known.
        """
        how, temperature = how or Inference(), self.record.get("temperature", 1.0)
        inputs = self._mapped(data) if isinstance(data, GraphStore) else self.inputs(data)
        for part in how.outputs(self.model, inputs, embeddings):
            yield part if temperature == 1 else part._replace(logits=part.logits / temperature)

    def embeddings(self, data: Data | GraphStore, how: Inference | None = None) -> Tensor:
        """The input of the last layer, a row for each node, shape (N, width).

        Args:
            data: The graph, in memory or in a store.
            how: What may be used for it; by default half of the machine's memory.

        Raises:
            GraphError: The graph has other features or classes, or lacks edge weights.
            InputError: The model is of a kind whose layers are not known.
        """
        found = self.outputs(data, how, embeddings=True)
        return torch.cat([part.embedding for part in found if part.embedding is not None])

    def inputs(self, data: Data) -> tuple[Any, ...]:
        """The arguments of the model for a graph: features, edges, and weights if it takes any.

        Raises:
            GraphError: The graph has other features or classes, or lacks edge weights.
        """
        self._check(_facts(data))
        x = as_input(self.model, prepare(data.x, self.recipe.optimization.features))
        weights = (data.edge_weight,) if self._is_weighted else ()
        return (x, data.edge_index, *weights)

    def _mapped(self, store: GraphStore) -> MappedGraph:
        """The arguments of the model for a store, which stay in its files."""
        self._check(
            _Facts(
                store.csc.edge_weight is not None,
                store.num_features,
                store.feature_names,
                store.classes or None,
                len(store.classes),
            )
        )
        csc = store.csc if self._is_weighted else replace(store.csc, edge_weight=None)
        return MappedGraph(store, csc, self.recipe.optimization.features)

    @property
    def _is_weighted(self) -> bool:
        return bool(self.config["graph"].get("weighted"))

    def _check(self, found: _Facts) -> None:
        graph = self.config["graph"]
        if self._is_weighted and not found.weighted:
            raise GraphError(
                "edge_weight",
                f"{self.folder} was trained with weights of edges, and here are none",
                way_out="give each edge a weight, in a column of the same name",
            )
        if found.features != graph["features"]:
            raise GraphError(
                "x",
                f"{self.folder} was trained on {graph['features']} features",
                value=found.features,
                way_out="give a graph with the same features in the same order",
            )
        trained, given = graph.get("feature_names_sha256"), names_sha256(found.feature_names)
        if trained and given and trained != given:
            raise GraphError(
                "feature_names",
                f"are not those {self.folder} was trained on",
                way_out="give a graph with the same features in the same order",
            )
        self._check_classes(found)

    def _check_classes(self, found: _Facts) -> None:
        """Check that a graph's classes, if it has any, are those of the model."""
        names = list(found.class_names or self.class_names)
        if names != self.class_names or found.classes > len(names):
            raise GraphError(
                "class_names",
                f"{self.folder} was trained on the classes {', '.join(self.class_names)}",
                value=names if names != self.class_names else f"{found.classes} classes",
                way_out="give a graph with the same classes in the same order",
            )


class _Facts(NamedTuple):
    """The properties that a graph must share with that of training."""

    weighted: bool
    features: int
    feature_names: Sequence[str] | None
    class_names: Sequence[str] | None
    classes: int


def _facts(data: Data) -> _Facts:
    y = data.get("y")
    return _Facts(
        "edge_weight" in data,
        int(data.x.size(1)),
        data.get("feature_names"),
        data.get("class_names"),
        0 if y is None else int(y.max()) + 1,
    )


def best_run(path: Path, allow_changes: bool = False) -> Path:
    """The folder of a run; of several runs in it, the one with the best validation score.

    Of training that was stopped before any run was finished, the best run so far is taken: the one
    in the folder, of a seed, or among the candidates of the recipe "auto".

    Args:
        path: The folder.
        allow_changes: Whether records that have changed since training are read, with a warning.

    Raises:
        RunError: There is no finished run, and none that was stopped after it was validated.
    """
    if is_finished(path):
        return path
    runs = [folder.parent for folder in path.glob(f"seed-*/{RESULT}")]
    places = [path, *path.glob("seed-*"), *path.glob(f"{CANDIDATES}/*")]
    folders = sorted(runs or places)
    scores = {folder: _score_so_far(RunFolder(folder, allow_changes)) for folder in folders}
    found = {folder: score for folder, score in scores.items() if score is not None}
    if not found:
        raise RunError(
            str(path),
            "holds no finished run",
            way_out="name a folder that `nodewise train` wrote, or run it again to finish",
        )
    return max(found, key=lambda folder: found[folder])


def _score_so_far(run: RunFolder) -> float | None:
    """The validation score of a run that is finished or was stopped; None before there is one."""
    if is_finished(run.path):
        return record_score(run.result or {})
    best = run.best_so_far
    return None if best is None else float(best[1]["best"]["epoch_accuracy"])


def _content(run: RunFolder) -> tuple[Tensors, dict[str, Any]]:
    """Weights of the best epoch, and the record; that of a stopped run has no scores."""
    if run.result is not None:
        return run.weights(), run.result
    weights, about = run.best_so_far or ({}, {})
    numbers = {"epochs": about["epoch"], "best_epoch": int(about["best"]["epoch"])}
    return weights, {"interrupted": True, "model": run.config["model"], **numbers}


def class_labels(names: Sequence[str]) -> NDArray[Any]:
    """Class numbers where the names are 0, 1, 2, ..., else the names."""
    numbers = [str(k) for k in range(len(names))]
    return np.arange(len(names)) if list(names) == numbers else np.array(names)


def load_run(
    path: str | Path,
    model: Factory | None = None,
    device: str = "cpu",
    allow_changes: bool = False,
) -> SavedRun:
    """Read a run; no code in any file is executed.

    A run that was stopped has the weights of its best epoch so far; its record is `interrupted`.

    Args:
        path: The folder of a run, or of several, of which the one with the best validation score is
            read.
        model: The function that built the user's model; None for a model of the zoo.
        device: The model's device.
        allow_changes: Whether to load a run whose files have changed since it was trained, with a
            `RunWarning` for each, instead of refusing it.

    Raises:
        RunError: A file is missing, damaged, of another model, or not as training left it.
    """
    folder = best_run(Path(path), allow_changes)
    run = RunFolder(folder, allow_changes)
    run.check_files()
    config = run.config
    weights, record = _content(run)
    if folder.parent == Path(path) / CANDIDATES:  # it has not been chosen yet
        record = {**record, "interrupted": True}
    try:
        recipe = Recipe.from_settings(config["recipe"], config["settings"])
        graph = config["graph"]
        sizes = (graph["features"], len(graph["classes"]), graph["nodes"])
        loaded = new_model(config["model"], sizes, recipe, model)
        loaded.load_state_dict(weights)
    except Exception as error:  # settings that were changed can make a model fail in any way
        raise RunError(
            str(folder),
            f"model and configuration do not belong together ({type(error).__name__}: {error})",
            way_out="restore the files as `nodewise train` wrote them",
        ) from error
    return SavedRun(folder, config, record, loaded.to(device).eval(), recipe, allow_changes)
