"""Trained models, from their folders back to life."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor
from torch.nn import Module

from nodewise.data.fingerprints import names_sha256
from nodewise.errors import GraphError, NodewiseError, RunError
from nodewise.io import load_tensors
from nodewise.runs.export import embed
from nodewise.runs.folder import MODEL, RESULT, RunFolder
from nodewise.runs.run import Factory, new_model
from nodewise.training.engines import as_input
from nodewise.training.inputs import prepare
from nodewise.training.recipe import Recipe

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class SavedModel:
    """A trained model with all it needs to be used.

    Attributes:
        folder: Where it lies.
        config: What it was trained on, and how.
        result: Its record.
        model: The model, in evaluation mode.
        recipe: How its input is prepared.
    """

    folder: Path
    config: dict[str, Any]
    result: dict[str, Any]
    model: Module
    recipe: Recipe

    @classmethod
    def of(
        cls, folder: Path, config: dict[str, Any], result: dict[str, Any], model: Module
    ) -> Self:
        """A model that is at hand, with its configuration and record."""
        recipe = Recipe.from_settings(config["recipe"], config["settings"])
        return cls(folder, config, result, model.eval(), recipe)

    @property
    def class_names(self) -> list[str]:
        """The classes in the order of the logits."""
        return list(self.config["graph"]["classes"])

    @torch.no_grad()
    def logits(self, data: Data) -> Tensor:
        """Logits of all nodes of a graph with the same features, shape (N, classes).

        Raises:
            GraphError: The graph has other features, or no weights where training had them.
        """
        logits: Tensor = self.model(*self._inputs(data))
        return logits

    @torch.no_grad()
    def embeddings(self, data: Data) -> Tensor:
        """What the last layer is given, a row for each node of such a graph, shape (N, width).

        Raises:
            GraphError: The graph has other features, or no weights where training had them.
            InputError: The model keeps no such rows.
        """
        return embed(self.model, *self._inputs(data))

    def _inputs(self, data: Data) -> tuple[Any, ...]:
        self._check(data)
        x = as_input(self.model, prepare(data.x, self.recipe.optimization.features))
        weights = (data.edge_weight,) if self._is_weighted else ()
        return (x, data.edge_index, *weights)

    @property
    def _is_weighted(self) -> bool:
        return bool(self.config["graph"].get("weighted"))

    def _check(self, data: Data) -> None:
        graph = self.config["graph"]
        if self._is_weighted and "edge_weight" not in data:
            raise GraphError(
                "edge_weight",
                f"{self.folder} was trained with weights of edges, and here are none",
                way_out="give each edge a weight, in a column of the same name",
            )
        if data.x.size(1) != graph["features"]:
            raise GraphError(
                "x",
                f"{self.folder} was trained on {graph['features']} features",
                value=int(data.x.size(1)),
                way_out="give a graph with the same features in the same order",
            )
        trained, given = graph["feature_names_sha256"], names_sha256(data.get("feature_names"))
        if trained and given and trained != given:
            raise GraphError(
                "feature_names",
                f"are not those {self.folder} was trained on",
                way_out="give a graph with the same features in the same order",
            )
        self._check_classes(data)

    def _check_classes(self, data: Data) -> None:
        """A graph may lack classes or labels, but those it names must be the model's."""
        names = list(data.get("class_names") or self.class_names)
        y = data.get("y")
        count = 0 if y is None else int(y.max()) + 1
        if names != self.class_names or count > len(names):
            raise GraphError(
                "class_names",
                f"{self.folder} was trained to tell {', '.join(self.class_names)}",
                value=names if names != self.class_names else f"{count} classes",
                way_out="give a graph with the same classes in the same order",
            )


def best_run(path: Path) -> Path:
    """The folder itself, or of its runs the finished one with the best validation accuracy.

    Raises:
        RunError: There is no finished run.
    """
    if (path / RESULT).exists():
        return path
    runs = [folder.parent for folder in sorted(path.glob(f"seed-*/{RESULT}"))]
    if not runs:
        raise RunError(
            str(path),
            "holds no finished run",
            way_out="name a folder that `nodewise train` wrote, or run it again to finish",
        )
    return max(runs, key=lambda folder: (RunFolder(folder).result or {}).get("val_accuracy", 0.0))


def load_run(path: Path, build: Factory | None = None, device: str = "cpu") -> SavedModel:
    """Load a trained model; no code in any file is run.

    Args:
        path: A run's folder, or one of several runs, of which the best by validation is taken.
        build: What made the model, if it is not of the zoo.
        device: Where the model is to compute.

    Raises:
        RunError: A file is missing, damaged, or of another model.
    """
    folder = best_run(Path(path))
    run = RunFolder(folder)
    config, result = run.config, run.result or {}
    weights, _ = load_tensors(folder / MODEL)
    try:
        recipe = Recipe.from_settings(config["recipe"], config["settings"])
        graph = config["graph"]
        sizes = (graph["features"], len(graph["classes"]), graph["nodes"])
        model = new_model(config["model"], sizes, recipe, build)
        model.load_state_dict(weights)
    except (KeyError, TypeError, RuntimeError, NodewiseError) as error:
        raise RunError(
            str(folder),
            f"model and configuration do not belong together ({str(error).splitlines()[0]})",
            way_out="restore the files as `nodewise train` wrote them",
        ) from error
    return SavedModel(folder, config, result, model.to(device).eval(), recipe)
