"""The demo's page: the toy graph, and the results of three models."""

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
) -> None:
    """Write the page.

    Args:
        path: Where to.
        table: A row for every model, with means and deviations.
        records: The records of every model's runs.
        histories: Their histories.

    Raises:
        RunError: The page cannot be written.
    """
    page = Page("nodewise demo: one word, several meanings")
    page.paragraph(
        "The toy graph holds papers of six fields. Words such as “cell” or “kernel” stand for "
        "another class in each field, and a paper's field shows only through its neighborhood. "
        "A narrow model with one weight matrix for all nodes has no room for six meanings of "
        "every word; one that gives each node its own weights does not need it."
    )
    page.heading("Test accuracy")
    page.table(("model", "runs", "test accuracy, %"), [_row(row, records) for row in table])
    tests = {name: [r["test_accuracy"] for r in runs] for name, runs in records.items()}
    page.figure(
        to_svg(accuracies(tests)),
        "Every mark is a run with its own split and initialization; lines are means.",
    )
    page.paragraph(
        "GCN is the model as its authors run it, 16 units wide; the others are 8 wide. The matched "
        "global model is LGCN with localization switched off and everything else the same, so the "
        "distance between the last two is what localization brings here. A global model that is "
        "wide enough closes it: try `nodewise train toy --model GCN-64`."
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
