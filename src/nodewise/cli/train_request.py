"""`TrainRequest`: the model, the recipe and the graph that a command line names for training."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from nodewise.cli.choosing import choose_run
from nodewise.cli.graph_options import name_of
from nodewise.cli.options import set_threads_for
from nodewise.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nodewise.data.graph import GraphTable
    from nodewise.experiments.candidates import CandidateSet
    from nodewise.runs.run import Task
    from nodewise.runs.task import TaskMaker
    from nodewise.training.engines.resources import Resources
    from nodewise.training.processes import Processes
    from nodewise.training.recipe import Recipe

_MODEL = "LGCN"
_MANY_EDGES = 2_000_000


@dataclass(frozen=True)
class AutoOptions:
    """How `--recipe auto` chooses.

    Attributes:
        budget: The time it may take, such as "5m"; None decides by the graph's size.
        workers: How many candidates are trained side by side; None decides by cores and edges.
        refit: Whether the chosen model learns from validation nodes too.
    """

    budget: str | None = None
    workers: int | None = None
    refit: bool = True

    def __post_init__(self) -> None:
        if self.budget is not None:
            from nodewise.experiments.clock import parse_budget

            parse_budget(self.budget)  # a wrong one should not wait for a graph to load

    def seconds(self, graph: GraphTable) -> float:
        """The budget in seconds."""
        from nodewise.experiments.clock import seconds_of

        sizes = int(graph.data.num_nodes), int(graph.data.edge_index.size(1))
        return seconds_of(self.budget, *sizes)

    def side_by_side(self, edges: int) -> int:
        """How many candidates are trained side by side; a large graph wants all cores for one."""
        return self.workers or (min(os.cpu_count() or 1, 4) if edges < _MANY_EDGES else 1)


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
    return keys_of_labels(graph.data.y.numpy(), graph.data.get("class_names"), load, quiet)


def keys_of_labels(
    y: NDArray[np.int64],
    class_names: Sequence[str] | None,
    load: Callable[[Mapping[str, Any]], Recipe],
    quiet: bool,
) -> dict[str, Any]:
    """As `keys_of_graph`, from the labels of any graph of a user's."""
    from nodewise.training.metrics import default_metric

    default = default_metric(y, class_names)
    of_graph = {"metric": default.metric}
    if not default.reason or load(of_graph).stopping.metric != default.metric:
        return {}
    if not quiet:
        typer.echo(f"metric    {default.reason}; --metric says otherwise")
    return of_graph


def tell_engine(task: Task, quiet: bool) -> None:
    """Print a line that says why a task is trained by mini-batches, if that was decided here.

    Raises:
        InputError: The engine that was asked for cannot train this model.
    """
    reason = task.engine_choice.reason
    if reason and not quiet:
        typer.echo(f"engine    {reason}")


