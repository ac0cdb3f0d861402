"""What localization did to a graph: where it is strong, which nodes it helped, which are alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from nodewise.analysis.clusters import Clusters

if TYPE_CHECKING:
    import pandas as pd

PARTS: Final = ("train", "val", "test")


@dataclass(frozen=True)
class Counts:
    """Predictions of some labeled nodes with and without localization.

    Attributes:
        nodes: How many nodes.
        accuracy: The share that is predicted right.
        accuracy_without: The same with all levels switched off.
        corrected: How many are right with localization only.
        spoiled: How many are right without localization only.
    """

    nodes: int
    accuracy: float
    accuracy_without: float
    corrected: int
    spoiled: int


@dataclass(frozen=True)
class Group:
    """The distances of a group of nodes from the global weights.

    Attributes:
        by: What groups the nodes: "label" or "correct".
        group: Which group it is.
        nodes: How many nodes.
        mean: Their mean |W_v - W|.
        median: The median.
    """

    by: str
    group: str
    nodes: int
    mean: float
    median: float


@dataclass(frozen=True, eq=False)
class GraphAnalysis:
    """What localization did to a graph.

    Attributes:
        nodes: How many nodes the graph has.
        levels: The levels that the model has.
        counts: The predictions of all labeled nodes ("labeled") and of those of each part of the
            split that is known.
        corrected: The labeled nodes that are right with localization only, as rows of the table.
        spoiled: The labeled nodes that are right without localization only.
        most_localized: All nodes as rows of the table, the largest |W_v - W| first; None where
            nothing is localized at nodes.
        correlations: Spearman's correlation of |W_v - W| with "degree", "homophily", "confidence"
            and "correct", where it is defined.
        groups: The distances of each class, and of nodes that are right and wrong.
        clusters: Groups of similar local models; None where there are none.
    """

    nodes: int
    levels: tuple[str, ...]
    counts: Mapping[str, Counts]
    corrected: pd.DataFrame
    spoiled: pd.DataFrame
    most_localized: pd.DataFrame | None
    correlations: Mapping[str, float]
    groups: tuple[Group, ...]
    clusters: Clusters | None

    def to_dict(self, top: int = 10) -> dict[str, Any]:
        """The JSON form.

        Args:
            top: How many of the most localized nodes.
        """
        most = None if self.most_localized is None else records(self.most_localized.head(top))
        clusters = self.clusters
        return {
            "nodes": self.nodes,
            "levels": list(self.levels),
            "counts": {part: dict(vars(found)) for part, found in self.counts.items()},
            "corrected": records(self.corrected),
            "spoiled": records(self.spoiled),
            "most_localized": most,
            "correlations": dict(self.correlations),
            "groups": [dict(vars(group)) for group in self.groups],
            "silhouette": None if clusters is None else clusters.silhouette,
            "clusters": [] if clusters is None else [each.to_dict() for each in clusters.clusters],
        }


def analyze_graph(
    frame: pd.DataFrame, levels: tuple[str, ...], clusters: Clusters | None
) -> GraphAnalysis:
    """The analysis of a graph from the table of its nodes.

    Args:
        frame: What `View.to_frame` returns.
        levels: The levels that the model has.
        clusters: The clusters of local models.
    """
    labeled = frame[frame["label"].notna()]
    right, before = labeled["correct"].astype(bool), _right_without(labeled)
    localized = frame["distance"].notna().any()
    parts = {"labeled": labeled, **{name: labeled[labeled["part"] == name] for name in PARTS}}
    return GraphAnalysis(
        len(frame),
        levels,
        {name: _counts(rows) for name, rows in parts.items() if len(rows)},
        labeled[right & ~before],
        labeled[before & ~right],
        frame.sort_values("distance", ascending=False, kind="stable") if localized else None,
        _correlations(frame),
        tuple(_groups(labeled)) if localized else (),
        clusters,
    )


def _right_without(labeled: pd.DataFrame) -> pd.Series:
    return labeled["without_global"] == labeled["label"]


def _counts(labeled: pd.DataFrame) -> Counts:
    right, before = labeled["correct"].astype(bool), _right_without(labeled)
    means = (float(right.mean()), float(before.mean()))
    return Counts(len(labeled), *means, int((right & ~before).sum()), int((before & ~right).sum()))


def _correlations(frame: pd.DataFrame) -> dict[str, float]:
    """Spearman's correlations of the distance, each over the nodes that have both values."""
    found = {}
    for name in ("degree", "homophily", "confidence", "correct"):
        both = frame[["distance", name]].astype(float).dropna()
        if (both.nunique() > 1).all():
            found[name] = float(both.rank().corr().iloc[0, 1])
    return found


def _groups(labeled: pd.DataFrame) -> Iterator[Group]:
    for by in ("label", "correct"):
        for name, distance in labeled.groupby(by)["distance"]:
            group = name if by == "label" else ("right" if name else "wrong")
            values = (float(distance.mean()), float(distance.median()))
            yield Group(by, str(group), len(distance), *values)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table in JSON's types; missing values are None."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [
        {str(key): _plain(value) for key, value in row.items()} for row in plain.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value
