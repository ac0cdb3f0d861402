"""A suite: one of the paper's tables or figures, or a comparison of ours, as a TOML file.

Suites that need the same run share it: its record is in the table of the first of them. While it
is trained, its folder is `runs/DATASET/MODEL/VARIANT/seed-N`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from nodewise.errors import UnknownNameError
from nodewise.experiments.auto.candidates import is_auto
from nodewise.experiments.auto.clock import parse_budget
from nodewise.experiments.auto.job import AutoJob
from nodewise.experiments.runner import Job
from nodewise.runs.seeds import seed_folder
from nodewise.runs.sources import dataset_source

NAMES = (
    "main",
    "val100",
    "ablation",
    "matched",
    "neighbors",
    "unknowns",
    "loose",
    "splits",
    "fair",
    "lambda",
    "decay",
    "cost",
    "tsne",
    "peers",
    "minibatch",
)


@dataclass(frozen=True)
class Variant:
    """A recipe with changed settings, or on another split.

    Attributes:
        name: Its name in keys of tables and in folders.
        recipe: The recipe.
        recipes: The recipes of models that have another; of `auto`, "auto".
        settings: Keys of the recipe that are different.
        of_datasets: Further such keys of single data sets.
        split: "public", "random", "few", "many", or None for the data set's default.
        stored: Data sets whose stored split of the seed's number is taken instead.
        per_seed: Whether each seed draws another split, none of them the default one.
        validation: Use only so many validation nodes; 0 for all.
        variation: What is changed about the graph, as fields of a `Variation`; where `node_order`
            is true, each seed has another order.
        models: The models it is for; none for all of the suite.
        datasets: The data sets it is for; none for all of the suite.
        of_models: Further settings by model and data set: what each chose for itself.
        title: Its title in tables and plots.
        budget: The time that `auto` may take for a run.
        budgets: That time on data sets that have another.
    """

    name: str
    recipe: str = "official"
    recipes: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    of_datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    split: str | None = None
    stored: Sequence[str] = ()
    per_seed: bool = False
    validation: int = 0
    variation: Mapping[str, Any] = field(default_factory=dict)
    models: Sequence[str] = ()
    datasets: Sequence[str] = ()
    of_models: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    title: str = ""
    budget: str = "5m"
    budgets: Mapping[str, str] = field(default_factory=dict)

    def recipe_of(self, model: str) -> str:
        """A model's recipe."""
        return self.recipes.get(model, self.recipe)

    def settings_of(self, dataset: str, model: str = "") -> dict[str, Any]:
        """The keys of the recipe that are different on a data set, for a model."""
        of_model = self.of_models.get(model, {}).get(dataset, {})
        return {**self.settings, **self.of_datasets.get(dataset, {}), **of_model}

    def budget_of(self, dataset: str) -> float:
        """The seconds that `auto` may take on a data set."""
        return parse_budget(self.budgets.get(dataset, self.budget))

    def source(self, dataset: str, seed: int) -> dict[str, Any]:
        """Graph and split of a run, as records have it."""
        if dataset in self.stored:
            return dataset_source(dataset, str(seed))
        split_seed = seed + 1 if self.per_seed else 0  # the default split may be that of seed 0
        order = {"node_order": seed + 1} if self.variation.get("node_order") else {}
        variation = {**self.variation, **order}
        return dataset_source(dataset, self.split, split_seed, self.validation, variation)


@dataclass(frozen=True)
class Pair:
    """Two models to compare seed by seed, or cost by cost.

    Attributes:
        model: A model.
        other: The one it is compared with.
        base: The base model whose distance from `model` the paper prints, if that is to be shown.
        under: The variant whose runs of `other` are taken; None for the one that `model` is under.
    """

    model: str
    other: str
    base: str | None = None
    under: str | None = None


