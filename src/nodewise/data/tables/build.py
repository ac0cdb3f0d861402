"""Builds a graph from two tables: `_build` is the sequence of steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.degree import DEGREE, DegreeColumn
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.graph import GraphTable, Parts, assemble
from nodewise.data.options import ReadOptions, Roles
from nodewise.data.sources.source import Source, SourceTable
from nodewise.data.tables.columns import (
    Columns,
    check_columns,
    choose,
    edge_roles,
    merge_roles,
    no_features,
    node_roles,
)
from nodewise.data.tables.edges import Edges, connect, ends_of, no_edges, weights_of
from nodewise.data.tables.leaks import leak_warnings
from nodewise.data.tables.nodes import (
    GivenSplit,
    Labels,
    check_class_sizes,
    ids_of,
    index_of,
    known_labels_of,
    labels_of,
    missing_label,
    no_labels,
    nodes_of_edges,
    split_of,
)
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.tables.summary import edge_notes, feature_notes, label_notes, roles_note
from nodewise.data.tables.swapped import detecting_swapped_tables
from nodewise.errors import InputError


def build(
    nodes: Source | None,
    edges: Source,
    options: ReadOptions,
    fitted: Preprocessing | None = None,
    needs_labels: bool = False,
) -> GraphTable:
    """Read two tables as a graph.

    Args:
        nodes: The nodes; None takes those that edges name.
        edges: The edges.
        options: How to read them.
        fitted: The preprocessing of an earlier table. The sizes of classes and the split are then
            not checked: the graph is not trained on.
        needs_labels: Whether a table without a column of labels is an error.

    Raises:
        TableError: Something is wrong with a table.
        InputError: There is no column of labels, though one is needed.
    """
    with detecting_swapped_tables(nodes, edges, options.roles):
        return _build(nodes, edges, options, fitted, needs_labels)


def _build(
    nodes: Source | None,
    edges: Source,
    options: ReadOptions,
    fitted: Preprocessing | None,
    needs_labels: bool,
) -> GraphTable:
    roles = find_roles(nodes, edges, options, fitted)
    if needs_labels and roles.label is None:
        raise missing_label()
    edge_table = edges.read([name for name in (roles.source, roles.target) if name])
    node_table = _read_nodes(nodes, edge_table, roles, options, fitted)
    index = index_of(node_table, str(roles.id))
    directed = options.directed or (fitted is not None and fitted.directed)
    tidy = _edges(edge_table, roles, index, node_table.name, directed)
    labels = _labels(node_table, roles, options, fitted)
    given = _split(node_table, roles, labels, strict=fitted is None)
    parts = _with_features(node_table, roles, tidy, labels, options, fitted)
    notes = (*roles_note(roles), *edge_notes(edges, roles), *label_notes(labels, given))
    split = None if given is None else given.split
    return assemble(replace(parts, split=split, notes=(*notes, *parts.notes)), options.sparse)


def find_roles(
    nodes: Source | None, edges: Source, options: ReadOptions, fitted: Preprocessing | None
) -> Roles:
    """The columns of both tables that have a role, from their headers.

    Raises:
        TableError: A column that the options name does not exist.
        InputError: Columns of nodes are asked for, and there are no nodes.
    """
    stored = None if fitted is None else fitted.roles
    ends = edge_roles(edges, options.roles, stored)
    if nodes is not None:
        found = node_roles(nodes, options.roles, stored)
        check_columns(nodes, options, (found.id, found.label, found.split))
        return merge_roles(found, ends)
    named = options.label or options.split or options.features or options.text
    if named:
        raise InputError(
            "nodes",
            "are missing, but a label, a split or features are named",
            value=named,
            way_out="give a table of nodes beside the edges",
        )
    return merge_roles(Roles(id="id"), ends)


def _read_nodes(
    nodes: Source | None,
    edges: SourceTable,
    roles: Roles,
    options: ReadOptions,
    fitted: Preprocessing | None,
) -> SourceTable:
    if nodes is None:
        return nodes_of_edges(edges, roles)
    return nodes.read(as_text_columns(nodes, roles, options, fitted))


def as_text_columns(
    nodes: Source, roles: Roles, options: ReadOptions, fitted: Preprocessing | None
) -> list[str]:
    """The columns whose cells are read as texts: names, labels and texts."""
    names = (roles.id, roles.label, roles.split, *options.text, *_text_columns(fitted))
    return [name for name in names if name in nodes.columns]


def _text_columns(fitted: Preprocessing | None) -> Iterator[str]:
    """Columns whose cells are names or texts; 007 in them is not a number."""
    for encoder in () if fitted is None else fitted.encoders:
        if isinstance(encoder, CategoryColumn | WordsColumn):
            yield encoder.column


def _edges(table: SourceTable, roles: Roles, index: Any, nodes: str, directed: bool) -> Edges:
    ends = ends_of(table, roles, index, nodes)
    weight = None if roles.weight is None else weights_of(table, roles.weight)
    edges = connect(ends, len(index), directed=directed, weight=weight)
    if not edges.count:
        raise no_edges(table)
    return edges


def _labels(
    table: SourceTable, roles: Roles, options: ReadOptions, fitted: Preprocessing | None
) -> Labels:
    known = () if fitted is None else fitted.class_names
    if roles.label is None:
        return no_labels(len(table.frame), known)
    if fitted is not None:
        return known_labels_of(table, roles.label, known, options.unlabeled)
    labels = labels_of(table, roles.label, options.unlabeled)
    if roles.split is None:
        first = partial(_first_row, labels)
        check_class_sizes(table, roles.label, labels.counts(), first)
    return labels


def _first_row(labels: Labels, name: str) -> int:
    return int((labels.y == labels.class_names.index(name)).argmax())


def _split(table: SourceTable, roles: Roles, labels: Labels, *, strict: bool) -> GivenSplit | None:
    if roles.split is None or roles.label is None:
        return None
    return split_of(table, roles.split, labels.y, strict=strict)


def _with_features(
    nodes: SourceTable,
    roles: Roles,
    edges: Edges,
    labels: Labels,
    options: ReadOptions,
    fitted: Preprocessing | None,
) -> Parts:
    with_degrees = replace(nodes, frame=nodes.frame.assign(**{DEGREE: edges.degrees}))
    left_out: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    if fitted is None:
        taken = (roles.id, roles.label, roles.split)
        choice = choose(Columns(nodes, options), tuple(nodes.frame.columns), taken)
        if not choice.encoders and choice.left_out:
            raise no_features(nodes, choice.left_out)
        encoders = choice.encoders or (DegreeColumn.fit(with_degrees),)
        left_out = choice.left_out
        warnings = tuple(leak_warnings(nodes, labels, encoders))
        fitted = Preprocessing(encoders, labels.class_names, roles, options.directed)
    features = fitted.encode(with_degrees)
    notes = tuple(feature_notes(features, fitted))
    ids = ids_of(nodes, str(roles.id))
    parts = Parts(ids, features.matrix, edges, labels, fitted)
    return replace(parts, left_out=dict(left_out), notes=notes, warnings=warnings)
