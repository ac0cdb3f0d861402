"""The section of a run's page on how `--recipe auto` chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.report.page import Page
from nodewise.training.metrics import TITLES


def add_selection(page: Page, record: Mapping[str, Any]) -> None:
    """Add how model and settings were chosen; its sentences stand at the top of the page.

    Args:
        page: The page.
        record: What `choice.json` has.
    """
    page.heading("How model and settings were chosen")
    entrants = [*record["candidates"], *record["controls"]]
    tried = [about for about in entrants if about["epochs"]]
    count = sum(about["epochs"] > 0 for about in record["candidates"])
    page.paragraph(
        f"By {TITLES[record['metric']]} on validation nodes, with seed {record['seed']}: "
        f"{count} candidates, {record['epochs']:,} epochs, {record['seconds']:.0f} of "
        f"{record['budget']:.0f} seconds. The worse ones leave after some epochs; then settings of "
        "the best are varied, and its localized forms are trained. No test node was used."
    )
    columns = ("candidate", "model", "settings", "validation", "epochs", "seconds", "outcome")
    page.table(columns, [_row(about) for about in tried], ("model", "settings", "outcome"))
    left_out: dict[str, list[str]] = {}
    for about in entrants:
        if not about["epochs"]:
            left_out.setdefault(about["outcome"], []).append(f"{about['name']} ({about['model']})")
    for outcome, names in left_out.items():
        page.paragraph(f"{outcome[0].upper()}{outcome[1:]}: {', '.join(names)}.")


def _row(about: Mapping[str, Any]) -> list[str]:
    settings = ", ".join(f"{key} {_text(value)}" for key, value in about["settings"].items())
    score = "-" if about["val_score"] is None else f"{about['val_score']:.3f}"
    cost = (f"{about['epochs']:,}", f"{about['seconds']:.1f}")
    return [about["name"], about["model"], settings, score, *cost, about["outcome"]]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
