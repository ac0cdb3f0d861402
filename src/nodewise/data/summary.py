"""What was read, told before anybody trains on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nodewise.data.sources.source import counted, listed

_FEW = 6  # columns that are named and not counted
_ONE = {
    "self-loops": "self-loop",
    "repeated edges": "repeated edge",
    "edges listed in both directions": "edge listed in both directions",
}


@dataclass(frozen=True)
class Summary:
    """A graph in numbers; `str` of it is a page for people.

    Args:
        nodes: How many.
        edges: How many; an undirected edge counts once.
        directed: Whether edges have a direction.
        isolated: Nodes without an edge.
        dropped: Rows of edges that were dropped, by reason.
        labels: Labeled nodes by class.
        unlabeled: Nodes without a label, which are to be predicted.
        features: By kind: the columns, and how many features they made.
        left_out: Columns of nodes that are not used, each with the reason.
        split: Nodes to train, validate and test on, if a split was given.
        notes: What else should be known, a sentence each.
    """

    nodes: int
    edges: int
    directed: bool
    isolated: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    unlabeled: int = 0
    features: Mapping[str, tuple[Sequence[str], int]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    split: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{title:<9} {line}" for title, line in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "nodes", f"{self.nodes:,}, {self.isolated:,} of them without an edge"
        yield "edges", f"{self.edges:,}, {'directed' if self.directed else 'undirected'}"
        if self.dropped:
            yield "dropped", _counted(self.dropped)
        labels = {name: count for name, count in self.labels.items() if count}
        yield (
            "labels",
            f"{_named(labels)}; {counted(self.unlabeled, 'node')} without, to be predicted",
        )
        yield "features", f"{self.num_features:,}: {'; '.join(self._kinds())}"
        for column, reason in self.left_out.items():
            yield "left out", f"column {column!r} {reason}"
        if self.split is not None:
            yield "split", _named(self.split)
        for note in self.notes:
            yield "note", note

    @property
    def num_features(self) -> int:
        """How many features."""
        return sum(features for _, features in self.features.values())

    def _kinds(self) -> Iterable[str]:
        for kind, (columns, features) in self.features.items():
            few = len(columns) <= _FEW
            names = ", ".join(map(repr, columns)) if few else f"{len(columns):,} columns"
            yield f"{features:,} {kind} from {names}"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(count, _ONE.get(what, what), what) for what, count in counts.items())


def _named(counts: Mapping[str, int]) -> str:
    return listed([f"{name} {count:,}" for name, count in counts.items()]) or "none"
