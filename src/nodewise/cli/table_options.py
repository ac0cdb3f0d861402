"""The options that say where somebody's own graph is and how it is read, for any command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from nodewise.data.own_graph import OwnGraph

PANEL = "Your own graph"


def _option(name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel=PANEL)


Nodes = Annotated[
    Path | None,
    _option("--nodes", "Table of nodes: CSV, TSV, gzip, Parquet; or .npz, graph.node."),
]
Edges = Annotated[Path | None, _option("--edges", "Table of edges: a row has both ends.")]


@dataclass(frozen=True)
class TableOptions:
    """The options of `read_graph`, as the command line has them."""

    nodes: Nodes = None
    edges: Edges = None
    label: Annotated[str | None, _option("--label", "Column of labels; empty cells: predict.")] = (
        None
    )
    unlabeled: Annotated[
        list[str] | None,
        _option("--unlabeled", "Labels that mean none: NA,unknown; repeatable."),
    ] = None
    id: Annotated[str | None, _option("--id", "Column of node ids.")] = None
    source: Annotated[str | None, _option("--source", "Column where an edge starts.")] = None
    target: Annotated[str | None, _option("--target", "Column where an edge ends.")] = None
    weight: Annotated[str | None, _option("--weight", "Column of edge weights, to use them.")] = (
        None
    )
    directed: Annotated[bool, _option("--directed/--undirected", "Edges have a direction.")] = False
    features: Annotated[
        list[str] | None,
        _option("--features", "Columns to use: a,b,c; repeatable. Default: all that can be used."),
    ] = None
    text: Annotated[
        list[str] | None, _option("--text", "Column of texts, to use its words; repeatable.")
    ] = None
    text_as: Annotated[str, _option("--text-as", "Words as tfidf, or bag for counts.")] = "tfidf"
    missing: Annotated[
        str, _option("--missing", "Empty cells of features: error, mean, median or zero.")
    ] = "error"
    scale: Annotated[
        bool, _option("--scale/--no-scale", "Give numbers mean 0 and deviation 1; or keep them.")
    ] = True
    split_column: Annotated[
        str | None, _option("--split-column", "Column that says train, val or test.")
    ] = None

    def graph(self, split_seed: int = 0) -> OwnGraph | None:
        """The tables and what is asked of them; None where there are no tables.

        Raises:
            InputError: Columns are named, and no tables.
        """
        from nodewise.data.own_graph import OwnGraph
        from nodewise.errors import InputError

        files, chosen = files_of(self.nodes, self.edges), self._chosen()
        if not files and chosen:
            raise InputError(
                f"--{next(iter(chosen)).replace('_', '-')}",
                "is about tables, and there are none",
                way_out="give them with --nodes and --edges",
            )
        if not files:
            return None
        if "split_column" in chosen:
            chosen["split"] = chosen.pop("split_column")
        for lists in ("features", "unlabeled"):
            if lists in chosen:
                chosen[lists] = _names(chosen[lists])
        return OwnGraph(files, chosen, split_seed)

    def _chosen(self) -> dict[str, Any]:
        """Those about columns that are not as they are by default."""
        about_columns = [option for option in fields(self) if option.name not in ("nodes", "edges")]
        given = {option.name: getattr(self, option.name) for option in about_columns}
        return {o.name: given[o.name] for o in about_columns if given[o.name] != o.default}


def files_of(nodes: Path | None, edges: Path | None) -> dict[str, str]:
    """The files by what they are, without those that were not given.

    Raises:
        InputError: There are nodes in a table, and no edges.
    """
    if nodes is not None and edges is None:
        edges = _edges_of(nodes)
    return {what: str(path) for what, path in (("nodes", nodes), ("edges", edges)) if path}


def _edges_of(nodes: Path) -> Path | None:
    """The file of edges where there is one by custom; an npz file has its edges within."""
    from nodewise.data.sources.released import edges_beside, is_released
    from nodewise.errors import InputError

    if is_released(nodes):
        return edges_beside(nodes)
    if nodes.suffix == ".npz":
        return None
    raise InputError("--edges", "is missing beside --nodes", way_out="give the table of edges")


def _names(given: list[str]) -> list[str]:
    """`a,b` and `c` as three names."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `TableOptions`, which it takes as `tables`."""

    def run(**given: Any) -> None:
        own = {option.name: given.pop(option.name) for option in fields(TableOptions)}
        command(**given, tables=TableOptions(**own))

    hints = get_type_hints(TableOptions, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    more = [
        inspect.Parameter(
            option.name, keyword, default=option.default, annotation=hints[option.name]
        )
        for option in fields(TableOptions)
    ]
    whole = inspect.signature(command, eval_str=True)
    kept = [option for option in whole.parameters.values() if option.name != "tables"]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = whole.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    return run
