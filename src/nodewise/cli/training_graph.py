"""The graph that a command trains on: loaded, summarized, and the keys of a recipe it decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from nodewise.cli.options import set_threads_for

if TYPE_CHECKING:
    from nodewise.data.graph import GraphTable
    from nodewise.runs.task import TaskMaker
    from nodewise.training.recipe import Recipe


def load_graph(make: TaskMaker, threads: int | None, quiet: bool) -> GraphTable:
    """Load the graph, print its summary, and choose the number of threads.

    Args:
        make: Makes tasks of the graph.
        threads: The number of threads that the user has named, if any.
        quiet: Whether to print nothing.
    """
    graph = make.graph
    print_summary(graph, quiet)
    set_threads_for(graph.data.edge_index.size(1), threads)
    return graph


def print_summary(graph: GraphTable, quiet: bool) -> None:
    """Print the summary of a graph that was read from the user's tables."""
    if "files" in graph.source and not quiet:
        typer.echo(str(graph.summary))


def keys_of_graph(
    graph: GraphTable, load: Callable[[Mapping[str, Any]], Recipe], quiet: bool
) -> dict[str, Any]:
    """The keys of a recipe that a user's tables decide, printed with the reason: the metric.

    Args:
        graph: The graph.
        load: Loads the recipe from keys that the graph decides; recipe and user go before them.
        quiet: Whether to print nothing.
    """
    from nodewise.training.metrics import default_metric

    if "files" not in graph.source:
        return {}
    default = default_metric(graph.data.y.numpy(), graph.data.get("class_names"))
    of_graph = {"metric": default.metric}
    if not default.reason or load(of_graph).stopping.metric != default.metric:
        return {}
    if not quiet:
        typer.echo(f"metric    {default.reason}; --metric says otherwise")
    return of_graph
