"""Figure 2: accuracies with both levels, one of them, and none."""

from __future__ import annotations

from pathlib import Path

from nodewise.experiments.published import published
from nodewise.experiments.records import SuiteRuns, suite_runs
from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.means import mean_table
from nodewise.report.suite_sections.section import Section
from nodewise.report.suite_sections.suite_plots import Forms, ablation

# What the zoo's tags mean: `LGCN:node` is LGCN with its node level alone.
_FORMS = {"global": "global only", "node": "node level", "edge": "edge level", "": "both levels"}


def ablation_section(results: Path, suite: Suite) -> Section:
    """A row for each model and form, and a panel for each data set."""
    runs = suite_runs(results, suite)
    return Section(
        suite,
        runs.count,
        runs.wanted,
        [mean_table(runs, suite.variants[0], _name)],
        "Ours ± deviation over runs.",
        ablation(_by_form(runs), _printed(suite)) if runs.count else None,
        "Filled marks: our means with deviations. Hollow diamonds: what the paper's Table 2 prints "
        "for both levels; its Figure 2 has no numbers for the others.",
        _data(runs),
        runs.refused,
        runs.notes,
    )


def _name(model: str) -> str:
    family, _, tag = model.partition(":")
    return f"{family}, {_FORMS[tag]}"


def _by_form(runs: SuiteRuns) -> dict[str, dict[str, Forms]]:
    """Records by data set, family and form."""
    found: dict[str, dict[str, Forms]] = {}
    for (dataset, model, _), cell in runs.cells.items():
        family, _, tag = model.partition(":")
        found.setdefault(dataset, {}).setdefault(family, {})[_FORMS[tag]] = cell.records
    return found


def _printed(suite: Suite) -> dict[str, dict[str, float]]:
    """The paper's accuracies with both levels, in percent."""
    table = published()["main"]
    return {
        dataset: {
            model: table[model][dataset]["accuracy"][0] for model in suite.models if model in table
        }
        for dataset in suite.datasets
    }


def _data(runs: SuiteRuns) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for (dataset, model, _), cell in runs.cells.items():
        values = [record["test_accuracy"] for record in cell.records]
        found.setdefault(model, {})[dataset] = values
    return found