@dataclass(frozen=True)
class Suite:
    """Runs of models on data sets under variants.

    Attributes:
        name: The suite's name.
        title: What it shows.
        paper: The paper's sentence about it.
        differs: Differences from the paper, of the released program or of ours.
        models: Models of the zoo.
        datasets: Data sets.
        runs: Seeds; where something is measured instead of trained, timed calls.
        runs_of: Seeds of data sets that have another number.
        variants: The variants that every model is run under, unless they name their models.
        pairs: Models to compare.
        papers_weight: The weight that the paper names, of a penalty whose weights are compared.
        peers: Models of which the best on a data set is compared with `auto`.
    """

    name: str
    title: str
    paper: str
    differs: str
    models: Sequence[str]
    datasets: Sequence[str]
    runs: int
    variants: Sequence[Variant] = (Variant("official"),)
    pairs: Sequence[Pair] = ()
    papers_weight: float = 1.0
    runs_of: Mapping[str, int] = field(default_factory=dict)
    peers: Sequence[str] = ()

    @classmethod
    def load(cls, name: str) -> Self:
        """The suite of that name.

        Raises:
            UnknownNameError: There is none.
        """
        if name not in NAMES:
            raise UnknownNameError("suite", name, NAMES)
        path = files("nodewise.experiments") / "paper" / f"{name}.toml"
        content = tomllib.loads(path.read_text("utf-8"))
        every = content.pop("every", {})
        named = content.pop("variants", [{"name": "official"}])
        variants = [Variant(**{**every, **kept}) for kept in named]
        pairs = [Pair(**kept) for kept in content.pop("pairs", [])]
        return cls(name, variants=variants, pairs=pairs, **content)

    def only(self, models: Sequence[str], datasets: Sequence[str], runs: int | None = None) -> Self:
        """A part of the suite; an empty list selects all.

        Raises:
            UnknownNameError: The suite has no such model or data set.
        """
        for kind, names, known in (
            ("model", models, self.models),
            ("dataset", datasets, self.datasets),
        ):
            for name in names:
                if name not in known:
                    raise UnknownNameError(f"{kind} of suite {self.name}", name, known)
        return replace(
            self,
            models=[name for name in self.models if not models or name in models],
            datasets=[name for name in self.datasets if not datasets or name in datasets],
            runs=runs or self.runs,
            runs_of={} if runs else self.runs_of,
        )

    def runs_on(self, dataset: str) -> int:
        """How many seeds a data set has."""
        return self.runs_of.get(dataset, self.runs)

    def cells(self) -> Iterator[tuple[str, str, Variant]]:
        """Data set, model and variant of every cell."""
        for dataset in self.datasets:
            for model in self.models:
                for variant in self.variants:
                    if (not variant.models or model in variant.models) and (
                        not variant.datasets or dataset in variant.datasets
                    ):
                        yield dataset, model, variant

    def jobs(self, results: Path, root: Path | None = None, device: str = "cpu") -> list[Job]:
        """All runs: one of every cell before any cell gets a second."""
        return [
            replace(job_of(results, *cell, seed), root=root, device=device)
            for seed in range(max(self.runs, *self.runs_of.values(), 0))
            for cell in self.cells()
            if seed < self.runs_on(cell[0])
        ]


@cache
def suites_of_cells() -> Mapping[tuple[str, str, str], str]:
    """By data set, model and variant, the first suite that has the cell: its table has the runs."""
    found: dict[tuple[str, str, str], str] = {}
    for name in NAMES:
        for dataset, model, variant in Suite.load(name).cells():
            found.setdefault((dataset, model, variant.name), name)
    return found


def run_folder(results: Path, dataset: str, model: str, variant: str, seed: int) -> Path:
    """Where a run is trained."""
    cell = results / "runs" / dataset / model.replace(":", "_") / variant
    return seed_folder(cell, seed)


def job_of(results: Path, dataset: str, model: str, variant: Variant, seed: int) -> Job:
    """One run of a cell."""
    recipe = variant.recipe_of(model)
    job = Job(
        variant.source(dataset, seed),
        model,
        seed,
        run_folder(results, dataset, model, variant.name, seed),
        recipe=recipe,
        settings=variant.settings_of(dataset, model),
    )
    return AutoJob(**vars(job), budget=variant.budget_of(dataset)) if is_auto(recipe) else job


def run_key(job: Job) -> tuple[str, str, str, int]:
    """The key of a suite's run: data set, model, variant and seed."""
    return str(job.dataset), job.model, job.folder.parent.name, job.seed