@dataclass(frozen=True)
class TrainRequest:
    """What to train.

    Attributes:
        source: Where the graph comes from, for `load_source`.
        model: The model's name; None takes the default one, or with `auto` the best.
        asked_recipe: The recipe's name or path, or `auto`; None takes `auto` for a graph of the
            user's own, else `nodewise`.
        settings: Keys of the recipe to override, as `KEY=VALUE`.
        seed: The (first) seed.
        root: The folder of raw files.
        device: Where to compute.
        auto: How `auto` chooses.
        resources: With what it is trained.
    """

    source: Mapping[str, Any]
    model: str | None
    asked_recipe: str | None
    settings: tuple[str, ...]
    seed: int
    root: Path | None = None
    device: str = "cpu"
    auto: AutoOptions = AutoOptions()
    resources: Resources | None = None

    @property
    def recipe(self) -> str:
        """The recipe's name or path, or `auto`, which one process alone can follow."""
        alone = os.environ.get("WORLD_SIZE", "1") == "1"
        return self.asked_recipe or ("auto" if "files" in self.source and alone else "nodewise")

    @property
    def processes(self) -> Processes:
        """The processes that train together."""
        from nodewise.training.processes import Processes

        return Processes() if self.resources is None else self.resources.processes

    @property
    def name(self) -> str:
        """The name of the folder of its runs."""
        model = self.model or ("" if self.candidate_set else _MODEL)
        parts = (name_of(self.source), model.replace(":", "_"), Path(self.recipe).stem)
        return "-".join(part for part in parts if part)

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The overridden keys with their values."""
        from nodewise.training.recipe import parse_settings

        return parse_settings(self.settings)

    @cached_property
    def candidate_set(self) -> CandidateSet | None:
        """The candidates of `auto`; None where the recipe is given."""
        from nodewise.experiments.candidates import CandidateSet, is_auto

        return CandidateSet.load().of_model(self.model) if is_auto(self.recipe) else None

    def recipes(self, of_graph: Mapping[str, Any] | None = None) -> list[Recipe]:
        """All recipes that may be used; a wrong flag should not wait for a graph to load.

        Args:
            of_graph: Keys that the graph decides, once it is loaded.

        Raises:
            RecipeError: A key or a value is not known.
            UnknownNameError: There is no such recipe or model.
        """
        from nodewise.experiments.candidates import AUTO
        from nodewise.training.recipe import load_recipe, recipe_path

        candidate_set, dataset = self.candidate_set, self.source.get("dataset")
        if candidate_set is None:
            recipe_path(self.recipe, also=(AUTO,))
            model = self.model or _MODEL
            return [load_recipe(self.recipe, model, dataset, self.fixed, of_graph)]
        fixed = {**(of_graph or {}), **self.fixed}
        return [candidate_set.recipe(one, dataset, fixed) for one in candidate_set.candidates]

    @property
    def make(self) -> TaskMaker:
        """Makes tasks of the graph, also in other processes."""
        from nodewise.runs.task import TaskMaker

        return TaskMaker(self.source, self.root, self.device)

    def prepared(
        self, folder: Path, target: Path, quiet: bool, fixed_threads: bool
    ) -> tuple[Task, dict[str, Any] | None]:
        """Load the graph; the task, and the record of how it was chosen, if it was.

        Args:
            folder: The folder of all runs.
            target: That of the first run.
            quiet: Whether to print nothing.
            fixed_threads: Whether the number of threads has been chosen already.
        """
        if "store" in self.source:
            return self._stored(quiet), None
        return self.task(self.load(quiet, fixed_threads), folder, target, quiet)

    def _stored(self, quiet: bool) -> Task:
        """The task of a graph in files."""
        from nodewise.data.store import GraphStore
        from nodewise.runs.stored_task import stored_task

        if self.candidate_set is not None:
            raise InputError(
                "--recipe",
                "'auto' needs the graph in memory",
                way_out="name a recipe, such as nodewise, or the tables with --nodes and --edges",
            )
        store = GraphStore.open(self.source["store"])
        if not quiet:
            typer.echo(str(store))
        labels = (np.asarray(store.y), store.classes)
        keys = keys_of_labels(*labels, lambda keys: self.recipes(keys)[0], quiet)
        model = self.model or _MODEL
        task: Task = stored_task(self.source, model, self.recipes(keys)[0], self.device)
        task = task if self.resources is None else replace(task, resources=self.resources)
        tell_engine(task, quiet)
        return task

    def load(self, quiet: bool, fixed_threads: bool) -> GraphTable:
        """Load the graph, and print its summary.

        Args:
            quiet: Whether to print nothing.
            fixed_threads: Whether the number of threads has been chosen already.
        """
        graph = self.make.graph
        if "files" in graph.source and not quiet:
            typer.echo(str(graph.summary))
        if not fixed_threads:
            set_threads_for(graph.data.edge_index.size(1))
        return graph

    def task(
        self, graph: GraphTable, folder: Path, target: Path, quiet: bool
    ) -> tuple[Task, dict[str, Any] | None]:
        """The task, and the record of how it was chosen, if it was.

        Args:
            graph: What `load` returned.
            folder: The folder of all runs.
            target: That of the first run.
            quiet: Whether to print nothing.
        """
        from nodewise.experiments.selection import Selection

        of_graph = keys_of_graph(graph, lambda keys: self.recipes(keys)[0], quiet)
        candidate_set = self.candidate_set
        if candidate_set is None:
            (recipe,) = self.recipes(of_graph)
            task = self.make(self.model or _MODEL, recipe)
            task = task if self.resources is None else replace(task, resources=self.resources)
            tell_engine(task, quiet)
            return task, None
        if self.processes.count > 1:
            raise InputError(
                "--recipe",
                "'auto' trains models one after the other, which processes cannot share",
                way_out="name a recipe, such as nodewise",
            )
        workers = self.auto.side_by_side(graph.data.edge_index.size(1))
        dataset, fixed = self.source.get("dataset"), {**of_graph, **self.fixed}
        how = (self.auto.seconds(graph), workers, self.auto.refit)
        selection = Selection(folder, self.make, self.seed, dataset, fixed, candidate_set, *how)
        choice, task = choose_run(selection, target, quiet)
        return task, choice.record
