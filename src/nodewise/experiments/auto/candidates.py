"""The candidates of `--recipe auto`, as data: models, settings, and the order of their training."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from nodewise.models.zoo import find_row, localized_forms
from nodewise.training.batching import Batching
from nodewise.training.recipe import Recipe, load_recipe

AUTO = "auto"
# Models that are trained at once have no batches.
_BATCHING = [field.name for field in fields(Batching)]


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

    def changed(self, name: str, settings: Mapping[str, Any], model: str | None = None) -> Self:
        """This candidate with other settings, or as another model."""
        model = model or self.model
        changed = {**self.settings, **settings}
        return replace(self, name=f"{self.name}, {name}", model=model, settings=changed)


@dataclass(frozen=True)
class CandidateSet:
    """The candidates of a selection, and the order in which they are trained.

    Attributes:
        base: The recipe that candidates differ from.
        rounds: After so many epochs the worse candidates leave.
        survivors: How many stay after each round.
        every: Keys in which all that are trained in epochs differ from the base recipe.
        candidates: The global models, cheap ones first.
        variations: Changes that are tried on the best global candidate, one at a time.
        localizations: Settings that are tried for its localized forms.
        controls: Rows of the zoo that are trained at once, for comparison.
    """

    base: str
    rounds: Sequence[int]
    survivors: Sequence[int]
    every: Mapping[str, Any]
    candidates: Sequence[Candidate]
    variations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    localizations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    controls: Sequence[str] = ()

    @classmethod
    def load(cls) -> Self:
        """The candidates that come with nodewise."""
        path = files(__package__) / "auto.toml"
        content = tomllib.loads(path.read_text("utf-8"))
        candidates = [
            Candidate(name, keys.pop("model"), keys)
            for name, keys in content.pop("candidates").items()
        ]
        return cls(**content, candidates=candidates)

    def of_model(self, model: str | None) -> Self:
        """The candidates of one model, without localized forms of it; None leaves all.

        Raises:
            UnknownNameError: There is no such model.
        """
        if model is None:
            return self
        find_row(model)
        known = [candidate for candidate in self.candidates if candidate.model == model]
        controls = [control for control in self.controls if control != model]
        candidates = known or [Candidate(model, model, {})]
        return replace(self, candidates=candidates, localizations={}, controls=controls)

    def recipe(self, candidate: Candidate, dataset: str | None, fixed: Mapping[str, Any]) -> Recipe:
        """A candidate's recipe; keys that the caller has fixed take precedence.

        Raises:
            RecipeError: A key or a value is not known.
        """
        every = self.every
        if find_row(candidate.model).is_trained_at_once:
            every, fixed = {}, {key: fixed[key] for key in fixed if key not in _BATCHING}
        settings = {**every, **candidate.settings, **fixed}
        recipe = load_recipe(self.base, candidate.model, dataset, settings)
        return replace(recipe, name=AUTO)

    def varied(self, best: Candidate) -> Iterator[Candidate]:
        """The best candidate with one change at a time."""
        for name, settings in self.variations.items():
            yield best.changed(name, settings)

    def localized(self, best: Candidate) -> Iterator[Candidate]:
        """The localized forms of a global candidate; none where the zoo has none."""
        for level, model in localized_forms(best.model).items():
            for name, settings in self.localizations.items():
                yield best.changed(f"localized at {level}, {name}", settings, model)


def is_auto(recipe: str | Path) -> bool:
    """Whether a recipe is to be chosen."""
    return str(recipe) == AUTO
