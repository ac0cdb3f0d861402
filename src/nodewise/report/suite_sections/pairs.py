"""Pairs of models, seed by seed: both means, and the differences with 95 % intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodewise.experiments.published import published
from nodewise.experiments.records import CellRuns, SuiteRuns, suite_runs
from nodewise.experiments.suite import Pair, Suite, Variant
from nodewise.report.suite_sections.means import mean_shown, mean_table
from nodewise.report.suite_sections.pair_plot import differences
from nodewise.report.suite_sections.paired import Difference, paired_difference, seed_and_split
from nodewise.report.suite_sections.section import MISSING, Section, Table, TableCell

Found = dict[str, dict[str, Difference]]


def pair_section(results: Path, suite: Suite) -> Section:
    """A table of pairs, one of means for each variant, and a plot of the differences.

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
        runs.count,
        runs.wanted,
        [_table(runs), *(mean_table(runs, variant) for variant in suite.variants)],
        "Accuracies in percent with their deviations over runs; mean differences in points over "
        "seeds that both models have, with a 95 % interval by Student's t; significant: the "
        "interval excludes zero. The other tables have each model's mean.",
        differences(found, known) if found else None,
        "Filled marks: our mean differences with 95 % intervals; small dots: single seeds. "
        "An arrow: the interval, of two or three pairs, is longer than the plot."
        + (" Hollow diamonds: localized minus base model as the paper prints them." * bool(known)),
        {row: {name: vars(one) for name, one in of_row.items()} for row, of_row in found.items()},
        runs.refused,
        runs.notes,
    )


def _row(suite: Suite, dataset: str, pair: Pair) -> str:
    under = "" if pair.under is None else f" with {_variant_of_other(suite, pair).title}"
    return f"{dataset}: {pair.model} - {pair.other}{under}"


def _variant_of_other(suite: Suite, pair: Pair, variant: Variant | None = None) -> Variant:
    """The variant of a pair's second model, while the first is under `variant`."""
    if pair.under is None:
        return variant or suite.variants[0]
    return next(known for known in suite.variants if known.name == pair.under)


def _both(runs: SuiteRuns, dataset: str, pair: Pair, variant: Variant) -> tuple[CellRuns, CellRuns]:
    """The runs of both models, the first of them under a variant."""
    under = _variant_of_other(runs.suite, pair, variant).name
    one = runs.cell(dataset, pair.model, variant.name)
    return one, runs.cell(dataset, pair.other, under)


def _difference(runs: SuiteRuns, dataset: str, pair: Pair, variant: Variant) -> Difference | None:
    one, other = _both(runs, dataset, pair, variant)
    return paired_difference(one.records, other.records, "test_accuracy")


def _differences(runs: SuiteRuns) -> Found:
    """Differences of at least two pairs of runs, by row and by the variant's title."""
    found: Found = {}
    for dataset in runs.suite.datasets:
        for pair in runs.suite.pairs:
            for variant in runs.suite.variants:
                one = _difference(runs, dataset, pair, variant)
                if one is not None:
                    found.setdefault(_row(runs.suite, dataset, pair), {})[variant.title] = one
    return found


def _printed(suite: Suite) -> dict[str, float]:
    """The paper's distances between a model and its base, as fractions."""
    table: dict[str, Any] = published()["main"]
    return {
        _row(suite, dataset, pair): (
            table[pair.model][dataset]["accuracy"][0] - table[pair.base][dataset]["accuracy"][0]
        )
        / 100
        for dataset in suite.datasets
        for pair in suite.pairs
        if pair.base is not None
    }


def _table(runs: SuiteRuns) -> Table:
    suite = runs.suite
    papers = ["paper"] if any(pair.base for pair in suite.pairs) else []
    rows = [
        (_row(suite, dataset, pair), [*_means(runs, dataset, pair), *_gaps(runs, dataset, pair)])
        for dataset in suite.datasets
        for pair in suite.pairs
    ]
    titles = (variant.title for variant in suite.variants)
    return Table(("pair", *papers, "first model", "second model", *titles), rows)


def _means(runs: SuiteRuns, dataset: str, pair: Pair) -> list[TableCell]:
    """The paper's mean where its base model is to be shown, and both of ours."""
    first = runs.suite.variants[0]
    ours = [
        mean_shown(runs, dataset, pair.model, first),
        mean_shown(runs, dataset, pair.other, _variant_of_other(runs.suite, pair, first)),
    ]
    if pair.base is None:
        return ours
    mean, spread = published()["main"][pair.model][dataset]["accuracy"]
    return [TableCell(f"{mean:.1f} ± {spread:.1f}"), *ours]


def _gaps(runs: SuiteRuns, dataset: str, pair: Pair) -> list[TableCell]:
    return [_cell(runs, dataset, pair, variant) for variant in runs.suite.variants]


def _cell(runs: SuiteRuns, dataset: str, pair: Pair, variant: Variant) -> TableCell:
    one = _difference(runs, dataset, pair, variant)
    if one is None:
        return MISSING
    both = _both(runs, dataset, pair, variant)
    shared = set.intersection(*(set(map(seed_and_split, cell.records)) for cell in both))
    lines = [line for cell in both for line in cell.lines if seed_and_split(line.record) in shared]
    return TableCell(str(one), lines, one.pairs, runs.suite.runs_on(dataset), "pairs")
