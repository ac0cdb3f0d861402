"""Finding out which column is the id, the label, the ends of an edge, where nobody said."""

from __future__ import annotations

from dataclasses import replace

from nodewise.data.options import Roles
from nodewise.data.sources.source import Source, listed
from nodewise.errors import TableError

ID = ("id", "node_id", "nodeid", "node")
LABEL = ("label", "labels", "class", "y")
SPLIT = ("split",)
SOURCE = ("source", "src", "source_id", "from", "u", "head")
TARGET = ("target", "dst", "target_id", "to", "v", "tail")


def node_roles(nodes: Source, asked: Roles, stored: Roles | None = None) -> Roles:
    """The id, label and split columns of a table of nodes.

    A column that was asked for must be there. Else it is the one that a preprocessing remembers,
    or one of a usual name; failing that the id is the first column, and there is no label.

    Args:
        nodes: The table.
        asked: What the caller asked for.
        stored: What a preprocessing remembers; a later table need have no label and no split.

    Raises:
        TableError: A column that was asked for is not there.
    """
    known = stored or Roles()
    node_id = _find(nodes, "id", asked.id, known.id, ID) or nodes.columns[0]
    label = _find(nodes, "label", asked.label, known.label, LABEL if stored is None else ())
    split = _find(nodes, "split", asked.split, known.split, SPLIT)
    found = Roles(id=node_id, label=label, split=split)
    _check_apart(nodes, found)
    return found


def edge_roles(edges: Source, asked: Roles, stored: Roles | None = None) -> Roles:
    """The source, target and weight columns of a table of edges; weights are never guessed.

    Raises:
        TableError: A column that was asked for is not there, or there is only one column.
    """
    known = stored or Roles()
    source = _find(edges, "source", asked.source, known.source, SOURCE, but=asked.target)
    target = _find(edges, "target", asked.target, known.target, TARGET, but=source)
    weight = _find(edges, "weight", asked.weight, known.weight, ())
    rest = [name for name in edges.columns if name not in (source, target, weight)]
    if (source is None) + (target is None) > len(rest):
        raise TableError(
            edges.name,
            "needs two columns, for the two ends of an edge",
            value=listed(edges.columns),
            way_out="give a column for the source and one for the target",
        )
    found = Roles(source=source or rest.pop(0), target=target or rest.pop(0), weight=weight)
    _check_apart(edges, found)
    return found


def together(nodes: Roles, edges: Roles) -> Roles:
    """The roles of both tables."""
    return replace(nodes, source=edges.source, target=edges.target, weight=edges.weight)


def _find(
    table: Source,
    role: str,
    asked: str | None,
    stored: str | None,
    usual: tuple[str, ...],
    but: str | None = None,
) -> str | None:
    if asked is not None:
        return table.column(asked, role)
    return stored if stored in table.columns else table.guess(usual, (but,))


def _check_apart(table: Source, roles: Roles) -> None:
    seen: dict[str, str] = {}
    for role, column in vars(roles).items():
        if column in seen:
            raise TableError(
                table.name,
                f"is asked to be the {role} and the {seen[column]}",
                column=column,
                way_out="name a column for each",
            )
        if column is not None:
            seen[column] = role
