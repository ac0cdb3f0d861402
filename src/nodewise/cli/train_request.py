"""`TrainRequest`: the model, the recipe and the graph that a command line names for training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nodewise.cli.choosing import choose_run
from nodewise.cli.graph_options import name_of
from nodewise.cli.options import set_threads_for

if TYPE_CHECKING:
    from nodewise.experiments.candidates import CandidateSet
    from nodewise.experiments.trial import MakeTask
    from nodewise.runs.run import Task
    from nodewise.training.recipe import Recipe

_MODEL = "LGCN"


@dataclass(frozen=True)
class TrainRequest:
    """What to train.

    Attributes:
        source: Where the graph comes from, for `load_source`.
        model: The model's name; None takes the default one, or with `auto` the best.
        recipe: The recipe's name or path, or `auto`.
        settings: Keys of the recipe to override, as `KEY=VALUE`.
        seed: The (first) seed.
    """

    source: Mapping[str, Any]
    model: str | None
    recipe: str
    settings: tuple[str, ...]
    seed: int

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

    def recipes(self) -> list[Recipe]:
        """All recipes that may be used; a wrong flag should not wait for a graph to load.

        Raises:
            RecipeError: A key or a value is not known.
            UnknownNameError: There is no such recipe or model.
        """
        from nodewise.experiments.candidates import AUTO
        from nodewise.training.recipe import load_recipe, recipe_path

        candidate_set, dataset = self.candidate_set, self.source.get("dataset")
        if candidate_set is None:
            recipe_path(self.recipe, also=(AUTO,))
            return [load_recipe(self.recipe, self.model or _MODEL, dataset, self.fixed)]
        return [candidate_set.recipe(one, dataset, self.fixed) for one in candidate_set.candidates]

    def load(self, root: Path | None, device: str, quiet: bool, fixed_threads: bool) -> MakeTask:
        """Load the graph, print its summary, and return a function that makes tasks of it.

        Args:
            root: The folder of raw files.
            device: Where to compute.
            quiet: Whether to print nothing.
            fixed_threads: Whether the number of threads has been chosen already.
        """
        from nodewise.runs.task import load_source, make_task

        graph = load_source(self.source, root)
        if "files" in graph.source and not quiet:
            typer.echo(str(graph.summary))
        if not fixed_threads:
            set_threads_for(graph.data.edge_index.size(1))
        return lambda model, recipe: make_task(graph, model, recipe, device)

    def task(
        self, make: MakeTask, folder: Path, target: Path, quiet: bool
    ) -> tuple[Task, dict[str, Any] | None]:
        """The task, and the record of how it was chosen, if it was.

        Args:
            make: What `load` returned.
            folder: The folder of all runs.
            target: That of the first run; a chosen run is copied there, finished.
            quiet: Whether to print nothing.
        """
        from nodewise.experiments.selection import Selection

        candidate_set = self.candidate_set
        if candidate_set is None:
            (recipe,) = self.recipes()
            return make(self.model or _MODEL, recipe), None
        selection = Selection(
            folder, make, self.seed, self.source.get("dataset"), self.fixed, candidate_set
        )
        choice = choose_run(selection, target, quiet)
        return choice.chosen.task(), choice.record
