"""What localization did to a single node, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodewise.analysis.features import Feature
from nodewise.analysis.neighbors import Neighbor

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 3  # features and neighbors that a sentence names
_CLEARLY = 1.05  # a strength from which a sentence calls a message strengthened


@dataclass(frozen=True)
class SimilarNode:
    """A node with a similar local model.

    Attributes:
        id: Its id.
        cosine: The cosine between the two local models, (a_v - 1, b_v) of the first layer.
        label: Its class, None if it has no label.
        prediction: Its predicted class.
    """

    id: Any
    cosine: float
    label: str | None
    prediction: str


@dataclass(frozen=True)
class NodeAnalysis:
    """What localization did to a node.

    Attributes:
        id: The node's id.
        label: Its class, None if it has no label.
        part: The part of the split it is in, "" if it is in none or that is not known.
        prediction: Its predicted class.
        probabilities: The probability of each class, by name.
        without_localization: The predicted class with fewer levels: "global" none, "node" the node
            level alone, "edge" the edge level alone.
        probabilities_without: The probability of each class, by the same three names.
        features: The features in its context, those that localization changes most first.
        neighbors: The members of its context, those that the edge level changes most first.
        distance: |W_v - W| in the first layer; None where nothing is localized at nodes.
        distance_rank: The node's place by distance, 1 for the most localized; None likewise.
        distance_relative: The distance divided by |W|; None likewise.
        similar: The nodes with the most similar local models, most similar first.
        num_nodes: How many nodes the graph has.
        degree: How many edges lead to the node.
        homophily: The share of its labeled neighbors with its label; None where undefined.
        levels: The levels that the model has.
    """

    id: Any
    label: str | None
    part: str
    prediction: str
    probabilities: Mapping[str, float]
    without_localization: Mapping[str, str]
    probabilities_without: Mapping[str, Mapping[str, float]]
    features: tuple[Feature, ...]
    neighbors: tuple[Neighbor, ...]
    distance: float | None
    distance_rank: int | None
    distance_relative: float | None
    similar: tuple[SimilarNode, ...]
    num_nodes: int
    degree: int
    homophily: float | None
    levels: tuple[str, ...]

    @property
    def correct(self) -> bool | None:
        """Whether the prediction is the label; None without a label."""
        return None if self.label is None else self.prediction == self.label

    @property
    def sentence(self) -> str:
        """A paragraph that says it in words."""
        parts = (self._predicted(), self._without(), self._features(), self._edges(), self._place())
        return " ".join(part for part in parts if part)

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form.

        Args:
            top: How many features, neighbors and similar nodes; None for all that there are.
        """
        cut = slice(top)
        lists = {
            "features": [each.to_dict() for each in self.features[cut]],
            "neighbors": [each.to_dict() for each in self.neighbors[cut]],
            "similar": [dict(vars(each)) for each in self.similar[cut]],
        }
        about = {**vars(self), "levels": list(self.levels)}
        return {**about, **lists, "correct": self.correct, "sentence": self.sentence}

    def to_frames(self) -> dict[str, pd.DataFrame]:
        """Tables of the `features`, `neighbors` and `similar` nodes, by these names."""
        import pandas as pd

        found = self.to_dict()
        return {name: pd.DataFrame(found[name]) for name in ("features", "neighbors", "similar")}

    def _predicted(self) -> str:
        label = "it has no label" if self.label is None else f"its label is {self.label}"
        chance = self.probabilities[self.prediction]
        return f"{self.id} is predicted {self.prediction} (probability {chance:.2f}; {label})."

    def _without(self) -> str:
        if not self.levels:
            return "The model has no localization to switch off."
        other = self.without_localization
        chance = self.probabilities_without["global"][other["global"]]
        same = other["global"] == self.prediction
        text = f"Without localization it would {'still ' if same else ''}be {other['global']} "
        text += f"(probability {chance:.2f})"
        if len(self.levels) == 1:
            return f"{text}."
        alone = f"{other['node']} with the node level alone, {other['edge']} with the edge level"
        return f"{text}; {alone} alone."

    def _features(self) -> str:
        if self.distance is None:
            return ""
        named = [f"{each.name} ({_effect(each)})" for each in self.features[:_NAMED] if each.effect]
        if not named:
            return ""
        return f"The features whose evidence its own weights change most are {_listed(named)}."

    def _edges(self) -> str:
        if "edge" not in self.levels:
            return ""
        others = [each for each in self.neighbors if str(each.id) != str(self.id)]
        strengths = [(each.id, each.strength) for each in others if each.strength is not None]
        stronger = [pair for pair in strengths if pair[1] > _CLEARLY][:_NAMED]
        weaker = [pair for pair in strengths if pair[1] < 1 / _CLEARLY][:_NAMED]
        changes = [
            f"{verb} the messages of {_listed([f'{id} ({x:.2f} times)' for id, x in which])}"
            for verb, which in (("strengthens", stronger), ("weakens", weaker))
            if which
        ]
        return f"The edge level {' and '.join(changes)}." if changes else ""

    def _place(self) -> str:
        if self.distance is None:
            return ""
        share = f"{100 * (self.distance_relative or 0):.0f} % of the length of W"
        place = f"number {self.distance_rank:,} of {self.num_nodes:,} by that distance"
        return f"Its weights are {share} away from the global ones: {place}."


def _effect(feature: Feature) -> str:
    """What localization does to a feature's evidence for the prediction, as a clause."""
    side, other = ("for", "against") if feature.local_evidence > 0 else ("against", "for")
    if feature.change == "flipped":
        return f"turned from evidence {other} it to evidence {side} it"
    return f"{'stronger' if feature.change == 'up' else 'weaker'} evidence {side} it"


def _listed(parts: list[str]) -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
