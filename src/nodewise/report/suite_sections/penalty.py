"""Accuracy over the weight of each penalty: Figure I, and the decay of a base model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodewise.experiments.published import published
from nodewise.experiments.records import SuiteRuns, suite_runs
from nodewise.experiments.suite import Suite, Variant
from nodewise.report.suite_sections.means import mean_shown, mean_table
from nodewise.report.suite_sections.section import Section, Table
from nodewise.report.suite_sections.suite_plots import Curves, penalty_curves
from nodewise.training.recipe import load_recipe


def penalty_section(results: Path, suite: Suite) -> Section:
    """A row for each weight of each penalty, one for each other model, a panel for each data set.

    Args:
        results: The folder of records.
        suite: A suite whose first model has penalties; the others are shown for comparison.
    """
    runs = suite_runs(results, suite)
    curves = {dataset: _curves(runs, dataset) for dataset in suite.datasets}
    plain = next(variant for variant in suite.variants if not variant.settings)
    levels = {
        dataset: {model: runs.cell(dataset, model, plain.name) for model in suite.models[1:]}
        for dataset in suite.datasets
    }
    return Section(
        suite,
        runs.count,
        runs.wanted,
        [
            *(_table(runs, key) for key in _penalties(suite)),
            mean_table(runs, plain, models=suite.models[1:]),
        ],
        "Ours ± deviation over runs, every other weight as in the official recipe.",
        penalty_curves(curves, levels, _printed(suite), suite.papers_weight)
        if runs.count
        else None,
        "Filled marks: our means with deviations. Lines without marks: other models, for "
        "comparison. The hollow diamond is what the paper's Table 2 prints, at the weight that the "
        "paper names.",
        {
            dataset: {
                key: {str(w): [r["test_accuracy"] for r in cell] for w, cell in line.items()}
                for key, line in of_dataset.items()
            }
            for dataset, of_dataset in curves.items()
        },
        runs.refused,
        runs.notes,
    )


def _penalties(suite: Suite) -> list[str]:
    """The keys of the recipe that the suite's variants change."""
    return list(dict.fromkeys(key for variant in suite.variants for key in variant.settings))


def _line(suite: Suite, key: str) -> list[Variant]:
    """The variants that change this key, and those that change nothing."""
    return [v for v in suite.variants if key in v.settings or not v.settings]


def _weight(suite: Suite, dataset: str, variant: Variant, key: str) -> float:
    recipe = load_recipe(variant.recipe, suite.models[0], dataset, variant.settings)
    return float(recipe.settings[key])


def _curves(runs: SuiteRuns, dataset: str) -> Curves:
    """Records by penalty and its weight."""
    suite = runs.suite
    return {
        key: {
            _weight(suite, dataset, v, key): runs.cell(dataset, suite.models[0], v.name).records
            for v in _line(suite, key)
        }
        for key in _penalties(suite)
    }


def _printed(suite: Suite) -> dict[str, float]:
    table: dict[str, Any] = published()["main"][suite.models[0]]
    return {dataset: table[dataset]["accuracy"][0] for dataset in suite.datasets}


def _table(runs: SuiteRuns, key: str) -> Table:
    suite, model = runs.suite, runs.suite.models[0]
    line = sorted(_line(suite, key), key=lambda v: _weight(suite, suite.datasets[0], v, key))
    rows = []
    for variant in line:
        shown = [mean_shown(runs, dataset, model, variant) for dataset in suite.datasets]
        rows.append((f"{_weight(suite, suite.datasets[0], variant, key):g}", shown))
    return Table((f"{key}, accuracy in %", *suite.datasets), rows)
