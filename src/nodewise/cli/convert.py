"""`nodewise convert`: a graph from one form into another."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.graph_options import flag_of, graph_source, with_graph_options
from nodewise.cli.options import Json, Quiet, Root, SplitName, SplitSeed
from nodewise.cli.tables import print_json

if TYPE_CHECKING:
    from nodewise.data.graph import GraphTable

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATASET] [OUT]",
        help="A data set, unless tables are given; then OUT: x.npz, x.node, or a folder.",
    ),
]
To = Annotated[
    Path | None,
    typer.Option("--to", help="Instead of OUT: the folder of a store, for tables of any size."),
]
Memory = Annotated[str, typer.Option("--memory", help="What writing a store may take: 800MB, 4GB.")]
Like = Annotated[
    Path | None,
    typer.Option("--like", help="A run or a store: make a store's features as it did."),
]
Format = Annotated[
    str, typer.Option("--format", help="Tables in a folder: csv, tsv, csv.gz, tsv.gz, parquet.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]


@with_graph_options
def convert(
    tables: Mapping[str, Any],
    names: Names = None,
    to: To = None,
    memory: Memory = "4GB",
    like: Like = None,
    table_format: Format = "csv",
    force: Force = False,
    split: SplitName = None,
    split_seed: SplitSeed = 0,
    root: Root = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a graph in another form: tables, an npz file, or the files of the released program.

    OUT says which: a name that ends with `.npz` is one file with everything in it; `.node` gets a
    `.edge` beside it, as the released LGNN program reads them; any other name is a folder, which
    gets a table of nodes and one of edges. The graph is a data set with its split, or your own, in
    any form that `nodewise train` reads. Its features are written as the model would see them:
    categories and words as columns, numbers scaled unless `--no-scale` is given. The command that
    reads the files back is printed at the end.

    With `--to`, the graph becomes a store: a folder of memory-mapped files, which every command
    takes as `--nodes FOLDER`. Tables of any size are written in bounded memory (`--memory`), CSV
    and Parquet alike; if it is killed, the same command begins anew. `--like RUN` makes the
    features of a later graph as those that a run was trained on.

    **Examples**

    - `nodewise convert cora out/`
    - `nodewise convert cora out/ --format parquet --split random`
    - `nodewise convert --nodes nodes.csv --edges edges.csv --label topic out.npz`
    - `nodewise convert --nodes graph.node out/ --force`
    - `nodewise convert --nodes graph.npz released/graph.node`
    - `nodewise convert --nodes nodes.csv --edges edges.csv --label topic --to big/`
    """
    if to is not None:
        dataset = _dataset_beside_to(names)
        from nodewise.cli.convert_store import about_store, store_request

        how = (to, memory, like, force, root)
        store = store_request(dataset, tables, (split, split_seed), *how).write(quiet)
        if not quiet:
            typer.echo(f"use it with: nodewise train --nodes {to.expanduser()}")
        print_json(about_store(store, to), json)
        return
    from nodewise.data.writers.write_graph import files_for, write_graph

    has_tables = tables["nodes"] is not None or tables["edges"] is not None
    dataset, out = _dataset_and_out(names or [], has_tables)
    files_for(out, table_format, force)  # raises before the graph is read
    graph = _read(graph_source(dataset, tables, split, split_seed), root)
    if has_tables and not quiet:
        typer.echo(str(graph.summary))
    written = write_graph(graph, out, table_format=table_format, force=force)
    if not quiet:
        for note in written.notes:
            typer.echo(f"note: {note}")
        typer.echo(f"written: {', '.join(map(str, written.files))}")
        typer.echo(f"read it with: nodewise train {_flags(written.options)}")
    print_json(_about(graph, written.files, written.options, written.notes), json)


def _dataset_and_out(names: list[str], has_tables: bool) -> tuple[str | None, Path]:
    """The data set, if one is named, and where to write."""
    from nodewise.errors import InputError

    if len(names) < (1 if has_tables else 2):
        raise InputError(
            "OUT",
            "is missing",
            value=" ".join(names) or None,
            way_out="name a data set, then where to write it; or --to and a folder for a store",
        )
    if len(names) > 2:
        raise InputError(
            "arguments",
            "are too many",
            value=" ".join(names),
            way_out="give a data set and where to write it, or only the latter beside --nodes",
        )
    return (names[0] if len(names) == 2 else None), Path(names[-1])


def _dataset_beside_to(names: list[str] | None) -> str | None:
    """The data set, if one is named."""
    from nodewise.errors import InputError

    if names and len(names) > 1:
        raise InputError(
            "OUT", "is given, and so is --to", value=names[-1], way_out="give one of them"
        )
    return names[0] if names else None


def _read(source: Mapping[str, Any], root: Path | None) -> GraphTable:
    """The graph with the split it has; none is drawn for tables that have none."""
    from nodewise.data.options import ReadOptions
    from nodewise.data.read_graph import read_graph
    from nodewise.runs.sources import load_source

    if "files" in source:
        return read_graph(**source["files"], options=ReadOptions.from_dict(source["options"]))
    return load_source(source, root)


def _flags(options: Mapping[str, Any]) -> str:
    """Arguments of `read_graph` as the command line has them."""
    words = []
    for name, value in options.items():
        flag = flag_of(name)
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", shlex.quote(str(value))]
    return " ".join(words)


def _about(
    graph: GraphTable, files: tuple[Path, ...], options: dict[str, Any], notes: tuple[str, ...]
) -> dict[str, Any]:
    summary = graph.summary
    return {
        "files": [str(path) for path in files],
        "nodes": summary.nodes,
        "edges": summary.edges,
        "features": summary.num_features,
        "classes": len(summary.labels),
        "read_with": options,
        "notes": list(notes),
    }
