"""What a command line asks to be trained: a model with a recipe on a graph, or the best of some."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nodewise.cli.choosing import choose_run
from nodewise.cli.options import set_threads_for

if TYPE_CHECKING:
    from nodewise.cli.chosen_graph import ChosenGraph
    from nodewise.experiments.candidates import CandidateSet
    from nodewise.experiments.trial import MakeTask
    from nodewise.runs.run import Task
    from nodewise.training.recipe import Recipe

_MODEL = "LGCN"


@dataclass(frozen=True)
class TrainRequest:
    """What to train.

    Attributes:
        graph: On what.
        model: The model's name; None takes the usual one, or with `auto` the best.
        recipe: The recipe's name or path, or `auto`.
        settings: Keys of the recipe to override, as `KEY=VALUE`.
        seed: The (first) seed.
    """

    graph: ChosenGraph
    model: str | None
    recipe: str
    settings: tuple[str, ...]
    seed: int

    @property
    def name(self) -> str:
        """What to call the folder of its runs."""
        model = self.model or ("" if self.candidate_set else _MODEL)
        parts = (self.graph.name, model.replace(":", "_"), Path(self.recipe).stem)
        return "-".join(part for part in parts if part)

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The keys that are set."""
        from nodewise.training.recipe import parse_settings

        return parse_settings(self.settings)

    @cached_property
    def candidate_set(self) -> CandidateSet | None:
        """Whom to choose from; None where the recipe is given."""
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

        candidate_set, dataset = self.candidate_set, self.graph.dataset
        if candidate_set is None:
            recipe_path(self.recipe, also=(AUTO,))
            return [load_recipe(self.recipe, self.model or _MODEL, dataset, self.fixed)]
        return [candidate_set.recipe(one, dataset, self.fixed) for one in candidate_set.candidates]

    def load(self, root: Path | None, device: str, quiet: bool, own_threads: bool) -> MakeTask:
        """Load the graph, tell what was read, and give what makes tasks of it."""
        from nodewise.runs.task import make_task

        loaded, source = self.graph.load(root)
        if loaded.told and not quiet:
            typer.echo(loaded.told)
        if not own_threads:
            set_threads_for(loaded.data.edge_index.size(1))
        return lambda model, recipe: make_task(loaded, source, model, recipe, device)

    def task(
        self, make: MakeTask, folder: Path, target: Path, quiet: bool
    ) -> tuple[Task, dict[str, Any] | None]:
        """What to train, and how it was chosen, if it was.

        Args:
            make: What `load` gave.
            folder: The folder of all runs.
            target: That of the first one; a chosen run is put there, finished.
            quiet: Whether to show and tell nothing.
        """
        from nodewise.experiments.choice import Selection

        candidate_set = self.candidate_set
        if candidate_set is None:
            (recipe,) = self.recipes()
            return make(self.model or _MODEL, recipe), None
        selection = Selection(
            folder, make, self.seed, self.graph.dataset, self.fixed, candidate_set
        )
        choice = choose_run(selection, target, quiet)
        return choice.chosen.task(), choice.record
