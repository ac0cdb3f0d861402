"""The files of the released LGNN program: `graph.node` and `graph.edge`, tab-separated.

The first line of `graph.node` has the counts of nodes and of features; each line after it a node's
id, its label's number, its features. A line of `graph.edge` is an edge; there is no header.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from nodewise.data.graph import GraphTable
from nodewise.data.index_arrays import WIDEST
from nodewise.data.options import ReadOptions, Roles
from nodewise.data.sources.dialect import Dialect
from nodewise.data.sources.input_file import InputFile, check_text
from nodewise.data.sources.source import Source
from nodewise.data.sources.text_source import TextSource
from nodewise.data.tables.build import build
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.errors import TableError

_ENDINGS = {".node": ".edge", ".node.gz": ".edge.gz"}
_DIGITS = 20  # of a count; Python refuses to read thousands of them


def is_released(path: Path) -> bool:
    """Whether a file's name is one of the released program's for nodes."""
    return path.name.endswith(tuple(_ENDINGS))


def read_released(
    file: InputFile, edges: Source, options: ReadOptions, fitted: Preprocessing | None
) -> GraphTable:
    """Read such a graph; features are taken as they are, and a label of -1 is none.

    Args:
        file: The nodes.
        edges: The edges.
        options: How to read them; the format itself says which columns are id and label.
        fitted: The preprocessing of an earlier table, or None.

    Raises:
        TableError: A file is not of that format.
    """
    unlabeled = (*options.unlabeled, "-1")
    columns: dict[str, Any] = {role.name: None for role in fields(Roles)}
    columns |= {"id": "id", "label": "label", "weight": options.weight}
    changed = replace(options, **columns, scale=False, unlabeled=unlabeled)
    return build(_nodes(file), edges, changed, fitted)


def _nodes(file: InputFile) -> TextSource:
    path = file.path
    check_text(path, file.head)
    line = file.head.split(b"\n", 1)[0].strip()
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
    """The path of the edges that belong to such a file of nodes."""
    old = next(ending for ending in sorted(_ENDINGS, key=len) if path.name.endswith(ending))
    return path.with_name(path.name.removesuffix(old) + _ENDINGS[old])
