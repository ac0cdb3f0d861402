"""`auto` beside models that others would use: means, and paired differences from the best."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from nodewise.experiments.auto.candidates import AUTO
from nodewise.experiments.records import SuiteRuns, suite_runs
from nodewise.experiments.suite import Suite, Variant
from nodewise.experiments.table import Line
from nodewise.report.suite_sections.means import mean_text
from nodewise.report.suite_sections.pair_plot import differences
from nodewise.report.suite_sections.paired import Difference, paired_difference
from nodewise.report.suite_sections.section import MISSING, Section, Table, TableCell, runs_cell
from nodewise.training.metrics import TITLES

# The rows of `auto`, by the prefix of their figures in a record: from before validation nodes are
# learned, too, if there was time for that.
_AUTO = {"": AUTO, "unrefit_": f"{AUTO}, training nodes only"}
_NOT_IN_SUITE = TableCell("-")


class BestPeer(NamedTuple):
    """A row of `auto` and the best of its peers, on a data set under a variant.

    Attributes:
        peer: The best peer.
        difference: By how much `auto` is better.
        lines: The records of both.
    """

    peer: str
    difference: Difference
    lines: list[Line]


def peers_section(results: Path, suite: Suite) -> Section:
    """A table of means for each variant, and one of `auto` minus the best of its peers.

    Args:
        results: The folder of records.
        suite: A suite with peers, and with `auto` among its models.
    """
    runs = suite_runs(results, suite)
    best_peers = {prefix: _best_peers(runs, prefix) for prefix in _AUTO}
    shown = _by_dataset(runs, best_peers[""])
    return Section(
        suite,
        runs.count,
        runs.wanted,
        [
            *(_means(runs, variant) for variant in suite.variants),
            *(_gaps(runs, best_peers[prefix], row) for prefix, row in _AUTO.items()),
        ],
        "Scores on test nodes in percent with their deviations over runs: accuracy, unless the "
        "column names another. Auto minus the best of "
        f"{', '.join(suite.peers)} in that column, by its mean on test nodes: mean differences in "
        "points over the same splits, with a 95 % interval by Student's t; significant: the "
        "interval excludes zero. The last row has the mean of its column, and how many "
        "differences are significant, for auto and against it.",
        differences(shown, {}) if shown else None,
        "Auto minus the best peer: mean differences with 95 % intervals; small dots: single "
        "splits. An arrow: the interval, of two or three pairs, is longer than the plot.",
        {variant.name: _data(runs, variant, best_peers) for variant in suite.variants},
        runs.refused,
        runs.notes,
    )


def _metric(dataset: str, variant: Variant) -> str:
    return str(variant.settings_of(dataset).get("metric", "accuracy"))


def _column(dataset: str, variant: Variant) -> str:
    metric = _metric(dataset, variant)
    return dataset if metric == "accuracy" else f"{dataset}, {TITLES[metric]}"


def _figure(dataset: str, variant: Variant, prefix: str = "") -> str:
    return f"{prefix}test_{_metric(dataset, variant)}"


def _rows(suite: Suite) -> list[tuple[str, str, str]]:
    """Title, model and prefix of every row of means."""
    others = [(model, model, "") for model in suite.models if model != AUTO]
    ours = [(row, AUTO, prefix) for prefix, row in _AUTO.items()]
    return [*others, *(ours if AUTO in suite.models else [])]


def _means(runs: SuiteRuns, variant: Variant) -> Table:
    models, datasets = variant.models or runs.suite.models, variant.datasets or runs.suite.datasets
    rows = [
        (title, [_mean(runs, dataset, model, variant, prefix) for dataset in datasets])
        for title, model, prefix in _rows(runs.suite)
        if model in models
    ]
    columns = (_column(dataset, variant) for dataset in datasets)
    return Table((f"test score, % ({variant.title})", *columns), rows)


def _mean(runs: SuiteRuns, dataset: str, model: str, variant: Variant, prefix: str) -> TableCell:
    cell = runs.cell(dataset, model, variant.name)
    text = mean_text(cell, _figure(dataset, variant, prefix))
    return runs_cell(text, cell, runs.suite.runs_on(dataset))


BestPeers = Mapping[tuple[str, str], BestPeer]


def _best_peers(runs: SuiteRuns, prefix: str) -> BestPeers:
    """By data set and variant, those with at least two pairs of runs."""
    suite = runs.suite
    pairs = ((dataset, variant) for dataset in suite.datasets for variant in suite.variants)
    best = {(dataset, v.name): _best_peer(runs, dataset, v, prefix) for dataset, v in pairs}
    return {key: one for key, one in best.items() if one is not None}


def _best_peer(runs: SuiteRuns, dataset: str, variant: Variant, prefix: str) -> BestPeer | None:
    figure = _figure(dataset, variant)
    cells = {peer: runs.cell(dataset, peer, variant.name) for peer in runs.suite.peers}
    means = {
        peer: fmean(record[figure] for record in cell.records)
        for peer, cell in cells.items()
        if cell.records
    }
    if not means:
        return None
    best = max(means, key=means.__getitem__)
    ours = runs.cell(dataset, AUTO, variant.name)
    scores = [{**record, figure: record[f"{prefix}{figure}"]} for record in ours.records]
    difference = paired_difference(scores, cells[best].records, figure)
    lines = [*ours.lines, *cells[best].lines]
    return None if difference is None else BestPeer(best, difference, lines)


def _by_dataset(runs: SuiteRuns, best_peers: BestPeers) -> dict[str, dict[str, Difference]]:
    """Differences by data set and the variant's title, as the plot takes them."""
    titles = {variant.name: variant.title for variant in runs.suite.variants}
    shown: dict[str, dict[str, Difference]] = {}
    for (dataset, variant), one in best_peers.items():
        shown.setdefault(dataset, {})[titles[variant]] = one.difference
    return shown


