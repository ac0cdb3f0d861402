"""`nodewise train --recipe auto`: model and settings are chosen first, with a progress line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nodewise.cli.options import option_of, with_options
from nodewise.cli.stopping import stopped
from nodewise.cli.tables import print_table
from nodewise.cli.training_graph import keys_of_graph, load_labels, print_engine
from nodewise.runs.interrupts import asking_to_stop
from nodewise.runs.progress import choosing_progress, duration

if TYPE_CHECKING:
    from nodewise.experiments.auto.selection import Choice, Selection
    from nodewise.experiments.train_request import TrainRequest
    from nodewise.runs.sources import TaskMaker
    from nodewise.runs.task import Task

_option = option_of("Choosing model and settings")
_OPTIONS: Final[Mapping[str, tuple[Any, Any]]] = {
    "budget": (
        Annotated[
            str | None,
            _option(
                "--budget",
                "The time that auto may take: 90s, 5m, 2h (default: 100s for fewer than 5,000 "
                "nodes and 100,000 edges, else 270s).",
            ),
        ],
        None,
    ),
    "refit": (
        Annotated[
            bool,
            _option("--refit/--no-refit", "Whether auto's model learns from validation nodes too."),
        ],
        True,
    ),
    "workers": (
        Annotated[
            int | None,
            _option(
                "--workers",
                "How many candidates auto trains side by side (default: by cores and edges).",
                min=1,
            ),
        ],
        None,
    ),
}


def with_auto_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options; it receives them as its argument `choosing`."""
    return with_options(command, "choosing", _OPTIONS)


def requested_task(
    request: TrainRequest,
    make: TaskMaker,
    folder: Path,
    target: Path,
    threads: int | None,
    quiet: bool,
) -> tuple[Task, dict[str, Any] | None]:
    """The task that a command line asks for, and the record of how it was chosen, if it was.

    Args:
        request: What to train.
        make: Makes tasks of the graph.
        folder: The folder of all runs.
        target: That of the first run.
        threads: The number of threads that the user has named, if any.
        quiet: Whether to print nothing.

    Raises:
        InputError: "auto" is to choose for a graph in files, or for several processes.
        RunError: A folder holds another run.
    """
    if request.is_auto:
        make.check_auto("--recipe")
    labels, graph = load_labels(make, threads, quiet)
    of_graph = keys_of_graph(labels, lambda keys: request.recipes(keys)[0], quiet)
    if not request.is_auto or graph is None:
        task = request.task(make, of_graph)
        print_engine(task, quiet)
        return task, None
    selection = request.selection(make, graph.data, folder, of_graph)
    choice, task = choose_run(selection, target, quiet)
    return task, choice.record


def choose_run(selection: Selection, target: Path, quiet: bool) -> tuple[Choice, Task]:
    """Choose, print the choice, and return the task of the run that goes to its folder.

    Args:
        selection: What is to be chosen.
        target: The folder of that run.
        quiet: Whether to print nothing.

    Raises:
        RunError: A folder holds another run.
    """
    choice, task = _choose(selection, target, quiet)
    if not quiet:
        _print_choice(choice.record)
        if selection.refit and task.refit is None:
            typer.echo("no time was left to train on validation nodes too; give a longer --budget")
    return choice, task


def _choose(selection: Selection, target: Path, quiet: bool) -> tuple[Choice, Task]:
    from nodewise.experiments.auto.selection import choose_into

    try:
        with asking_to_stop() as stop, choosing_progress(selection.budget, quiet) as show:
            return choose_into(target, selection, show, stop)
    except KeyboardInterrupt:  # printed when the bar is gone: on its line it would follow the bar
        folder = selection.folder
        raise stopped(
            f"stopped while choosing, all saved in {folder}; run the same command to continue"
        ) from None


def _print_choice(record: Mapping[str, Any]) -> None:
    tried = [*record["controls"], *record["candidates"]]
    columns = ("candidate", "model", f"val {record['metric']}", "epochs", "s", "")
    print_table(columns, [_row(about) for about in tried if about["epochs"]])
    for about in tried:
        if not about["epochs"] and "time" not in about["outcome"]:
            typer.echo(f"left out: {about['name']} ({about['model']}): {about['outcome']}")
    untried = sum("time" in about["outcome"] for about in tried)
    if untried:
        typer.echo(f"not tried in {duration(record['budget'])}: {untried} more")
    for sentence in record["sentences"]:
        typer.echo(sentence)


def _row(about: Mapping[str, Any]) -> list[str]:
    score = "-" if about["val_score"] is None else f"{about['val_score']:.3f}"
    cost = (str(about["epochs"]), f"{about['seconds']:.1f}")
    return [about["name"], about["model"], score, *cost, about["outcome"]]
