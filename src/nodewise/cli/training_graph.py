"""The graph that a command trains on: loaded, summarized, and the keys of a recipe it decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from nodewise.cli.options import set_threads_for
from nodewise.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nodewise.data.graph import GraphTable
    from nodewise.experiments.train_request import TrainRequest
    from nodewise.runs.run import Task
    from nodewise.runs.stored_task import StoredTask
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


def task_of_store(request: TrainRequest, make: TaskMaker, quiet: bool) -> StoredTask:
    """The task of a graph in files, of which only a line is printed.

    Args:
        request: What to train.
        make: Makes tasks of the graph.
        quiet: Whether to print nothing.

    Raises:
        InputError: The recipe "auto" is to choose.
    """
    from nodewise.data.store import GraphStore
    from nodewise.runs.stored_task import stored_task

    if request.is_auto:
        raise InputError(
            "--recipe",
            "'auto' needs the graph in memory",
            way_out="name a recipe, such as nodewise, or the tables with --nodes and --edges",
        )
    store = GraphStore.open(make.source["store"])
    if not quiet:
        typer.echo(str(store))
    labels = (np.asarray(store.y), store.classes)
    keys = _keys_of_labels(*labels, lambda keys: request.recipes(keys)[0], quiet)
    (recipe,) = request.recipes(keys)
    return stored_task(make.source, str(request.model_name), recipe, make.device)


def show_engine(task: Task, quiet: bool) -> None:
    """Print a line that says why a task is trained by mini-batches, if that was decided here.

    Raises:
        InputError: The engine that was asked for cannot train this model.
    """
    reason = task.engine_choice.reason
    if reason and not quiet:
        typer.echo(f"engine    {reason}")


def keys_of_graph(
    graph: GraphTable, load: Callable[[Mapping[str, Any]], Recipe], quiet: bool
) -> dict[str, Any]:
    """The keys of a recipe that a user's tables decide, printed with the reason: the metric.

    Args:
        graph: The graph.
        load: Loads the recipe from keys that the graph decides; recipe and user go before them.
        quiet: Whether to print nothing.
    """
    if "files" not in graph.source:
        return {}
    return _keys_of_labels(graph.data.y.numpy(), graph.data.get("class_names"), load, quiet)


def _keys_of_labels(
    y: NDArray[np.int64],
    class_names: Sequence[str] | None,
    load: Callable[[Mapping[str, Any]], Recipe],
    quiet: bool,
) -> dict[str, Any]:
    from nodewise.training.metrics import default_metric

    default = default_metric(y, class_names)
    of_graph = {"metric": default.metric}
    if not default.reason or load(of_graph).stopping.metric != default.metric:
        return {}
    if not quiet:
        typer.echo(f"metric    {default.reason}; --metric says otherwise")
    return of_graph
