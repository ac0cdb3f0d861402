"""Models of scikit-learn on one graph, fitted once: they keep what they found for its nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn import Module

from nodewise.errors import InputError
from nodewise.ops.sparse import Features, SparseRows, as_features, num_rows

Probabilities = NDArray[np.float64]
_SMALLEST = 1e-9  # a probability's logarithm is to be finite


class GraphArrays(NamedTuple):
    """A graph as arrays.

    Attributes:
        x: Features, (N, d): a SciPy matrix if they are sparse, else an array.
        edge_index: The edges, (2, E).
        edge_weight: Their weights, (E,); None if they have none.
    """

    x: Any
    edge_index: NDArray[np.int64]
    edge_weight: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, x: Features, edge_index: Tensor, edge_weight: Tensor | None = None) -> GraphArrays:
        """From tensors."""
        weight = None if edge_weight is None else edge_weight.cpu().numpy()
        return cls(_matrix(x), edge_index.cpu().numpy(), weight)


@dataclass(frozen=True)
class FitSpec:
    """The labels to fit to, and how settings are chosen.

    Attributes:
        y: Labels of all nodes, (N,); others than those of `train` and `val` are not looked at.
        train: Numbers of the training nodes.
        val: Numbers of the validation nodes.
        score: How good probabilities of the validation nodes, (n, classes), are; the higher.
        balanced: Whether every class counts the same, however many training nodes it has.
        seconds: How long it may take, by the clock on the wall.
        seed: Of all that is random.
    """

    y: NDArray[np.int64]
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    score: Callable[[Probabilities], tuple[float, ...]]
    balanced: bool = False
    seconds: float = inf
    seed: int = 0

    @property
    def class_weight(self) -> str | None:
        """The argument of scikit-learn."""
        return "balanced" if self.balanced else None


class Time:
    """The time that a fit may take; what was found until then is used.

    Args:
        work: Seconds of computing, so that a busy machine finds what an idle one does.
        seconds: Seconds by the clock on the wall.
    """

    def __init__(self, work: float, seconds: float = inf) -> None:
        self._work, self._seconds = work, seconds
        self._began = thread_time(), perf_counter()

    @property
    def used(self) -> float:
        """The share of the time that is used; from one on it is over."""
        work, seconds = thread_time() - self._began[0], perf_counter() - self._began[1]
        return max(work / self._work, seconds / self._seconds if self._seconds > 0 else inf)


class ScikitModel(Module, ABC):
    """A model of scikit-learn: the log-probabilities of all nodes of the graph it was fitted on.

    Args:
        in_channels: Size of the input features; not used.
        out_channels: How many classes.
        num_nodes: How many nodes the graph has.
    """

    logits: Tensor
    paper_parameter_count = 0  # no model of the paper
    uses_edge_weights = True  # or no edges

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int) -> None:
        super().__init__()
        uniform = torch.full((num_nodes, out_channels), -log(out_channels))
        self.register_buffer("logits", uniform)

    @abstractmethod
    def find(self, graph: GraphArrays, spec: FitSpec) -> Probabilities:
        """Probabilities of all nodes, (N, classes), from a graph and some labels."""

    def fit(self, graph: GraphArrays, spec: FitSpec) -> None:
        """Fit, on one thread, and keep the result; the shares of the classes if there is no choice.

        That is so where all training nodes have one class, or there are no features.
        """
        from threadpoolctl import threadpool_limits

        hopeless = np.unique(spec.y[spec.train]).size < 2 or graph.x.shape[1] == 0
        # On small matrices a second thread waits for a core longer than it computes.
        with threadpool_limits(1):
            find = Majority.find if hopeless else type(self).find
            found = find(self, graph, spec)  # type: ignore[arg-type]
        self.logits.copy_(torch.from_numpy(np.log(found.clip(_SMALLEST))))

    @property
    def num_classes(self) -> int:
        """How many classes."""
        return self.logits.size(1)

    def forward(self, x: Features, edge_index: Tensor | None = None, *_: Any) -> Tensor:
        """The log-probabilities, (N, classes).

        Args:
            x: Features of all nodes, dense or `torch.sparse_csr`; those it was fitted on.
            edge_index: Ignored, as are weights.
        """
        count = num_rows(as_features(x))
        if count != len(self.logits):
            raise InputError(
                "x",
                f"must be the features of the {len(self.logits)} nodes it was fitted on",
                value=count,
                way_out="train it again on the new graph",
            )
        return self.logits


class Majority(ScikitModel):
    """The shares of the classes among training and validation nodes, for every node."""

    def find(self, graph: GraphArrays, spec: FitSpec) -> Probabilities:
        """The shares as probabilities."""
        labels = spec.y[np.concatenate([spec.train, spec.val])]
        shares = np.bincount(labels, minlength=self.num_classes) / len(labels)
        return np.tile(shares, (len(spec.y), 1))


def spread(found: NDArray[Any], classes: NDArray[np.int64], count: int) -> Probabilities:
    """Probabilities (n, count) of all classes from those of the classes that were trained on."""
    everything = np.zeros((len(found), count))
    everything[:, classes] = found
    return everything


def _matrix(x: Features) -> Any:
    if not isinstance(x, SparseRows):
        return x.cpu().numpy()
    arrays = (x.values.cpu().numpy(), x.col.cpu().numpy(), x.crow.cpu().numpy())
    return csr_matrix(arrays, shape=(x.num_rows, x.width))
