"""Pairs of models, seed by seed: their differences with 95 % intervals, and each one's mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodewise.experiments.published import published
from nodewise.experiments.records import SuiteRuns, suite_runs
from nodewise.experiments.suite import Pair, Suite, Variant
from nodewise.report.means import mean_table
from nodewise.report.pair_plot import differences
from nodewise.report.paired import Difference, paired_difference
from nodewise.report.section import MISSING, Section, Shown, Table

Found = dict[str, dict[str, Difference]]


def pair_section(results: Path, suite: Suite) -> Section:
    """A table of differences, one of means for each variant, and a plot of the differences.

    Args:
        results: The folder of records.
        suite: A suite with pairs.
    """
    runs = suite_runs(results, suite)
    found = _differences(runs)
    printed = {} if not any(pair.base for pair in suite.pairs) else _printed(suite)
    known = {row: value for row, value in printed.items() if row in found}
    return Section(
        suite,
        runs.there,
        runs.wanted,
        [_table(runs), *(mean_table(runs, variant) for variant in suite.variants)],
        "Mean difference in test accuracy, in points, over seeds that both models have, and its "
        "95 % interval by Student's t; clear: zero is outside of it. Below, each model's mean.",
        differences(found, known) if found else None,
        "Filled marks: our mean differences with 95 % intervals; small dots: single seeds. "
        "An interval that leaves the picture is one of two or three pairs."
        + (" Hollow diamonds: localized minus base model as the paper prints them." * bool(known)),
        {row: {name: vars(one) for name, one in of_row.items()} for row, of_row in found.items()},
        runs.refused,
    )


def _row(dataset: str, pair: Pair) -> str:
    return f"{dataset}: {pair.model} - {pair.beside}"


def _difference(runs: SuiteRuns, dataset: str, pair: Pair, variant: Variant) -> Difference | None:
    one = runs.cell(dataset, pair.model, variant.name).records
    other = runs.cell(dataset, pair.beside, variant.name).records
    return paired_difference(one, other, "test_accuracy")


def _differences(runs: SuiteRuns) -> Found:
    """Those that can be told, by row and by the variant's title."""
    found: Found = {}
    for dataset in runs.suite.datasets:
        for pair in runs.suite.pairs:
            for variant in runs.suite.variants:
                one = _difference(runs, dataset, pair, variant)
                if one is not None:
                    found.setdefault(_row(dataset, pair), {})[variant.title] = one
    return found


def _printed(suite: Suite) -> dict[str, float]:
    """The paper's distances between a model and its base, as fractions."""
    table: dict[str, Any] = published()["main"]
    return {
        _row(dataset, pair): (
            table[pair.model][dataset]["accuracy"][0] - table[pair.base][dataset]["accuracy"][0]
        )
        / 100
        for dataset in suite.datasets
        for pair in suite.pairs
        if pair.base is not None
    }


def _table(runs: SuiteRuns) -> Table:
    suite = runs.suite
    rows = [
        (_row(dataset, pair), [_cell(runs, dataset, pair, variant) for variant in suite.variants])
        for dataset in suite.datasets
        for pair in suite.pairs
    ]
    return Table(("difference", *(variant.title for variant in suite.variants)), rows)


def _cell(runs: SuiteRuns, dataset: str, pair: Pair, variant: Variant) -> Shown:
    one = _difference(runs, dataset, pair, variant)
    if one is None:
        return MISSING
    paths = [
        path
        for model in (pair.model, pair.beside)
        for path in runs.cell(dataset, model, variant.name).paths
    ]
    return Shown(str(one), paths, one.pairs, runs.suite.runs, "pairs")
