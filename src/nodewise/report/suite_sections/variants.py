"""What a change of the graph or of the recipe does: a column for each variant, beside the paper."""

from __future__ import annotations

from pathlib import Path

from nodewise.experiments.published import published
from nodewise.experiments.records import SuiteRuns, suite_runs
from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.means import mean_shown
from nodewise.report.suite_sections.section import Section, Table, TableCell


def variants_section(results: Path, suite: Suite) -> Section:
    """A table for each data set, with a row for each model."""
    runs = suite_runs(results, suite)
    return Section(
        suite,
        runs.count,
        runs.wanted,
        [_table(runs, dataset) for dataset in suite.datasets],
        "Means of test accuracies in percent with their deviations over runs. A dash: the "
        "change does not concern the model.",
        data=_data(runs),
        refused=runs.refused,
        notes=runs.notes,
    )


def _data(runs: SuiteRuns) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Test accuracies by variant, data set and model."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for (dataset, model, variant), cell in runs.cells.items():
        values = [record["test_accuracy"] for record in cell.records]
        found.setdefault(variant, {}).setdefault(dataset, {})[model] = values
    return found


def _table(runs: SuiteRuns, dataset: str) -> Table:
    variants = runs.suite.variants
    rows = [(model, _cells(runs, dataset, model)) for model in runs.suite.models]
    return Table((dataset, "paper", *(variant.title for variant in variants)), rows)


def _cells(runs: SuiteRuns, dataset: str, model: str) -> list[TableCell]:
    mean, spread = published()["main"][model][dataset]["accuracy"]
    ours = [
        mean_shown(runs, dataset, model, variant)
        if (dataset, model, variant.name) in runs.cells
        else TableCell("-")
        for variant in runs.suite.variants
    ]
    return [TableCell(f"{mean:.1f} ± {spread:.1f}"), *ours]
