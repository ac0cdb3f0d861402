"""The demo's page: the toy graph, and the results of four models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise._version import __version__
from nodewise.io import writing
from nodewise.report.page import Page
from nodewise.report.plots import Histories, accuracies, learning_curves
from nodewise.report.style import to_svg

Records = Sequence[Mapping[str, Any]]


def write_demo(
    path: Path,
    table: Records,
    records: Mapping[str, Records],
    histories: Mapping[str, Histories],
    explorer: str,
) -> None:
    """Write the page.

    Args:
        path: Where to.
        table: A row for every model, with means and deviations.
        records: The records of every model's runs.
        histories: Their histories.
        explorer: The name of the page that shows what localization did.

    Raises:
        RunError: The page cannot be written.
    """
    page = Page("nodewise demo: one word, several meanings")
    page.paragraph(
        "The toy graph holds papers of six fields. Words such as “cell” or “kernel” stand for "
        "another class in each field, and a paper's field shows only through its neighborhood. "
        "A narrow model with one weight matrix for all nodes has no room for six meanings of "
        "every word. There are two ways out: separate weights for each node (LGCN), or a wider "
        "matrix (GCN-64)."
    )
    page.heading("Test accuracy")
    page.table(("model", "runs", "test accuracy, %"), [_row(row, records) for row in table])
    tests = {name: [r["test_accuracy"] for r in runs] for name, runs in records.items()}
    page.figure(
        to_svg(accuracies(tests)),
        "Every mark is a run with its own split and initialization; lines are means.",
    )
    page.paragraph(
        "GCN is the model as its authors run it, 16 units wide; the matched global model and LGCN "
        "are 8 wide. The matched global model is LGCN with localization switched off and "
        "everything else the same, so the distance between these two is what localization brings "
        "to this model. It does not show that localization is needed: GCN-64, a global model 64 "
        "units wide, with features that are not normalized and a higher learning rate, which suit "
        "it and were chosen on validation nodes, solves the same task."
    )
    page.paragraph(
        f"What localization did to each paper is shown by `{explorer}`, beside this page."
    )
    page.heading("Learning")
    page.figure(
        to_svg(learning_curves(histories)),
        "Validation accuracy: mean over seeds, and the range between the worst and the best.",
    )
    with writing(path):
        page.write(path, f"nodewise {__version__}; every number is the mean of the runs shown.")


def _row(row: Mapping[str, Any], records: Mapping[str, Records]) -> list[str]:
    mean, std = 100 * row["test_accuracy_mean"], 100 * row["test_accuracy_std"]
    return [row["model"], str(len(records[row["model"]])), f"{mean:.1f} ± {std:.1f}"]
