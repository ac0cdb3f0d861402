"""The summary of a graph that was read: its sizes, and notes on what may surprise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nodewise.data.encoders.degree import DegreeColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.options import Roles
from nodewise.data.sources.cells import looks_missing
from nodewise.data.sources.source import Source, counted, listed
from nodewise.data.tables.edges import Edges
from nodewise.data.tables.nodes import GivenSplit, Labels, unlabeled_flag
from nodewise.data.tables.preprocessing import EncodedTable, Preprocessing

_FEW = 6  # columns that are named and not counted
_ONE = {
    "self-loops": "self-loop",
    "repeated edges": "repeated edge",
    "edges listed in both directions": "edge listed in both directions",
}


@dataclass(frozen=True)
class Summary:
    """The sizes of a graph and of its parts; `str` of it is the printed summary.

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
        warnings: What may make the scores worthless, a sentence each.
        drawn_split: How a split was drawn, a sentence; empty where none was drawn.
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
    warnings: tuple[str, ...] = ()
    drawn_split: str = ""

    def __str__(self) -> str:
        lines = [f"{title:<9} {line}" for title, line in self._lines()]
        return "\n".join([*lines, self.drawn_split] if self.drawn_split else lines)

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
        for warning in self.warnings:
            yield "WARNING", warning

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


def roles_note(roles: Roles) -> Iterator[str]:
    """Which column has which role."""
    columns = ", ".join(f"{role} {name!r}" for role, name in vars(roles).items() if name)
    yield f"columns read: {columns}"


def edge_notes(edges: Source, roles: Roles) -> Iterator[str]:
    """Which columns of edges are not used."""
    used = (roles.source, roles.target, roles.weight)
    rest = [repr(column) for column in edges.columns if column not in used]
    if rest:
        yield f"columns of edges not used: {listed(rest)}"


def weight_notes(edges: Edges) -> Iterator[str]:
    """Whether rows give one edge several weights."""
    if edges.disagreeing:
        yield (
            f"{counted(edges.disagreeing, 'repeated edge has', 'repeated edges have')} another "
            "weight than the first; the first was kept"
        )


def label_notes(labels: Labels, given: GivenSplit | None) -> Iterator[str]:
    """Labels that may mean none, that are of unknown classes, or that a split lacks."""
    for name, count in labels.counts().items():
        if count and looks_missing(name):
            yield (
                f"class {name!r} of {counted(count, 'node')} looks like a missing value; "
                f"say {unlabeled_flag(name)} if it is"
            )
    if labels.unknown:
        unknown = counted(labels.unknown, "label is", "labels are")
        yield f"{unknown} of no known class, and taken for none"
    if given is not None and given.unlabeled_tests:
        tests = counted(given.unlabeled_tests, "test node has", "test nodes have")
        yield f"{tests} no label, to be predicted only"


def feature_notes(features: EncodedTable, fitted: Preprocessing) -> Iterator[str]:
    """Empty cells, unknown names, names that look missing, and features made of degrees."""
    for column, (count, taken_for) in features.empty.items():
        yield f"{counted(count, 'empty cell')} of column {column!r} taken for {taken_for}"
    for encoder in fitted.encoders:
        if encoder.column in features.unknown:
            yield _unknown_names(encoder, features.unknown[encoder.column])
    for column, counts in features.doubtful.items():
        yield from _doubtful_categories(column, counts)
    if any(isinstance(encoder, DegreeColumn) for encoder in fitted.encoders):
        yield "there are no feature columns; each node has its degree as features"


def _unknown_names(encoder: Encoder, unknown: Mapping[str, int]) -> str:
    """The words or categories that the encoder does not know, the most frequent by name."""
    nouns = ("word", "words") if isinstance(encoder, WordsColumn) else ("category", "categories")
    frequent = Counter(unknown).most_common(3)
    named = ", ".join(f"{name!r} {counted(count, 'time')}" for name, count in frequent)
    more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
    is_not = "is not" if len(unknown) == 1 else "are not"
    of_column = f"{counted(len(unknown), *nouns)} of column {encoder.column!r}"
    return f"{of_column} {is_not} known, and left out: {named}{more}"


def _doubtful_categories(column: str, counts: Mapping[str, int]) -> Iterator[str]:
    for name, count in counts.items():
        if count:
            cells = f"{counted(count, 'cell')} of column {column!r}"
            yield (
                f"category {name!r} of {cells} looks like a missing value; "
                "leave the cells empty if it is"
            )
