"""Mean accuracies of a suite's models, a column for each data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, stdev

from nodewise.experiments.records import CellRuns, SuiteRuns
from nodewise.experiments.suite import Variant
from nodewise.report.suite_sections.section import Table, TableCell, runs_cell


def mean_text(runs: CellRuns, figure: str = "test_accuracy") -> str:
    """The mean of a figure in percent, with the deviation if there are several runs."""
    values = [100 * record[figure] for record in runs.records]
    if not values:
        return "missing"
    return f"{fmean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def mean_shown(runs: SuiteRuns, dataset: str, model: str, variant: Variant) -> TableCell:
    """The mean of a cell."""
    cell = runs.cell(dataset, model, variant.name)
    return runs_cell(mean_text(cell), cell, runs.suite.runs_on(dataset))


def mean_table(
    runs: SuiteRuns,
    variant: Variant,
    names: Callable[[str], str] = str,
    models: Sequence[str] | None = None,
) -> Table:
    """A row for each model.

    Args:
        runs: The suite's runs.
        variant: Of which variant.
        names: What a model is called.
        models: Which models; all of the suite's if not given.
    """
    suite = runs.suite
    title = f"accuracy, % ({variant.title})" if variant.title else "accuracy, %"
    rows = [
        (names(model), [mean_shown(runs, d, model, variant) for d in suite.datasets])
        for model in models or suite.models
    ]
    return Table((title, *suite.datasets), rows)
