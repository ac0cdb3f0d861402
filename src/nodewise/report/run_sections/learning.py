"""The section of a run's page on training: scores and losses by epoch."""

from __future__ import annotations

from nodewise.report.page import Page
from nodewise.report.plots import Level, learning_curves
from nodewise.report.run_sections.diagnostic_plots import loss_curves
from nodewise.report.run_sections.records import RunGroup
from nodewise.report.style import to_svg

_TITLES = {"majority": "majority class", "features_only": "features only"}


def add_learning(page: Page, group: RunGroup) -> None:
    """Add validation accuracy and losses by epoch."""
    histories = [run.history for run in group.runs if len(run.history) > 1]
    if not histories:
        return
    page.heading("Learning")
    seen = [history for history in histories if "val_accuracy" in history[-1]]
    if seen:
        caption = "Validation accuracy by epoch"
        caption += ": mean over runs, and their range" if len(seen) > 1 else ""
        found = levels(group)
        caption += (
            f"; {' and '.join(level.name for level in found)} for comparison." if found else "."
        )
        model = str(group.config["model"])
        page.figure(to_svg(learning_curves({model: seen}, found)), caption)
    page.figure(
        to_svg(loss_curves(histories)),
        "Cross-entropy with dropout on training nodes"
        + ("; the loss that decides when to stop on validation nodes." if seen else "."),
    )


def levels(group: RunGroup) -> list[Level]:
    """The validation accuracy of each control, as horizontal lines."""
    found = {title: group.control(name).get("val_accuracy") for name, title in _TITLES.items()}
    return [Level(title, value) for title, value in found.items() if value is not None]
