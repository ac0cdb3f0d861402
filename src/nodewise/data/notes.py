"""What should be known of tables beside the numbers: the notes of a summary, a sentence each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from nodewise.data.cells import looks_missing, names_in
from nodewise.data.edges import Edges
from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.degree import DegreeColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.labels import Labels, unlabeled_flag
from nodewise.data.options import Roles
from nodewise.data.preprocessing import Features, Preprocessing
from nodewise.data.sources.source import Source, Table, counted, listed
from nodewise.data.split_column import GivenSplit


def roles_note(roles: Roles) -> Iterator[str]:
    """Which columns were taken for what."""
    columns = ", ".join(f"{role} {name!r}" for role, name in vars(roles).items() if name)
    yield f"columns read: {columns}"


def edge_notes(edges: Source, roles: Roles) -> Iterator[str]:
    """Which columns of edges nobody uses."""
    used = (roles.source, roles.target, roles.weight)
    rest = [repr(column) for column in edges.columns if column not in used]
    if rest:
        yield f"columns of edges not used: {listed(rest)}"


def weight_notes(edges: Edges) -> Iterator[str]:
    """Whether one edge was given several weights."""
    if edges.disagreeing:
        yield (
            f"{counted(edges.disagreeing, 'repeated edge has', 'repeated edges have')} another "
            "weight than the first; the first was kept"
        )


def label_notes(labels: Labels, given: GivenSplit | None) -> Iterator[str]:
    """Labels that are none, that may be none, or that a split would need."""
    for name, count in labels.counts().items():
        if count and looks_missing(name):
            yield (
                f"class {name!r} of {counted(count, 'node')} looks like a missing value; "
                f"say {unlabeled_flag(name)} if it is"
            )
    if labels.strangers:
        strangers = counted(labels.strangers, "label is", "labels are")
        yield f"{strangers} of no known class, and taken for none"
    if given is not None and given.unlabeled_tests:
        tests = counted(given.unlabeled_tests, "test node has", "test nodes have")
        yield f"{tests} no label, to be predicted only"


def feature_notes(nodes: Table, features: Features, fitted: Preprocessing) -> Iterator[str]:
    """What became of cells that are no features as they stand."""
    for column, (count, taken_for) in features.empty.items():
        yield f"{counted(count, 'empty cell')} of column {column!r} taken for {taken_for}"
    for encoder in fitted.encoders:
        if encoder.column in features.unknown:
            yield _strangers(encoder, features.unknown[encoder.column])
    for encoder in fitted.encoders:
        if isinstance(encoder, CategoryColumn):
            yield from _missing_categories(nodes, encoder)
    if any(isinstance(encoder, DegreeColumn) for encoder in fitted.encoders):
        yield "there are no feature columns; each node has its degree as features"


def _strangers(encoder: Encoder, unknown: Mapping[str, int]) -> str:
    """The words or categories that were not known, the most frequent by name."""
    nouns = ("word", "words") if isinstance(encoder, WordsColumn) else ("category", "categories")
    frequent = Counter(unknown).most_common(3)
    named = ", ".join(f"{name!r} {counted(count, 'time')}" for name, count in frequent)
    more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
    is_not = "is not" if len(unknown) == 1 else "are not"
    of_column = f"{counted(len(unknown), *nouns)} of column {encoder.column!r}"
    return f"{of_column} {is_not} known, and left out: {named}{more}"


def _missing_categories(nodes: Table, encoder: CategoryColumn) -> Iterator[str]:
    for name in filter(looks_missing, encoder.categories):
        count = int((names_in(nodes.frame[encoder.column]) == name).sum())
        if count:
            cells = f"{counted(count, 'cell')} of column {encoder.column!r}"
            yield (
                f"category {name!r} of {cells} looks like a missing value; "
                "leave the cells empty if it is"
            )
