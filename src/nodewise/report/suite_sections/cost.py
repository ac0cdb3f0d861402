"""Table II: costs of models and their ratios to the base model, with the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nodewise.experiments.cost import read_costs
from nodewise.experiments.published import published
from nodewise.experiments.records import mixed_versions
from nodewise.experiments.suite import Pair, Suite
from nodewise.experiments.table import Key, Line
from nodewise.report.suite_sections.cost_plot import Ratios, cost_ratios
from nodewise.report.suite_sections.section import MISSING, Section, Table, TableCell


class Measure(NamedTuple):
    """A column: its key in our records, its title, and its key in the paper's table, if any."""

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
Lines = Mapping[Key, Line]


def cost_section(results: Path, suite: Suite) -> Section:
    """A table of costs, one of ratios to the base model, and a plot of the ratios."""
    lines, refused = read_costs(results, suite)
    ratios = {
        measure.title: _ratios(suite, lines, measure)
        for measure in MEASURES
        if measure.key not in ("mflops_sparse", "test_extra_mb")
    }
    return Section(
        suite,
        len(lines),
        len(list(suite.cells())),
        [_costs(suite, lines), _table_of_ratios(suite, lines)],
        "Ours (paper's). Ratios are localized to base model, and the paper's in brackets; those of "
        f"different machines can be compared, the numbers cannot. {_conditions(lines)}",
        cost_ratios(ratios, suite) if lines else None,
        "Localized model against its base model, on a logarithmic scale. Filled marks: ours; "
        "hollow: the paper's, which has no memory. Operations are those of full rows.",
        {f"{dataset}/{model}": line.record for (dataset, model), line in lines.items()},
        refused,
        mixed_versions(line.record for line in lines.values()),
    )


def _conditions(lines: Lines) -> str:
    """The threads and the load that costs were measured with."""
    if not lines:
        return ""
    threads = sorted({line.record["threads"] for line in lines.values()})
    loads = [line.record.get("load_average") for line in lines.values()]
    known = [value for value in loads if value is not None]
    count = " and ".join(map(str, threads))
    unit = "thread" if threads == [1] else "threads"
    load = f"at a load average of at most {max(known):.1f} before" if known else "load unknown"
    return f"Measured on {count} {unit}, {load}."


def _papers(dataset: str, model: str, measure: Measure) -> float | None:
    return None if measure.paper is None else published()["cost"][model][dataset][measure.paper]


def _costs(suite: Suite, lines: Lines) -> Table:
    rows = []
    for dataset, model, _ in suite.cells():
        line = lines.get((dataset, model))
        shown = [MISSING] * len(MEASURES)
        if line is not None:
            shown = [_cost(line, _papers(dataset, model, m), m) for m in MEASURES]
        rows.append((f"{dataset}: {model}", shown))
    return Table(("cost", *(measure.title for measure in MEASURES)), rows)


def _cost(line: Line, papers: float | None, measure: Measure) -> TableCell:
    value = line.record.get(measure.key)
    ours = "not reported by this system" if value is None else _number(value)
    printed = "" if papers is None else f" ({_number(papers)})"
    return TableCell(ours + printed, [line], 1, 1, "records")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _pair(lines: Lines, dataset: str, pair: Pair) -> list[Line]:
    """The lines of both models; empty if one is missing."""
    found = [lines.get((dataset, model)) for model in (pair.model, pair.other)]
    return [line for line in found if line is not None] if None not in found else []


def _ratio(pair: Sequence[Line], measure: Measure) -> float | None:
    ours, base = (line.record.get(measure.key) for line in pair) if pair else (None, None)
    return ours / base if ours is not None and base else None


def _papers_ratio(dataset: str, pair: Pair, measure: Measure) -> float | None:
    one, other = (_papers(dataset, model, measure) for model in (pair.model, pair.other))
    return None if one is None or other is None else one / other


def _ratios(suite: Suite, lines: Lines, measure: Measure) -> Ratios:
    """Ours and the paper's, by data set and pair."""
    return {
        (dataset, pair.model): (
            _ratio(_pair(lines, dataset, pair), measure),
            _papers_ratio(dataset, pair, measure),
        )
        for dataset in suite.datasets
        for pair in suite.pairs
    }


def _table_of_ratios(suite: Suite, lines: Lines) -> Table:
    rows = []
    for dataset in suite.datasets:
        for pair in suite.pairs:
            both = _pair(lines, dataset, pair)
            shown = []
            for measure in MEASURES:
                ours = _ratio(both, measure)
                papers = _papers_ratio(dataset, pair, measure)
                printed = "" if papers is None else f" ({papers:.1f})"
                text = "-" if ours is None else f"{ours:.1f}{printed}"
                shown.append(TableCell(text, both, 2, 2, "records") if both else MISSING)
            rows.append((f"{dataset}: {pair.model} / {pair.other}", shown))
    return Table(("ratio", *(m.title.partition(",")[0] for m in MEASURES)), rows)
