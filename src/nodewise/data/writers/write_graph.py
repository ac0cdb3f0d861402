"""`write_graph`: a graph into files, in any form that `read_graph` reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.data.checks import check_graph
from nodewise.data.graph import GraphTable
from nodewise.data.sources.released import edges_beside, is_released
from nodewise.data.writers.npz import write_npz
from nodewise.data.writers.released import write_released
from nodewise.data.writers.tables import FORMATS, write_edges, write_nodes
from nodewise.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Written:
    """The files that were written.

    Attributes:
        files: The files.
        options: The arguments of `read_graph` that read the same graph back.
        notes: What the format cannot store, a clause each.
    """

    files: tuple[Path, ...]
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def write_graph(
    graph: GraphTable | Data,
    out: str | os.PathLike[str],
    *,
    ids: Sequence[Any] | None = None,
    table_format: str = "csv",
    force: bool = False,
) -> Written:
    """Write a graph; features are written as they are in `x`, encoded and scaled.

    Args:
        graph: What `read_graph` returned, or a graph of PyG.
        out: `x.npz` for one file; `x.node` or `x.node.gz` for the files of the released program;
            any other name is a folder, which gets a table of nodes and one of edges.
        ids: The ids of the nodes, for a graph of PyG; else they are numbered.
        table_format: What tables are: csv, tsv, csv.gz, tsv.gz or parquet.
        force: Whether files that are there already are replaced.

    Returns:
        The files, and how to read them.

    Raises:
        InputError: A file is there already, or cannot be written.
        GraphError: The graph is malformed.
    """
    files = files_for(out, table_format, force)
    data, names = (graph.data, graph.ids) if isinstance(graph, GraphTable) else (graph, ids)
    check_graph(data.x, data.edge_index)
    try:
        return _write(files, data, range(data.x.size(0)) if names is None else names)
    except OSError as error:
        raise InputError(
            str(out), f"cannot be written ({error.strerror})", way_out="choose another place"
        ) from error


def files_for(
    out: str | os.PathLike[str], table_format: str = "csv", force: bool = False
) -> tuple[Path, ...]:
    """The files that `write_graph` would write: one, or those of nodes and edges.

    Raises:
        InputError: It would not write them.
    """
    if table_format not in FORMATS:
        raise UnknownNameError("format", table_format, FORMATS)
    files = _files(Path(out).expanduser(), table_format)
    _check_free(files, force)
    return files


def _files(path: Path, table_format: str) -> tuple[Path, ...]:
    if path.suffix == ".npz":
        return (path,)
    if is_released(path):
        return path, edges_beside(path)
    if path.name.endswith(tuple(f".{ending}" for ending in FORMATS)):
        raise InputError(
            str(path),
            "is one file, and tables are two, nodes and edges",
            way_out="name a folder for them, or a file that ends with .npz",
        )
    return path / f"nodes.{table_format}", path / f"edges.{table_format}"


def _check_free(files: tuple[Path, ...], force: bool) -> None:
    for path in files:
        if path.is_dir() or (path.exists() and not force):
            raise InputError(
                str(path),
                "is a folder" if path.is_dir() else "is there already",
                way_out="choose another name" if path.is_dir() else "use --force to replace it",
            )


def _write(files: tuple[Path, ...], data: Data, ids: Sequence[Any]) -> Written:
    if len(files) == 1:
        return Written(files, {"nodes": str(files[0]), **write_npz(files[0], data, ids)})
    nodes, edges = files
    found: dict[str, Any] = {"nodes": str(nodes), "edges": str(edges)}
    if is_released(nodes):
        options, notes = write_released(nodes, data, ids)
        return Written(files, {**found, **options}, notes)
    # Edges last: a table of edges says that the nodes are there.
    roles, ends = write_nodes(nodes, data, ids), write_edges(edges, data, ids)
    return Written(files, {**found, **roles, **ends, "scale": False})
