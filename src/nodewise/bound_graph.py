"""The nodes of one graph as samples of scikit-learn: X contains node numbers, y labels."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from nodewise.data.checks import check_data
from nodewise.data.node_index import node_index
from nodewise.data.splits.checks import MASKS
from nodewise.data.splits.drawn import hold_out
from nodewise.data.splits.split import Split
from nodewise.errors import InputError, SplitError
from nodewise.runs.saved import class_labels

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class BoundGraph:
    """A graph whose nodes are the samples.

    Args:
        graph: The graph; it stays as it is.
    """

    graph: Data

    def nodes(self, X: Any) -> NDArray[np.int64]:
        """Node numbers from X, which scikit-learn's checks and ours have passed.

        Raises:
            InputError: A number is not an integer, or not a node of the graph.
            ValueError: X is empty, sparse, complex, or not finite.
        """
        numbers = X.cpu().numpy() if isinstance(X, torch.Tensor) else X
        numbers = check_array(numbers, ensure_2d=False, input_name="X", estimator="NodeClassifier")
        return node_index("X", numbers, int(self.graph.num_nodes))

    def labels(self, nodes: NDArray[np.int64]) -> NDArray[Any]:
        """The labels that the graph has for some nodes.

        Raises:
            InputError: A node has no label.
        """
        numbers = self.graph.y.cpu().numpy()[nodes]
        check_labeled("X", nodes, numbers)
        return np.asarray(graph_classes(self.graph)[numbers])

    @property
    def unlabeled(self) -> Data:
        """The graph without its labels and masks; the tensors of the rest are shared."""
        return _without(self.graph, "y", "class_names", *MASKS)

    def training_graph(
        self, X: Any, y: ArrayLike | None, val_index: ArrayLike | None
    ) -> tuple[Data, Split, NDArray[Any]]:
        """The graph with labels of the nodes in X only, their split, and the sorted classes.

        Args:
            X: The nodes.
            y: Their labels; None takes those of the graph.
            val_index: Those of them that choose the epoch; None holds out a fifth of each class.

        Raises:
            InputError: X or y cannot be used.
            SplitError: `val_index` leaves no node to train on, or is not a part of X.
        """
        check_data(self.graph)
        nodes = self.nodes(X)
        labels = self.labels(nodes) if y is None else column_or_1d(y, warn=True)
        check_consistent_length(nodes, labels)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        data, count = self.unlabeled, int(self.graph.num_nodes)
        known = np.full(count, -1)
        known[nodes] = codes
        _check_one_label(nodes, codes, known[nodes])
        data.y = torch.from_numpy(known).to(data.x.device)
        data.class_names = [str(name) for name in classes]
        return data, _split(np.unique(nodes), known, val_index), classes


def graph_classes(data: Data) -> NDArray[Any]:
    """The classes of a graph: names where it has them, else numbers."""
    names = data.get("class_names")
    return class_labels(names) if names else np.arange(int(data.y.max()) + 1)


def check_labeled(name: str, nodes: NDArray[np.int64], labels: NDArray[Any]) -> None:
    """Check that nodes have labels.

    Raises:
        InputError: A label is -1; the error has the first such node.
    """
    if (labels < 0).any():
        first = int(np.argmax(labels < 0))
        raise InputError(
            name,
            "contains a node that has no label",
            value=int(nodes[first]),
            position=first,
            way_out="leave such nodes out",
        )


def _split(nodes: NDArray[np.int64], labels: NDArray[Any], val_index: ArrayLike | None) -> Split:
    if val_index is None:
        return hold_out(nodes, labels)
    val = node_index("val_index", val_index, len(labels))
    train = nodes[~np.isin(nodes, val)]
    if not (train.size and val.size and np.isin(val, nodes).all()):
        raise SplitError("val_index", "must be a part of X", way_out="leave it out, or take some")
    return Split(train, val, nodes[:0])


def _check_one_label(nodes: NDArray[Any], codes: NDArray[Any], kept: NDArray[Any]) -> None:
    """Check that repeated nodes, as bootstraps have them, have one label each."""
    if (codes != kept).any():
        first = int(np.argmax(codes != kept))
        raise InputError(
            "y",
            f"has two labels for node {int(nodes[first])}",
            position=first,
            way_out="give each node one label",
        )


def _without(graph: Data, *fields: str) -> Data:
    data: Data = copy(graph)
    for name in fields:
        if name in data:
            del data[name]
    return data
