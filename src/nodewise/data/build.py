"""From two tables to a graph: the whole way, a step a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nodewise.data.columns import check_wish, choose, no_features
from nodewise.data.edges import Edges, connect
from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.degree import DEGREE, DegreeColumn
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.ends import ends_of, weights_of
from nodewise.data.graph import GraphTable, Parts, assemble
from nodewise.data.labels import (
    Labels,
    check_class_sizes,
    known_labels_of,
    labels_of,
    no_labels,
)
from nodewise.data.nodes import index_of, nodes_of_edges, own_ids
from nodewise.data.notes import edge_notes, feature_notes, label_notes, roles_note
from nodewise.data.options import Roles, Wish
from nodewise.data.preprocessing import Preprocessing
from nodewise.data.roles import edge_roles, node_roles, together
from nodewise.data.sources.source import Source, Table
from nodewise.data.split_column import GivenSplit, split_of
from nodewise.errors import InputError


def build(nodes: Source | None, edges: Source, wish: Wish) -> GraphTable:
    """Read the tables and make a graph of them.

    Args:
        nodes: The nodes; None takes those that edges name.
        edges: The edges.
        wish: What is asked for.

    Raises:
        TableError: Something is wrong with a table.
    """
    stored = None if wish.preprocessing is None else wish.preprocessing.roles
    ends = edge_roles(edges, wish.roles, stored)
    edge_table = edges.read([name for name in (ends.source, ends.target) if name])
    roles, node_table = _read_nodes(nodes, edge_table, ends, wish)
    index = index_of(node_table, str(roles.id))
    tidy = _edges(edge_table, roles, index, node_table.name, wish)
    labels = _labels(node_table, roles, wish)
    given = _split(node_table, roles, labels, wish)
    parts = _with_features(node_table, roles, tidy, labels, wish)
    notes = (*roles_note(roles), *edge_notes(edges, roles), *label_notes(labels, given))
    split = None if given is None else given.split
    whole = replace(parts, split=split, notes=(*notes, *parts.notes))
    return assemble(whole, wish.sparse)


def _read_nodes(nodes: Source | None, edges: Table, ends: Roles, wish: Wish) -> tuple[Roles, Table]:
    asked, fitted = wish.roles, wish.preprocessing
    if nodes is None:
        if asked.label or asked.split or wish.features or wish.text:
            raise InputError(
                "nodes",
                "are missing, and a label, a split or features are asked for",
                value=asked.label or asked.split or wish.features or wish.text,
                way_out="give a table of nodes beside the edges",
            )
        return together(Roles(id="id"), ends), nodes_of_edges(edges, ends)
    found = node_roles(nodes, asked, None if fitted is None else fitted.roles)
    taken = (found.id, found.label, found.split)
    check_wish(nodes, wish, taken)
    names = [column for column in (*taken, *wish.text, *_text_columns(fitted)) if column]
    return together(found, ends), nodes.read([name for name in names if name in nodes.columns])


def _text_columns(fitted: Preprocessing | None) -> Iterator[str]:
    """Columns whose cells are names or texts; 007 in them is no number."""
    for encoder in () if fitted is None else fitted.encoders:
        if isinstance(encoder, CategoryColumn | WordsColumn):
            yield encoder.column


def _edges(table: Table, roles: Roles, index: Any, nodes: str, wish: Wish) -> Edges:
    ends = ends_of(table, roles, index, nodes)
    weight = None if roles.weight is None else weights_of(table, roles.weight)
    edges = connect(ends, len(index), directed=_directed(wish), weight=weight)
    if not edges.count:
        raise table.error(
            "every edge is a self-loop, so that no node has a context",
            way_out="give edges between different nodes",
        )
    return edges


def _directed(wish: Wish) -> bool:
    return wish.directed or (wish.preprocessing is not None and wish.preprocessing.directed)


def _labels(table: Table, roles: Roles, wish: Wish) -> Labels:
    fitted = wish.preprocessing
    known = () if fitted is None else fitted.class_names
    if roles.label is None:
        return no_labels(len(table.frame), known)
    if fitted is not None:
        return known_labels_of(table, roles.label, known, wish.unlabeled)
    labels = labels_of(table, roles.label, wish.unlabeled)
    if roles.split is None:
        check_class_sizes(table, roles.label, labels)
    return labels


def _split(table: Table, roles: Roles, labels: Labels, wish: Wish) -> GivenSplit | None:
    if roles.split is None or roles.label is None:
        return None
    return split_of(table, roles.split, labels.y, strict=wish.preprocessing is None)


def _with_features(nodes: Table, roles: Roles, edges: Edges, labels: Labels, wish: Wish) -> Parts:
    with_degrees = replace(nodes, frame=nodes.frame.assign(**{DEGREE: edges.degrees}))
    left_out: tuple[tuple[str, str], ...] = ()
    fitted = wish.preprocessing
    if fitted is None:
        choice = choose(nodes, wish, (roles.id, roles.label, roles.split))
        if not choice.encoders and choice.left_out:
            raise no_features(nodes, choice.left_out)
        encoders = choice.encoders or (DegreeColumn.fit(with_degrees),)
        left_out = choice.left_out
        fitted = Preprocessing(encoders, labels.class_names, roles, wish.directed)
    features = fitted.encode(with_degrees)
    notes = tuple(feature_notes(nodes, features, fitted))
    ids = own_ids(nodes, str(roles.id))
    return Parts(ids, features.matrix, edges, labels, fitted, left_out=dict(left_out), notes=notes)
