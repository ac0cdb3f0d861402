"""Did localization help? A model compared with its matched global one, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from nodewise.runs.run import Task
from nodewise.runs.saved import load_run

# Both models are scored on the same nodes, so only those where they disagree carry information.
# The difference is significant if the sign test over those has a p-value below this.
_CHANCE = 0.05


@dataclass(frozen=True)
class Comparison:
    """A localized model and its matched global one on the same nodes.

    Attributes:
        nodes: How many nodes.
        localized: How many the localized model has right.
        matched: How many the global one has right.
        only_localized: How many the localized model alone has right.
        only_matched: How many the global one alone has right.
    """

    nodes: int
    localized: int
    matched: int
    only_localized: int
    only_matched: int

    @classmethod
    def of(cls, localized: NDArray[np.bool_], matched: NDArray[np.bool_]) -> Self:
        """From whether each node is right, shape (nodes,)."""
        return cls(
            len(localized),
            int(localized.sum()),
            int(matched.sum()),
            int((localized & ~matched).sum()),
            int((matched & ~localized).sum()),
        )

    @property
    def difference(self) -> float:
        """By how much the localized model is more accurate."""
        return (self.localized - self.matched) / self.nodes

    @property
    def standard_error(self) -> float:
        """That of the difference, paired: a node counts 1, 0 or -1."""
        gap, apart = self.localized - self.matched, self.only_localized + self.only_matched
        return sqrt(max(apart - gap * gap / self.nodes, 0.0)) / self.nodes

    @property
    def chance(self) -> float:
        """The p-value of the exact sign test over the nodes where they disagree."""
        apart = self.only_localized + self.only_matched
        return float(binomtest(self.only_localized, apart).pvalue) if apart else 1.0

    @property
    def sentence(self) -> str:
        """The result in words, with its significance."""
        verb = "helped" if self.difference > 0 else "hurt"
        verdict = verb if self.chance < _CHANCE else "made no significant difference"
        accuracies = (100 * right / self.nodes for right in (self.localized, self.matched))
        return (
            f"On validation nodes localization {verdict}: "
            "{:.1f} % against {:.1f} % of the matched global model, ".format(*accuracies)
            + f"{100 * self.difference:+.1f} points over {self.nodes:,} nodes (paired standard "
            f"error {100 * self.standard_error:.1f}; {self.only_localized:,} nodes are right only "
            f"with it, {self.only_matched:,} only without)."
        )

    def as_dict(self) -> dict[str, Any]:
        """All numbers, as `choice.json` has them; accuracies are fractions."""
        derived = ("difference", "standard_error", "chance", "sentence")
        return {**vars(self), **{name: getattr(self, name) for name in derived}}


def right_on_validation(folder: Path, task: Task) -> NDArray[np.bool_]:
    """Whether a finished run's model is right, for each validation node."""
    model = load_run(folder, device=str(task.data.y.device))
    predicted = model.logits(task.data).argmax(1).cpu().numpy()
    nodes = task.split.val
    right: NDArray[np.bool_] = predicted[nodes] == task.data.y.cpu().numpy()[nodes]
    return right
