"""Predictions with and without levels of localization, and what is known of every node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from nodewise.analysis.subject import Subject
from nodewise.nn.levels import check_levels, levels_of, with_levels
from nodewise.ops.sparse import Features
from nodewise.training.inference import Inference

if TYPE_CHECKING:
    import pandas as pd

Probabilities = NDArray[np.float64]

# The names under which predictions are shown, and the levels that are switched on for each.
SWITCHED: Final = {"global": (), "node": ("node",), "edge": ("edge",)}


class Predictions:
    """Class probabilities under any levels, computed when they are first asked for.

    Args:
        subject: The model and the graph.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.levels = levels_of(subject.model)
        self._known: dict[frozenset[str], Probabilities] = {}

    def probabilities(self, levels: Iterable[str] | None = None) -> Probabilities:
        """The probability of each class for each node, shape (N, classes).

        Args:
            levels: The levels that are switched on; None for all.

        Raises:
            UnknownNameError: A level is not known.
        """
        kept = check_levels(self.levels if levels is None else levels) & {*self.levels}
        if kept not in self._known:
            self._known[kept] = self._compute(kept)
        return self._known[kept]

    def _compute(self, kept: frozenset[str]) -> Probabilities:
        model, subject = with_levels(self.subject.model, kept), self.subject
        logits = Inference().logits(model, arguments(subject.x, *subject.graph))
        return to_probabilities(logits, subject.temperature)

    def classes(self, levels: Iterable[str] | None = None) -> NDArray[np.int64]:
        """The predicted class of each node, shape (N,)."""
        return np.asarray(self.probabilities(levels).argmax(1))

    def changed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Labeled nodes that localization corrected, and those that it spoiled, as masks.

        Corrected: wrong with all levels switched off, right with them; spoiled: the other way.
        """
        y = self.subject.y
        before, after = self.classes(()) == y, self.classes() == y
        return (y >= 0) & after & ~before, (y >= 0) & before & ~after


def arguments(x: Features, edge_index: Any, edge_weight: Tensor | None) -> tuple[Any, ...]:
    """The arguments of a model; weights only if there are any, since many models take none."""
    return (x, edge_index) if edge_weight is None else (x, edge_index, edge_weight)


def to_probabilities(logits: Tensor, temperature: float) -> Probabilities:
    """The probabilities of logits, in double precision, so that no two classes tie."""
    probabilities = (logits.cpu().double() / temperature).softmax(1)
    return np.asarray(probabilities.numpy())


def table(predictions: Predictions, distance: NDArray[np.float64] | None) -> pd.DataFrame:
    """A row for each node: its class, its predictions, its degree and homophily.

    Args:
        predictions: The predictions.
        distance: |W_v - W| of each node; None where nothing is localized at nodes.
    """
    import pandas as pd

    subject, names = predictions.subject, np.asarray(predictions.subject.class_names, object)
    y, chosen = subject.y, predictions.classes()
    known = pd.array(chosen == y, dtype="boolean")
    known[y < 0] = pd.NA
    degree, homophily = surroundings(subject)
    return pd.DataFrame(
        {
            "id": list(subject.ids),
            "label": [subject.name_of_class(int(label)) for label in y],
            "part": subject.parts,
            "prediction": names[chosen],
            "confidence": predictions.probabilities().max(1),
            "correct": known,
            **{f"without_{key}": names[predictions.classes(on)] for key, on in SWITCHED.items()},
            "degree": degree,
            "homophily": homophily,
            "distance": np.full(len(y), np.nan) if distance is None else distance,
        }
    )


def surroundings(subject: Subject) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each node the number of edges that lead to it, and its homophily, shape (N,) each.

    Homophily is the share of its labeled neighbors with its label; undefined (NaN) where the node
    or all its neighbors have none. Self-loops are not counted.
    """
    source, target = subject.edge_index.cpu().numpy()
    apart = source != target
    source, target, y = source[apart], target[apart], subject.y
    labeled = (y[source] >= 0) & (y[target] >= 0)
    count = len(y)
    total = np.bincount(target[labeled], minlength=count)
    same = np.bincount(target[labeled & (y[source] == y[target])], minlength=count)
    with np.errstate(invalid="ignore"):
        return np.bincount(target, minlength=count), same / total
