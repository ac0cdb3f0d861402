"""The graph that a command trains on: loaded, summarized, and the keys of a recipe it decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer

from nodewise.cli.options import set_threads_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nodewise.data.graph import GraphTable
    from nodewise.runs.sources import TaskMaker
    from nodewise.runs.task import Task
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


class GraphLabels(NamedTuple):
    """The labels of a graph, and what they decide about a recipe.

    Attributes:
        y: Class numbers, -1 where there is no label.
        class_names: A name for each class, if there are any.
        is_users: Whether the graph is the user's, and no data set.
    """

    y: NDArray[np.int64]
    class_names: Sequence[str] | None
    is_users: bool


def load_labels(
    make: TaskMaker, threads: int | None, quiet: bool
) -> tuple[GraphLabels, GraphTable | None]:
    """The labels of a graph, and the graph, unless it stays in files; prints its summary.

    Args:
        make: Makes tasks of the graph.
        threads: The number of threads that the user has named, if any.
        quiet: Whether to print nothing.
    """
    if "store" in make.source:
        from nodewise.data.stores.store import GraphStore

        store = GraphStore.open(make.source["store"])
        if not quiet:
            typer.echo(str(store))
        return GraphLabels(np.asarray(store.y), store.classes, is_users=True), None
    graph = load_graph(make, threads, quiet)
    return labels_of(graph), graph


def labels_of(graph: GraphTable) -> GraphLabels:
    """The labels of a graph in memory."""
    names = graph.data.get("class_names")
    return GraphLabels(graph.data.y.numpy(), names, "files" in graph.source)


def print_engine(task: Task, quiet: bool) -> None:
    """Print a line that says why a task is trained by mini-batches, if that was decided here.

    Raises:
        InputError: The engine that was asked for cannot train this model.
    """
    reason = task.engine_choice.reason
    if reason and not quiet:
        typer.echo(f"engine    {reason}")


def keys_of_graph(
    labels: GraphLabels, load: Callable[[Mapping[str, Any]], Recipe], quiet: bool
) -> dict[str, Any]:
    """The keys of a recipe that a user's tables decide, printed with the reason: the metric.

    Args:
        labels: The graph's labels.
        load: Loads the recipe with keys that the graph decides; recipe and user override them.
        quiet: Whether to print nothing.
    """
    from nodewise.training.metrics import default_metric

    if not labels.is_users:
        return {}
    default = default_metric(labels.y, labels.class_names)
    of_graph = {"metric": default.metric}
    if not default.reason or load(of_graph).stopping.metric != default.metric:
        return {}
    if not quiet:
        typer.echo(f"metric    {default.reason}; --metric says otherwise")
    return of_graph
