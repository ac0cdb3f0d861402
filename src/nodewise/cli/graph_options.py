"""The options that say which graph a command works on: a data set, or tables and how to read them.

Those about reading are made from the fields of `ReadOptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nodewise.cli.options import with_options
from nodewise.data.options import ReadOptions
from nodewise.errors import InputError

if TYPE_CHECKING:
    from nodewise.data.graph import GraphTable
    from nodewise.runs.saved import SavedRun

PANEL = "Your own graph"
Nodes = Annotated[
    Path | None,
    typer.Option(
        "--nodes",
        help="Table of nodes: CSV, TSV, gzip, Parquet; or .npz, graph.node, a store's folder.",
        rich_help_panel=PANEL,
    ),
]
Edges = Annotated[
    Path | None,
    typer.Option("--edges", help="Table of edges: a row has both ends.", rich_help_panel=PANEL),
]
OtherDataset = Annotated[
    str | None,
    typer.Option("--dataset", help="A data set with the same features, instead of the run's."),
]


# By the parameter of a command, called after its first flag: --split is another option there.
_OPTIONS = {
    option.metadata["flags"][0].split("/")[0].strip("-").replace("-", "_"): option
    for option in fields(ReadOptions)
    if option.metadata["flags"]
}


def with_graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --nodes, --edges and an option for each field of `ReadOptions`.

    The command receives what was given of them as its argument `tables`.
    """
    hints = get_type_hints(ReadOptions)
    kinds = {"nodes": (Nodes, None), "edges": (Edges, None)}
    kinds |= {name: _on_command_line(hints[field.name], field) for name, field in _OPTIONS.items()}
    return with_options(command, "tables", kinds)


def graph_source(
    dataset: str | None, tables: Mapping[str, Any], split: str | None, split_seed: int
) -> dict[str, Any]:
    """Where the graph comes from, for `load_source`.

    Args:
        dataset: A data set's name, or None.
        tables: What was given of the options of `with_graph_options`.
        split: Which split of a data set.
        split_seed: Which of the drawn splits.

    Raises:
        InputError: There is no graph, or there are two, or options do not go with it.
    """
    from nodewise.data.stores.meta import was_to_be_store
    from nodewise.runs.sources import dataset_source, files_source

    files, chosen = files_of(tables["nodes"], tables["edges"]), _chosen(tables)
    if not files and chosen:
        raise InputError(
            f"--{flag_of(next(iter(chosen)))}",
            "is about tables, and there are none",
            way_out="give them with --nodes and --edges",
        )
    if (dataset is None) == (not files):
        raise not_one_graph(dataset)
    if dataset is not None and was_to_be_store(Path(dataset)):
        _check_no_split(split, "name a column when the store is made")
        return {"store": dataset, "split_seed": split_seed}
    if dataset is not None:
        return dataset_source(dataset, split, split_seed)
    _check_no_split(split, "name a column that says train, val or test with --split-column")
    return files_source(files, ReadOptions(**chosen), split_seed)


def _check_no_split(split: str | None, way_out: str) -> None:
    if split is not None:
        raise InputError("--split", "is for data sets", value=split, way_out=way_out)


def graph_of_run(
    run: SavedRun, dataset: str | None, files: Mapping[str, str], root: Path | None
) -> GraphTable:
    """The graph to apply a run to: the given tables or data set, or that of training.

    Args:
        run: The run.
        dataset: A data set's name, or None.
        files: What `files_of` returned.
        root: The folder of raw files.

    Raises:
        InputError: There are two graphs, or that of training was in memory.
        TableError: A table is wrong, or is not the one of training.
    """
    from nodewise.runs.sources import read_source

    if files and dataset is not None:
        raise not_one_graph(dataset)
    source = run.config["graph"]
    if files:
        source = {"files": files}
    elif dataset is not None:
        source = {"dataset": dataset}
    return read_source(source, run.files, root)


def name_of(source: Mapping[str, Any]) -> str:
    """A short name for a graph: the data set's, or the first file's without its endings."""
    if "dataset" in source:
        return str(source["dataset"])
    if "store" in source:
        return Path(source["store"]).name
    return Path(next(iter(source["files"].values()))).name.split(".")[0]


def files_of(nodes: Path | None, edges: Path | None) -> dict[str, str]:
    """The files by what they are, without those that were not given.

    Raises:
        InputError: There are nodes in a table, and no edges.
    """
    if nodes is not None and edges is None:
        edges = _edges_of(nodes)
    return {what: str(path) for what, path in (("nodes", nodes), ("edges", edges)) if path}


def not_one_graph(dataset: str | None) -> InputError:
    """The error for a graph that is given twice, or, without a data set, not at all."""
    return InputError(
        "graph",
        "is given twice, as a data set and as tables" if dataset else "is missing",
        value=dataset,
        way_out="name a data set, or give --nodes and --edges",
    )


def flag_of(option: str) -> str:
    """The flag of an option of `read_graph`, without dashes."""
    flags = {field.name: name for name, field in _OPTIONS.items()}
    return str(flags.get(option, option)).replace("_", "-")


def _edges_of(nodes: Path) -> Path | None:
    """The file of edges that belongs to one of nodes; an npz file or a store has its own."""
    from nodewise.data.sources.released import edges_beside, is_released
    from nodewise.data.stores.meta import is_store

    if is_released(nodes):
        return edges_beside(nodes)
    if nodes.suffix == ".npz" or is_store(nodes.expanduser()):
        return None
    raise InputError("--edges", "is missing beside --nodes", way_out="give the table of edges")


def _chosen(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `ReadOptions` that are not at their defaults."""
    return {
        option.name: _split(tables[name]) if option.metadata["commas"] else tables[name]
        for name, option in _OPTIONS.items()
        if tables[name] not in (None, [], option.default)
    }


def _split(given: Iterable[str]) -> list[str]:
    """`a,b` and `c` as three names."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def _on_command_line(hint: Any, option: Field[Any]) -> tuple[Any, Any]:
    """The annotation and the default of an option; `ReadOptions` checks the texts."""
    kind: Any = str | None if option.default is None else str
    default = option.default
    if isinstance(default, bool | int):
        kind = type(default)
    elif "tuple" in str(hint):
        kind, default = list[str] | None, None
    about, flags = option.metadata, option.metadata["flags"]
    return Annotated[kind, typer.Option(*flags, help=about["help"], rich_help_panel=PANEL)], default
