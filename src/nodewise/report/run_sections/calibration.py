"""The section of a run's page on its probabilities."""

from __future__ import annotations

from nodewise.report.page import Page
from nodewise.report.run_sections.diagnostic_plots import confidence_counts, reliability_diagram
from nodewise.report.run_sections.records import PARTS, RunGroup
from nodewise.report.run_sections.trust_words import calibration
from nodewise.report.style import to_svg


def add_calibration(page: Page, group: RunGroup) -> None:
    """Add how often predictions of some confidence are right."""
    found = calibration(group)
    if found is None:
        return
    tables = [about["reliability"] for about in group.diagnostics]
    bins = [
        {key: sum(entry[key] for entry in entries) for key in entries[0]}
        for entries in zip(*tables, strict=True)
    ]
    page.heading(f"Calibration ({PARTS[group.part]} nodes)")
    page.figure(
        to_svg(reliability_diagram(bins)) + to_svg(confidence_counts(bins)),
        f"Predictions by their probability{group.summed}. On the dashed line, of those "
        "with a probability of 80 % as many are right; below it the model is overconfident.",
    )
    mean = "mean over runs of the " if len(tables) > 1 else ""
    scaled = group.best.result.get("temperature")
    about = "" if scaled is None else f" Logits were divided by {scaled:.3g} (temperature scaling)."
    page.paragraph(
        f"Expected calibration error: {100 * found.error:.1f} %, the {mean}distance between "
        "confidence and accuracy, averaged over nodes. Perfectly calibrated probabilities would "
        f"have {100 * found.by_chance:.1f} % on so many nodes, by chance.{about}"
    )
