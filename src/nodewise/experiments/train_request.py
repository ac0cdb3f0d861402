"""`TrainRequest`: what to train, before there is a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.errors import RecipeError
from nodewise.experiments.auto.candidates import AUTO, CandidateSet, is_auto
from nodewise.experiments.auto.clock import parse_budget, seconds_of
from nodewise.experiments.auto.selection import Selection
from nodewise.experiments.auto.trial import MakeTask
from nodewise.runs.task import Factory, Task
from nodewise.training.recipe import Recipe, load_recipe, recipe_path

if TYPE_CHECKING:
    from torch_geometric.data import Data

MODEL = "LGCN"
_MANY_EDGES = 2_000_000


@dataclass(frozen=True)
class AutoOptions:
    """How the recipe "auto" chooses.

    Attributes:
        budget: The time it may take, such as "5m"; None decides by the graph's size.
        workers: How many candidates are trained side by side; None decides by cores and edges.
        refit: Whether the chosen model learns from validation nodes too.

    Raises:
        InputError: The budget is not a time.
    """

    budget: str | None = None
    workers: int | None = None
    refit: bool = True

    def __post_init__(self) -> None:
        if self.budget is not None:
            parse_budget(self.budget)

    def workers_for(self, num_edges: int) -> int:
        """How many candidates are trained side by side; on a large graph, one on all cores."""
        return self.workers or (min(os.cpu_count() or 1, 4) if num_edges < _MANY_EDGES else 1)


@dataclass(frozen=True)
class TrainRequest:
    """A model, a recipe and settings, as the command line, `nodewise.train` and estimators ask.

    Attributes:
        model: A name of the zoo, a function that builds the user's model, or None for LGCN, or
            with the recipe "auto" for the model that validation prefers.
        recipe: A recipe, its name or path, or "auto".
        settings: Keys of the recipe to override.
        seed: The (first) seed.
        dataset: The data set's name, for its table in the recipe; None for other graphs.
        auto: How the recipe "auto" chooses.

    Raises:
        RecipeError: The recipe "auto" is to choose settings of the user's model.
        UnknownNameError: There is no such recipe.
    """

    model: str | Factory | None
    recipe: str | Path | Recipe
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    dataset: str | None = None
    auto: AutoOptions = AutoOptions()

    def __post_init__(self) -> None:
        if not (self.is_auto or isinstance(self.recipe, Recipe)):
            recipe_path(self.recipe, also=(AUTO,))
        if self.is_auto and self.build is not None:
            raise RecipeError(
                "recipe", "'auto' is for models of the zoo", way_out="name another recipe"
            )

    @property
    def is_auto(self) -> bool:
        """Whether model and settings are chosen on validation nodes."""
        return not isinstance(self.recipe, Recipe) and is_auto(self.recipe)

    @property
    def build(self) -> Factory | None:
        """The function that builds the user's model; None for one of the zoo."""
        return None if self.model is None or isinstance(self.model, str) else self.model

    @property
    def model_name(self) -> str | None:
        """The model's name, for its records; None where "auto" chooses the model."""
        if self.build is not None:
            return f"{self.build.__module__}.{self.build.__qualname__}"
        return None if self.model is None and self.is_auto else str(self.model or MODEL)

    def recipes(self, of_graph: Mapping[str, Any] | None = None) -> list[Recipe]:
        """All recipes that may be used; a wrong setting is an error before a graph is loaded.

        Args:
            of_graph: Keys that the graph decides, once it is loaded.

        Raises:
            RecipeError: A key or a value is not known.
            UnknownNameError: There is no such model.
        """
        if not self.is_auto:
            model = None if self.build is not None else self.model_name
            return [load_recipe(self.recipe, model, self.dataset, self.settings, of_graph)]
        candidates, fixed = self._candidates(), {**(of_graph or {}), **self.settings}
        return [candidates.recipe(one, self.dataset, fixed) for one in candidates.candidates]

    def task(self, make: MakeTask, of_graph: Mapping[str, Any] | None = None) -> Task:
        """The task of training the named model.

        Args:
            make: Makes tasks of the graph.
            of_graph: As of `recipes`.
        """
        (recipe,) = self.recipes(of_graph)
        return make(str(self.model_name), recipe)

    def selection(
        self, make: MakeTask, data: Data, folder: Path, of_graph: Mapping[str, Any] | None = None
    ) -> Selection:
        """The choice that the recipe "auto" makes.

        Args:
            make: Makes tasks of the graph; with several workers it must be picklable.
            data: The graph.
            folder: The folder for `choice.json` and the candidates' runs.
            of_graph: As of `recipes`.
        """
        edges = int(data.edge_index.size(1))
        return Selection(
            folder,
            make,
            self.seed,
            self.dataset,
            {**(of_graph or {}), **self.settings},
            self._candidates(),
            seconds_of(self.auto.budget, int(data.num_nodes), edges),
            self.auto.workers_for(edges),
            self.auto.refit,
        )

    def _candidates(self) -> CandidateSet:
        return CandidateSet.load().of_model(self.model_name)
