"""The section of a run's page on how `--recipe auto` chose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.experiments.selection_result import CHOICE
from nodewise.report.page import Page
from nodewise.training.metrics import TITLES


def add_selection(page: Page, folder: Path) -> None:
    """Add how model and settings were chosen, from `choice.json` if there is one."""
    path = folder / CHOICE
    if not path.exists():
        return
    record = json.loads(path.read_bytes())
    page.heading("How model and settings were chosen")
    for sentence in record["sentences"]:
        page.paragraph(sentence)
    tried = sum(about["epochs"] > 0 for about in record["candidates"])
    page.paragraph(
        f"By {TITLES[record['metric']]} on validation nodes, with seed {record['seed']}: "
        f"{tried} candidates, {record['epochs']:,} epochs, {record['seconds']:.0f} of "
        f"{record['budget']:.0f} seconds. The worse ones leave after some epochs; then settings of "
        "the best are varied, and its localized forms are trained. No test node was used."
    )
    columns = ("candidate", "model", "settings", "validation", "epochs", "seconds", "outcome")
    page.table(columns, [_row(about) for about in (*record["candidates"], *record["controls"])])


def _row(about: Mapping[str, Any]) -> list[str]:
    settings = ", ".join(f"{key} {_text(value)}" for key, value in about["settings"].items())
    score = "-" if about["val_score"] is None else f"{about['val_score']:.3f}"
    cost = (f"{about['epochs']:,}", f"{about['seconds']:.1f}")
    return [about["name"], about["model"], settings, score, *cost, about["outcome"]]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
