"""The files of the released LGNN program: `graph.node` and `graph.edge`, tab-separated.

The first line of `graph.node` has the counts of nodes and of features; each line after it a node's
id, its label's number, its features. A line of `graph.edge` is an edge; there is no header.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nodewise.data.build import build
from nodewise.data.graph import GraphTable
from nodewise.data.index_arrays import WIDEST
from nodewise.data.options import Roles, Wish
from nodewise.data.sources.dialect import Dialect
from nodewise.data.sources.first_bytes import check_text, first_bytes
from nodewise.data.sources.open_source import open_source
from nodewise.data.sources.source import Source
from nodewise.data.sources.text_source import TextSource
from nodewise.errors import TableError

_ENDINGS = {".node": ".edge", ".node.gz": ".edge.gz"}
_DIGITS = 20  # of a count; Python refuses to read thousands of them


def is_released(path: Path) -> bool:
    """Whether a file's name is one of the released program's for nodes."""
    return path.name.endswith(tuple(_ENDINGS))


def read_released(path: Path, edges: Source | None, wish: Wish) -> GraphTable:
    """Read such a graph; features are taken as they are, and a label of -1 is none.

    Args:
        path: The file of nodes.
        edges: The edges; None looks for `graph.edge` beside `graph.node`.
        wish: What is asked for; the columns are what the format says.

    Raises:
        TableError: A file is not of that format.
    """
    nodes = _nodes(path)
    roles = Roles(id="id", label="label", weight=wish.roles.weight)
    unlabeled = (*wish.unlabeled, "-1")
    asked = replace(wish, roles=roles, scale=False, unlabeled=unlabeled)
    return build(nodes, edges or open_source(edges_beside(path), "edges", header=False), asked)


def _nodes(path: Path) -> TextSource:
    head = first_bytes(path)
    check_text(path, head)
    line = head.split(b"\n", 1)[0].strip()
    counts = line.split(b"\t")
    if len(counts) != 2 or not all(count.isdigit() for count in counts):
        raise TableError(
            str(path),
            "must begin with the counts of nodes and of features, a tab between them",
            row="line 1",
            value=line.decode(errors="replace"),
            way_out="write them, or name the file .tsv if it has a header",
        )
    if len(counts[1]) > _DIGITS or int(counts[1]) > WIDEST:
        raise TableError(
            str(path),
            f"has more than {WIDEST} features",
            row="line 1",
            value=counts[1].decode(),
            way_out="write the count of features that each line after it has",
        )
    features = (f"feature_{i}" for i in range(int(counts[1])))
    return TextSource(path, Dialect("\t", ("id", "label", *features)))


def edges_beside(path: Path) -> Path:
    """Where the edges of such a file of nodes lie."""
    old = next(ending for ending in sorted(_ENDINGS, key=len) if path.name.endswith(ending))
    return path.with_name(path.name.removesuffix(old) + _ENDINGS[old])
