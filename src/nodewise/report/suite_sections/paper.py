"""Our means and the paper's, cell by cell, from records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from nodewise.experiments.published import published
from nodewise.experiments.records import SuiteRuns, suite_runs
from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.section import Section, Table, TableCell, runs_cell
from nodewise.runs.seeds import summarize

Cell = dict[str, Any]
Cells = dict[str, dict[str, Cell]]
_FIGURES = {"accuracy": "accuracy, %", "micro_f": "Micro-F, %"}
_PAPERS_RUNS = 10


def paper_section(results: Path, suite: Suite) -> Section:
    """A table of accuracies and one of Micro-F.

    Args:
        results: The folder of records.
        suite: A suite with numbers of the paper.
    """
    runs = suite_runs(results, suite)
    cells = suite_cells(runs)
    return Section(
        suite,
        runs.count,
        runs.wanted,
        [_table(runs, cells, figure) for figure in _FIGURES],
        "Ours ± deviation over runs (paper's mean); * is further from the paper than two standard "
        "errors.",
        data=cells,
        refused=runs.refused,
        notes=runs.notes,
    )


def _table(runs: SuiteRuns, cells: Cells, figure: str) -> Table:
    rows = [
        (model, [_shown(runs, cells, model, d, figure) for d in runs.suite.datasets])
        for model in runs.suite.models
    ]
    return Table((_FIGURES[figure], *runs.suite.datasets), rows)


def _shown(runs: SuiteRuns, cells: Cells, model: str, dataset: str, figure: str) -> TableCell:
    text = cell_text(cells.get(model, {}).get(dataset), figure)
    return runs_cell(text, runs.cell(dataset, model), runs.suite.runs_on(dataset))


def suite_cells(runs: SuiteRuns) -> Cells:
    """Means and deviations by model and data set, with those that the paper prints.

    Cells without a finished run are left out.
    """
    printed = published().get(runs.suite.name, {})
    table: Cells = {}
    for (dataset, model, variant), found in runs.cells.items():
        if found.records:
            cell = table.setdefault(model, {})
            cell[dataset] = {
                **_ours(found.records),
                **_papers(printed.get(model, {}).get(dataset)),
                "variant": variant,
            }
    return table


def _ours(records: Sequence[dict[str, Any]]) -> Cell:
    summary = summarize(records)
    figures = {
        f"test_{name}_{kind}": summary[f"test_{name}_{kind}"]
        for name in _FIGURES
        for kind in ("mean", "std")
    }
    return {"runs": len(records), **figures, "seconds": summary["seconds"]}


def _papers(printed: Mapping[str, list[float]] | None) -> Cell:
    if printed is None:
        return {f"paper_{name}": None for name in _FIGURES}
    cell: Cell = {}
    for name in _FIGURES:
        mean, spread = printed[name]
        cell |= {f"paper_{name}": mean / 100, f"paper_{name}_std": spread / 100}
    return cell


def deviates(cell: Cell, figure: str = "accuracy") -> bool:
    """Whether our mean lies beyond two standard errors from the paper's, of both means.

    False for a single run, which has no deviation.
    """
    if cell[f"paper_{figure}"] is None or cell["runs"] < 2:
        return False
    ours = cell[f"test_{figure}_std"] ** 2 / cell["runs"]
    papers = cell[f"paper_{figure}_std"] ** 2 / _PAPERS_RUNS
    distance = abs(cell[f"test_{figure}_mean"] - cell[f"paper_{figure}"])
    return bool(distance > 2 * sqrt(ours + papers))


def cell_text(cell: Cell | None, figure: str = "accuracy") -> str:
    """Ours with its deviation, the paper's in brackets, a star where they differ."""
    if cell is None:
        return "missing"
    mean = f"{100 * cell[f'test_{figure}_mean']:.1f}"
    spread = f" ± {100 * cell[f'test_{figure}_std']:.1f}" if cell["runs"] > 1 else ""
    paper = cell[f"paper_{figure}"]
    printed = "" if paper is None else f" ({100 * paper:.1f})"
    return f"{mean}{spread}{'*' if deviates(cell, figure) else ''}{printed}"