def _gaps(runs: SuiteRuns, best_peers: BestPeers, row: str) -> Table:
    variants = runs.suite.variants
    rows = [
        (dataset, [_gap(runs, dataset, variant, best_peers) for variant in variants])
        for dataset in runs.suite.datasets
    ]
    means = [TableCell(_summary(_of_variant(best_peers, variant))) for variant in variants]
    titles = (variant.title for variant in variants)
    return Table((f"{row}, minus the best peer", *titles), [*rows, ("mean", means)])


def _gap(runs: SuiteRuns, dataset: str, variant: Variant, best_peers: BestPeers) -> TableCell:
    if (dataset, AUTO, variant.name) not in runs.cells:
        return _NOT_IN_SUITE
    one = best_peers.get((dataset, variant.name))
    if one is None:
        return MISSING
    text, wanted = f"{one.difference}, {one.peer}", runs.suite.runs_on(dataset)
    return TableCell(text, one.lines, one.difference.pairs, wanted, "pairs")


def _of_variant(best_peers: BestPeers, variant: Variant) -> list[Difference]:
    return [one.difference for (_, name), one in best_peers.items() if name == variant.name]


def _summary(of_columns: list[Difference]) -> str:
    """The mean of differences, and how many are significant; a dash for none."""
    if not of_columns:
        return "-"
    mean = 100 * fmean(one.mean for one in of_columns)
    above, below = sum(one.low > 0 for one in of_columns), sum(one.high < 0 for one in of_columns)
    return f"{mean:+.1f} ({above} significant for auto, {below} against, of {len(of_columns)})"


def _data(runs: SuiteRuns, variant: Variant, best_peers: Mapping[str, BestPeers]) -> dict[str, Any]:
    """A variant in the object of `--json`: means by row and data set, and differences."""
    means: dict[str, dict[str, Any]] = {}
    for title, model, prefix in _rows(runs.suite):
        for dataset in runs.suite.datasets:
            figure = _figure(dataset, variant, prefix)
            records = runs.cell(dataset, model, variant.name).records
            values = [record[figure] for record in records]
            if values:
                spread = stdev(values) if len(values) > 1 else None
                about = {"mean": fmean(values), "std": spread, "runs": len(values)}
                cell = {**about, "metric": _metric(dataset, variant)}
                means.setdefault(title, {})[dataset] = cell
    return {
        "means": means,
        **{f"{row} minus best peer": _gap_data(best_peers[p], variant) for p, row in _AUTO.items()},
    }


def _gap_data(best_peers: BestPeers, variant: Variant) -> dict[str, Any]:
    here = {dataset: one for (dataset, name), one in best_peers.items() if name == variant.name}
    gaps = {dataset: {"peer": one.peer, **vars(one.difference)} for dataset, one in here.items()}
    mean = fmean(one.difference.mean for one in here.values()) if here else None
    return {"datasets": gaps, "mean": mean}
