"""The candidates of `--recipe auto`, as data: models, settings, and how long they may train."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from nodewise.errors import UnknownNameError
from nodewise.training.recipe import Recipe, load_recipe

AUTO = "auto"


@dataclass(frozen=True)
class Candidate:
    """A model with settings to choose from.

    Attributes:
        name: Its name.
        model: A name of the zoo.
        settings: The keys in which it differs from the base recipe.
    """

    name: str
    model: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class CandidateSet:
    """The candidates of a selection, and how long they are trained.

    Attributes:
        base: The recipe that candidates differ from.
        first_round: Epochs that each of them is trained at first.
        survivors: How many are then trained to their end.
        every: Keys in which all of them differ from the base recipe.
        candidates: The candidates.
    """

    base: str
    first_round: int
    survivors: int
    every: Mapping[str, Any]
    candidates: tuple[Candidate, ...]

    @classmethod
    def load(cls) -> Self:
        """The candidates that come with nodewise."""
        path = files("nodewise.experiments") / "auto.toml"
        content = tomllib.loads(path.read_text("utf-8"))
        candidates = tuple(
            Candidate(name, keys.pop("model"), keys)
            for name, keys in content.pop("candidates").items()
        )
        return cls(**content, candidates=candidates)

    def of_model(self, model: str | None) -> Self:
        """The candidates of one model; None leaves all of them.

        Raises:
            UnknownNameError: There are none of that model.
        """
        if model is None:
            return self
        kept = tuple(candidate for candidate in self.candidates if candidate.model == model)
        if not kept:
            models = {candidate.model for candidate in self.candidates}
            raise UnknownNameError("recipe 'auto', model", model, models)
        return replace(self, candidates=kept)

    def recipe(self, candidate: Candidate, dataset: str | None, fixed: Mapping[str, Any]) -> Recipe:
        """A candidate's recipe; keys that the caller has fixed take precedence.

        Raises:
            RecipeError: A key or a value is not known.
        """
        settings = {**self.every, **candidate.settings, **fixed}
        recipe = load_recipe(self.base, candidate.model, dataset, settings)
        return replace(recipe, name=AUTO)

    @property
    def varied(self) -> list[str]:
        """The keys in which candidates differ."""
        return sorted({key for candidate in self.candidates for key in candidate.settings})

    def epochs(self, candidates: int, longest: int) -> int:
        """The epochs of all runs at most, with the counterpart of the chosen one."""
        first = min(self.first_round, longest)
        survivors = min(self.survivors, candidates)
        return candidates * first + survivors * (longest - first) + longest


def is_auto(recipe: str | Path) -> bool:
    """Whether a recipe is to be chosen."""
    return str(recipe) == AUTO
