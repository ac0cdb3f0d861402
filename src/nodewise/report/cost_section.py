"""Table II: what a model costs, beside the paper's numbers, and its ratio to the base model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nodewise.experiments.cost import cost_path, read_cost
from nodewise.experiments.published import published
from nodewise.experiments.records import mixed_versions
from nodewise.experiments.suite import Pair, Suite
from nodewise.report.cost_plot import Ratios, cost_ratios
from nodewise.report.section import MISSING, Section, Shown, Table, readable


class Measure(NamedTuple):
    """A column: its key in our records, its title, its key in the paper's table if it is there."""

    key: str
    title: str
    paper: str | None = None


MEASURES = (
    Measure("mflops", "operations, millions", "mflops"),
    Measure("mflops_sparse", "operations on sparse rows, millions"),
    Measure("train_ms", "training epoch, ms", "train_ms"),
    Measure("test_ms", "test pass, ms", "test_ms"),
    Measure("train_extra_mb", "memory of an epoch, MB"),
    Measure("test_extra_mb", "memory of a test pass, MB"),
)
Records = Mapping[tuple[str, str], Mapping[str, Any]]


def cost_section(results: Path, suite: Suite) -> Section:
    """A table of costs, one of ratios to the base model, and a plot of the ratios."""
    variants = {(dataset, model): variant for dataset, model, variant in suite.cells()}
    records, refused = readable(variants, lambda cell: read_cost(results, *cell, variants[cell]))
    ratios = {
        measure.title: _ratios(suite, records, measure)
        for measure in MEASURES
        if measure.key not in ("mflops_sparse", "test_extra_mb")
    }
    return Section(
        suite,
        len(records),
        len(variants),
        [_costs(results, suite, records), _table_of_ratios(results, suite, records)],
        "Ours (paper's). Ratios are localized to base model, and the paper's in brackets; those of "
        f"different machines can be compared, the numbers cannot. {_weather(records)}",
        cost_ratios(ratios, suite) if records else None,
        "Localized model against its base model, on a logarithmic scale. Filled marks: ours; "
        "hollow: the paper's, which has no memory. Operations are those of full rows.",
        {f"{dataset}/{model}": dict(record) for (dataset, model), record in records.items()},
        refused,
        mixed_versions(records.values()),
    )


def _weather(records: Records) -> str:
    if not records:
        return ""
    threads = sorted({record["threads"] for record in records.values()})
    loads = [record.get("load_average") for record in records.values()]
    known = [load for load in loads if load is not None]
    count = " and ".join(map(str, threads))
    unit = "thread" if threads == [1] else "threads"
    busy = f"at a load average of at most {max(known):.1f} before" if known else "load unknown"
    return f"Measured on {count} {unit}, {busy}."


def _papers(dataset: str, model: str, measure: Measure) -> float | None:
    return None if measure.paper is None else published()["cost"][model][dataset][measure.paper]


def _costs(results: Path, suite: Suite, records: Records) -> Table:
    rows = []
    for dataset, model, _ in suite.cells():
        record = records.get((dataset, model))
        path = cost_path(results, dataset, model)
        shown = [MISSING] * len(MEASURES)
        if record is not None:
            shown = [_cost(record, path, _papers(dataset, model, m), m) for m in MEASURES]
        rows.append((f"{dataset}: {model}", shown))
    return Table(("cost", *(measure.title for measure in MEASURES)), rows)


def _cost(record: Mapping[str, Any], path: Path, papers: float | None, measure: Measure) -> Shown:
    value = record.get(measure.key)
    ours = "not told by this system" if value is None else _number(value)
    beside = "" if papers is None else f" ({_number(papers)})"
    return Shown(ours + beside, [path], 1, 1, "records")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(records: Records, dataset: str, pair: Pair, measure: Measure) -> float | None:
    one, other = (records.get((dataset, model), {}) for model in (pair.model, pair.beside))
    ours, beside = one.get(measure.key), other.get(measure.key)
    return ours / beside if ours is not None and beside else None


def _papers_ratio(dataset: str, pair: Pair, measure: Measure) -> float | None:
    one, other = (_papers(dataset, model, measure) for model in (pair.model, pair.beside))
    return None if one is None or other is None else one / other


def _ratios(suite: Suite, records: Records, measure: Measure) -> Ratios:
    """Ours and the paper's, by data set and pair."""
    return {
        (dataset, pair.model): (
            _ratio(records, dataset, pair, measure),
            _papers_ratio(dataset, pair, measure),
        )
        for dataset in suite.datasets
        for pair in suite.pairs
    }


def _table_of_ratios(results: Path, suite: Suite, records: Records) -> Table:
    rows = []
    for dataset in suite.datasets:
        for pair in suite.pairs:
            paths = [cost_path(results, dataset, name) for name in (pair.model, pair.beside)]
            shown = []
            for measure in MEASURES:
                ours = _ratio(records, dataset, pair, measure)
                papers = _papers_ratio(dataset, pair, measure)
                beside = "" if papers is None else f" ({papers:.1f})"
                text = "-" if ours is None else f"{ours:.1f}{beside}"
                both = all((dataset, name) in records for name in (pair.model, pair.beside))
                shown.append(Shown(text, paths, 2, 2, "records") if both else MISSING)
            rows.append((f"{dataset}: {pair.model} / {pair.beside}", shown))
    return Table(("ratio", *(m.title.partition(",")[0] for m in MEASURES)), rows)
