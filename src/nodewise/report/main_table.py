"""The paper's Table 2 beside ours, cell by cell, from records alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from typing import Any

from nodewise.experiments.published import published
from nodewise.experiments.records import cell_records
from nodewise.experiments.suite import Suite
from nodewise.training.runs import summarize

Cell = dict[str, Any]
Table = dict[str, dict[str, Cell]]
_FIGURES = ("test_accuracy", "test_micro_f")


def suite_table(results: Path, suite: Suite) -> Table:
    """Means and deviations by model and data set, beside what the paper prints.

    Args:
        results: The folder of records.
        suite: Whose cells; those without a finished run are left out.
    """
    printed = published().get(suite.name, {})
    table: Table = {}
    for dataset, model, variant in suite.cells():
        records = cell_records(results, dataset, model, variant.name)
        if records:
            cell = table.setdefault(model, {})
            cell[dataset] = {
                **_ours(records),
                **_papers(printed.get(model, {}).get(dataset)),
                "variant": variant.name,
            }
    return table


def _ours(records: list[dict[str, Any]]) -> Cell:
    summary = summarize(records)
    figures = {
        f"{name}_{kind}": summary[f"{name}_{kind}"] for name in _FIGURES for kind in ("mean", "std")
    }
    return {"runs": len(records), **figures, "seconds": summary["seconds"]}


def _papers(printed: Mapping[str, list[float]] | None) -> Cell:
    if printed is None:
        return {"paper_accuracy": None, "paper_micro_f": None}
    (accuracy, spread), (micro_f, _) = printed["accuracy"], printed["micro_f"]
    return {
        "paper_accuracy": accuracy / 100,
        "paper_accuracy_std": spread / 100,
        "paper_micro_f": micro_f / 100,
    }


def deviates(cell: Cell) -> bool:
    """Whether our mean lies beyond two standard errors from the paper's; both have their own."""
    if cell["paper_accuracy"] is None or cell["runs"] < 2:
        return False
    ours = cell["test_accuracy_std"] ** 2 / cell["runs"]
    papers = cell["paper_accuracy_std"] ** 2 / 10
    error = sqrt(ours + papers)
    return bool(abs(cell["test_accuracy_mean"] - cell["paper_accuracy"]) > 2 * error)


def cell_text(cell: Cell | None, figure: str = "accuracy") -> str:
    """Ours with its deviation, the paper's in brackets, a star where they differ."""
    if cell is None:
        return "-"
    mean, std = 100 * cell[f"test_{figure}_mean"], 100 * cell[f"test_{figure}_std"]
    paper = cell[f"paper_{figure}"]
    beside = "" if paper is None else f" ({100 * paper:.1f})"
    star = "*" if figure == "accuracy" and deviates(cell) else ""
    return f"{mean:.1f} ± {std:.1f}{star}{beside}"
