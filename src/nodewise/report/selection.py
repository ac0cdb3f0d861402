"""The section of a run's page on how `--recipe auto` chose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.experiments.selection_result import CHOICE
from nodewise.report.page import Page


def add_selection(page: Page, folder: Path) -> None:
    """Add how the recipe was chosen, from `choice.json` if there is one."""
    path = folder / CHOICE
    if not path.exists():
        return
    record = json.loads(path.read_bytes())
    page.heading("How the recipe was chosen")
    page.paragraph(
        f"Chosen on validation nodes with seed {record['seed']}: {record['chosen']} "
        f"({record['model']}). {record['epochs']:,} epochs were trained of at most "
        f"{record['epochs_at_most']:,}, in {record['seconds']:.1f} seconds. The first round is as "
        "long for every candidate; the best were then trained to their end."
    )
    shown = [about for about in (*record["candidates"], record["beside"]) if about is not None]
    columns = ("candidate", "model", "settings", "first round, %", "validation, %", "outcome")
    page.table(columns, [_row(about) for about in shown])
    if record["localization"] is not None:
        page.paragraph(f"{record['sentence']} {record['localization']['note']}")


def _row(about: Mapping[str, Any]) -> list[str]:
    settings = ", ".join(f"{key} {value:g}" for key, value in about["settings"].items())
    figures = (about["first_round_val_accuracy"], about["val_accuracy"])
    shares = ("-" if share is None else f"{100 * share:.1f}" for share in figures)
    return [about["name"], about["model"], settings, *shares, about["outcome"]]
