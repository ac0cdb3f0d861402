"""`Subject`: the model and the graph of an analysis, with names of nodes, classes and features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from nodewise.analysis.parts import known_split, parts_of
from nodewise.data.checks import check_graph
from nodewise.data.graph import GraphTable
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.nn.levels import LEVELS, with_levels
from nodewise.ops.sparse import Features, as_features
from nodewise.runs.saved import SavedRun, load_run
from nodewise.runs.sources import load_source
from nodewise.training.engines.model_inputs import as_input
from nodewise.training.inference import Inference
from nodewise.training.inputs import prepare

if TYPE_CHECKING:
    from torch_geometric.data import Data

_NEAREST = 3


@runtime_checkable
class Fitted(Protocol):
    """An object that holds a finished run, such as a fitted `NodeClassifier`."""

    def as_run(self) -> SavedRun:
        """The run."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A trained model and a graph.

    Attributes:
        model: The model, in evaluation mode; its weights are those of the given one.
        x: The features as the model takes them.
        normalization: How features are normalized: "row-sum", "unit" or "none".
        edge_index: The edges, shape (2, E).
        edge_weight: A weight for each edge, shape (E,); None where the model takes none.
        raw: The features of the graph, before they are normalized.
        y: Labels, -1 where there is none, shape (N,).
        parts: The part of the split that each node is in: "train", "val", "test" or "", shape (N,).
        ids: A name for each node.
        class_names: A name for each class.
        feature_names: A name for each feature.
        temperature: What logits are divided by.
    """

    model: Module
    x: Features
    normalization: str
    edge_index: Tensor
    edge_weight: Tensor | None
    raw: Features
    y: NDArray[np.int64]
    parts: NDArray[np.str_]
    ids: Sequence[Any]
    class_names: Sequence[str]
    feature_names: Sequence[str]
    temperature: float = 1.0

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.ids)

    @property
    def graph(self) -> tuple[Tensor, Tensor | None]:
        """The edges, and their weights or None."""
        return self.edge_index, self.edge_weight

    @property
    def is_layered(self) -> bool:
        """Whether the model is a stack of layers that can be looked into."""
        return isinstance(self.model, Classifier)

    @property
    def layered(self) -> Classifier:
        """The model, if it is a stack of layers that can be looked into.

        Raises:
            InputError: It is not.
        """
        if isinstance(self.model, Classifier):
            return self.model
        raise InputError(
            "model",
            "is not a stack of layers, so only its predictions can be analyzed",
            value=type(self.model).__name__,
            way_out="use view.to_frame(), or a model with layers, such as LGCN",
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {str(name): number for number, name in enumerate(self.ids)}

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.feature_names)}

    def number_of(self, node: Any) -> int:
        """The number of a node, from its id.

        Raises:
            InputError: There is no such node; the error names the nearest ids.
        """
        if str(node) not in self._numbers:
            raise _unknown(
                "node", node, f"is not the id of one of {self.num_nodes} nodes", self._numbers
            )
        return self._numbers[str(node)]

    def column_of(self, feature: str) -> int:
        """The number of a feature, from its name.

        Raises:
            InputError: There is no such feature; the error names the nearest.
        """
        if feature not in self._columns:
            raise _unknown("feature", feature, "is not the name of a feature", self._columns)
        return self._columns[feature]

    def name_of_class(self, number: int) -> str | None:
        """The name of a class; None for the label -1."""
        return self.class_names[number] if number >= 0 else None


def _unknown(field: str, value: Any, problem: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not known, with the nearest ones that are."""
    near = get_close_matches(str(value), known, n=_NEAREST, cutoff=0.0)
    return InputError(field, problem, value=value, way_out=f"the nearest are {', '.join(near)}")


@singledispatch
def subject_of(run: Any, data: Data | GraphTable | None = None) -> Subject:
    """The subject of a run, a fitted classifier or a model.

    Args:
        run: A `SavedRun`, the folder of one, a fitted `NodeClassifier`, or a model.
        data: The graph, or a `GraphTable`, whose ids then name the nodes; None for that of the
            run's training.

    Raises:
        InputError: `run` is none of these, or there is no graph.
        GraphError: The graph is malformed, or has other features or classes than the run's.
    """
    if isinstance(run, Fitted):
        return _of_run(run.as_run(), data)
    raise InputError(
        "run",
        "is neither a run, the folder of one, nor a model",
        value=type(run).__name__,
        way_out="give what nodewise.load_run or nodewise.train returned",
    )


@subject_of.register(str)
@subject_of.register(Path)
def _(run: str | Path, data: Data | GraphTable | None = None) -> Subject:
    return _of_run(load_run(run), data)


@subject_of.register(SavedRun)
def _of_run(run: SavedRun, data: Data | GraphTable | None = None) -> Subject:
    given = load_source(run.config["graph"], run=run.folder) if data is None else data
    graph, about = _about(given, run.config.get("split_sha256"))
    x, edge_index, *weight = run.inputs(graph)
    return Subject(
        with_levels(run.model, LEVELS),
        x,
        run.recipe.optimization.features,
        edge_index,
        weight[0] if weight else None,
        class_names=run.class_names,
        temperature=run.record.get("temperature", 1.0),
        **about,
    )


@subject_of.register(Module)
def _of_model(run: Module, data: Data | GraphTable | None = None) -> Subject:
    if data is None:
        raise InputError(
            "data", "is missing", way_out="give the graph: nodewise.analyze(model, data)"
        )
    graph, about = _about(data)
    model, x = with_levels(run, LEVELS), as_input(run, prepare(graph.x, "none"))
    weight = graph.get("edge_weight") if isinstance(run, Classifier) else None
    classes = graph.get("class_names") or _numbered(model, x, graph.edge_index, weight)
    return Subject(model, x, "none", graph.edge_index, weight, class_names=list(classes), **about)


def _numbered(model: Module, *inputs: Any) -> Iterable[str]:
    """Names for the classes of a model, their numbers."""
    arguments = tuple(part for part in inputs if part is not None)
    some = next(Inference().outputs(model, arguments))  # of a large graph, a part of the nodes
    return map(str, range(some.logits.size(1)))


def _about(data: Data | GraphTable, split_sha256: str | None = None) -> tuple[Data, dict[str, Any]]:
    """The graph, and what a `Subject` has of it besides the arguments of the model."""
    graph: Any = data.data if isinstance(data, GraphTable) else data
    check_graph(graph.x, graph.edge_index)
    count, width = map(int, graph.x.shape)
    y = graph.get("y")
    return graph, {
        "raw": as_features(graph.x),
        "y": np.full(count, -1) if y is None else y.cpu().numpy(),
        "parts": parts_of(known_split(graph, split_sha256), count),
        "ids": data.ids if isinstance(data, GraphTable) else range(count),
        "feature_names": graph.get("feature_names") or [f"feature_{i}" for i in range(width)],
    }
