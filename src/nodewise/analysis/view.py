"""`nodewise.analyze`: what localization did to a graph and to each of its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch.nn import Module

from nodewise.analysis.clusters import Clusters, find_clusters
from nodewise.analysis.explain import Explanation, explain
from nodewise.analysis.features import features_of
from nodewise.analysis.graph import GraphAnalysis, analyze_graph
from nodewise.analysis.layer_view import LayerView, total_and_count
from nodewise.analysis.local_weights import LocalWeights
from nodewise.analysis.neighbors import neighbors_of
from nodewise.analysis.node import NodeAnalysis, SimilarNode
from nodewise.analysis.predictions import (
    SWITCHED,
    Predictions,
    Probabilities,
    surroundings,
    table,
)
from nodewise.analysis.subject import Fitted, subject_of
from nodewise.analysis.what_if import WhatIf, by_class, what_if
from nodewise.data.graph import GraphTable
from nodewise.runs.saved import SavedRun

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data
    from torch_geometric.explain.algorithm import ExplainerAlgorithm


def analyze(
    run: SavedRun | Fitted | Module | str | Path, data: Data | GraphTable | None = None
) -> View:
    """A view of what localization did; nothing is trained.

    Args:
        run: A run, the folder of one, a fitted `NodeClassifier`, or a model.
        data: The graph, or a `GraphTable`, whose ids then name the nodes; None for the graph of the
            run's training, if it can be read again.

    Raises:
        InputError: `run` is none of these, or there is no graph.
        GraphError: The graph is malformed, or has other features or classes than the run's.
        RunError: The folder holds no finished run.
    """
    return View(run, data)


class View:
    """What localization did to a graph, computed from a trained model when it is asked for.

    The levels of localization are switched off in the trained model: what is left are global
    weights that were trained together with their localization. How well a model does that was
    trained without any is another question; `LGCN:global` is such a model.

    Args:
        run: A run, the folder of one, a fitted `NodeClassifier`, or a model.
        data: The graph, or a `GraphTable`; None for that of the run's training.
    """

    def __init__(self, run: Any, data: Data | GraphTable | None = None) -> None:
        self.subject = subject_of(run, data)
        self.predictions = Predictions(self.subject)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that the model has: "node", "edge", both or none."""
        return self.predictions.levels

    def probabilities(self, levels: Iterable[str] | None = None) -> Probabilities:
        """The probability of each class for each node, shape (N, classes).

        Args:
            levels: The levels that are switched on, of "node" and "edge"; None for all.
        """
        return self.predictions.probabilities(levels)

    @cached_property
    def _opened(self) -> LayerView:
        return LayerView(self.subject)

    @cached_property
    def _local(self) -> LocalWeights | None:
        return LocalWeights.of(self.subject)

    @cached_property
    def _surroundings(self) -> Any:
        return surroundings(self.subject)

    def node(self, id: Any, similar: int = 10) -> NodeAnalysis:
        """What localization did to a node.

        Args:
            id: The node's id; its number where nodes have no ids.
            similar: How many nodes with similar local models.

        Raises:
            InputError: There is no such node, or the model has no layers to look into.
        """
        node, local, opened = self.subject.number_of(id), self._local, self._opened
        chosen = int(self.predictions.classes()[node])
        distance, rank, relative = (None,) * 3 if local is None else local.place(node)
        return NodeAnalysis(
            **self._standing(node),
            **self._predicted(node),
            features=tuple(features_of(opened, local, node, chosen)),
            neighbors=tuple(neighbors_of(opened, self.predictions, node)),
            distance=distance,
            distance_rank=rank,
            distance_relative=relative,
            similar=tuple(self._similar(node, similar)),
            levels=self.levels,
        )

    def _standing(self, node: int) -> dict[str, Any]:
        """The facts of the graph about a node."""
        subject = self.subject
        degree, homophily = (values[node] for values in self._surroundings)
        return {
            "id": subject.ids[node],
            "label": subject.name_of_class(int(subject.y[node])),
            "part": str(subject.parts[node]),
            "num_nodes": subject.num_nodes,
            "degree": int(degree),
            "homophily": None if np.isnan(homophily) else float(homophily),
        }

    def _predicted(self, node: int) -> dict[str, Any]:
        """The predictions for a node, with all levels and with fewer."""
        chances = {k: self._chances(node, levels) for k, levels in SWITCHED.items()}
        return {
            "prediction": self._prediction(node, self.levels),
            "probabilities": self._chances(node, self.levels),
            "without_localization": {
                key: self._prediction(node, on) for key, on in SWITCHED.items()
            },
            "probabilities_without": chances,
        }

    def _chances(self, node: int, levels: Iterable[str]) -> dict[str, float]:
        return by_class(self.subject, self.probabilities(levels)[node])

    def _prediction(self, node: int, levels: Iterable[str]) -> str:
        return self.subject.class_names[int(self.predictions.classes(levels)[node])]

    def _similar(self, node: int, top: int) -> Iterable[SimilarNode]:
        for other, cosine in [] if self._local is None else self._local.similar(node, top):
            label = self.subject.name_of_class(int(self.subject.y[other]))
            prediction = self._prediction(other, self.levels)
            yield SimilarNode(self.subject.ids[other], cosine, label, prediction)

    def to_frame(self) -> pd.DataFrame:
        """A row for each node.

        Columns: `id`, `label`, `part` of the split, `prediction`, `confidence` (its probability),
        `correct`, the predictions with fewer levels (`without_global` none, `without_node` the node
        level alone, `without_edge` the edge level alone), `degree`, `homophily` and `distance`.
        """
        return self._frame.copy()

    @cached_property
    def _frame(self) -> pd.DataFrame:
        local = self._local if self.subject.is_layered else None
        return table(self.predictions, None if local is None else local.distance)

    def corrected(self, part: str | None = None) -> pd.DataFrame:
        """The labeled nodes that are predicted right, but not without localization.

        Args:
            part: Only those of this part of the split: "train", "val" or "test".

        Returns:
            Their rows of `to_frame`.
        """
        return self._changed(0, part)

    def spoiled(self, part: str | None = None) -> pd.DataFrame:
        """The labeled nodes that are predicted wrong, but right without localization.

        Args:
            part: Only those of this part of the split: "train", "val" or "test".

        Returns:
            Their rows of `to_frame`.
        """
        return self._changed(1, part)

    def _changed(self, which: int, part: str | None) -> pd.DataFrame:
        rows = self._frame[self.predictions.changed()[which]]
        return (rows if part is None else rows[rows["part"] == part]).copy()

    @cached_property
    def clusters(self) -> Clusters | None:
        """Groups of nodes with similar local models; None where there are none."""
        return find_clusters(self._opened, self._local, self.predictions.classes())

    @cached_property
    def graph(self) -> GraphAnalysis:
        """What localization did to the graph.

        Raises:
            InputError: The model has no layers to look into.
        """
        return analyze_graph(self._frame, self.levels, self.clusters)

    def map(self) -> pd.DataFrame:
        """The places of nodes on two maps: the first two principal axes of rows of all nodes.

        Columns: `id`; `x` and `y` of the input of the last layer; `local_x` and `local_y` of the
        local models, zero where nothing is localized at nodes.

        Raises:
            InputError: The model has no layers to look into.
        """
        return self._map.copy()

    @cached_property
    def _map(self) -> pd.DataFrame:
        import pandas as pd

        hidden, of_local = self.principal("hidden"), self._local_axes[:-1]
        columns = {"x": hidden[:, 0], "y": hidden[:, 1]}
        return pd.DataFrame(
            {
                "id": list(self.subject.ids),
                **columns,
                "local_x": of_local[:, 0],
                "local_y": of_local[:, 1],
            }
        )

    @cached_property
    def _local_axes(self) -> Any:
        return self.principal("local")

    def principal(self, of: str, count: int = 2) -> NDArray[np.float64]:
        """Rows of all nodes on their first principal axes, shape (N, count).

        Args:
            of: "hidden" for the inputs of the last layer; "local" for the local models, below which
                the last row is the global one, so that there are N + 1.
            count: How many axes; those that do not exist have zeros.

        Raises:
            InputError: The model has no layers to look into.
        """
        local = self._local  # also checks that there are layers
        if of == "hidden":
            return self._opened.principal(count)
        none = np.zeros((self.subject.num_nodes + 1, count))
        return none if local is None else local.principal_and_global(count)

    def global_on_map(self) -> tuple[float, float]:
        """The place of the global model among the local ones: its `local_x` and `local_y`.

        Raises:
            InputError: The model has no layers to look into.
        """
        x, y = self._local_axes[-1]
        return float(x), float(y)

    def features_of(self, id: Any) -> list[str]:
        """The names of the features that a node has: those that `what_if` can set to zero.

        Args:
            id: The node's id.

        Raises:
            InputError: There is no such node.
        """
        node = self.subject.number_of(id)
        _, count = total_and_count(self.subject.raw, np.array([node]))
        return [self.subject.feature_names[column] for column in count.nonzero().view(-1).tolist()]

    def what_if(
        self,
        id: Any,
        *,
        drop_edges: Iterable[Any] = (),
        zero_features: Iterable[Any] = (),
        levels: Iterable[str] | None = None,
    ) -> WhatIf:
        """The prediction for a node without an edge, a feature or a level.

        Args:
            id: The node's id.
            drop_edges: Ids of neighbors, whose edges from and to the node are dropped; or pairs of
                ids (source, target), each an edge anywhere in the graph.
            zero_features: Names of features that are zero at the node; or pairs (id, name), for
                features of other nodes. Features are normalized afterwards.
            levels: The levels that stay on, of "node" and "edge"; None for all.

        Raises:
            InputError: There is no such node, edge or feature.
            UnknownNameError: A level is not known.
        """
        node = self.subject.number_of(id)
        before = self.probabilities()
        return what_if(self.subject, before, node, drop_edges, zero_features, levels)

    def explain(
        self, id: Any, algorithm: ExplainerAlgorithm | None = None, epochs: int = 100
    ) -> Explanation:
        """Masks over features and edges that keep a node's prediction, by PyG's `Explainer`.

        Args:
            id: The node's id.
            algorithm: An algorithm of `torch_geometric.explain`; None for `GNNExplainer`.
            epochs: How long GNNExplainer fits its masks. The model is not trained.

        Raises:
            InputError: There is no such node, or the model takes no edges.
        """
        return explain(self.subject, self.subject.number_of(id), algorithm, epochs)
