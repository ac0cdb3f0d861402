"""The table of scores that `nodewise train` ends with: controls, runs, mean and interval."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from nodewise.cli.tables import print_table
from nodewise.runs.score_text import heading, interval_text, percent_text


def print_scores(summary: Mapping[str, Any], folder: Path, quiet: bool) -> None:
    """Print the scores of all runs below those of the controls.

    Args:
        summary: Means, `runs`, `controls`, and where the `report` is.
        folder: The folder of all runs.
        quiet: Whether to leave out where the report is, and the next command.
    """
    part, names = _columns(summary["runs"][0])
    features = summary["controls"]["features_only"]
    skipped = [f"features only: skipped, {features['skipped']}"] if "skipped" in features else []
    next_step = f"nodewise predict {quote(str(folder))} --out predictions.csv"
    ending = [] if quiet else [f"report: {summary['report']}; next: {next_step}"]
    # All columns but the last are of one part: the first names it.
    first, *others = map(heading, names)
    others[:-1] = [title.removeprefix(f"{part} ") for title in others[:-1]]
    columns = ("", first, *others, "epoch", "s")
    print_table(columns, _rows(summary, names), "\n".join([*skipped, *ending]))


def _columns(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The scored part of the nodes, and the keys of a record to show."""
    part = "test" if "test_accuracy" in record else "val"
    metric = record["settings"].get("metric", "accuracy")
    shown = dict.fromkeys((metric, "accuracy", "balanced_accuracy", "macro_f", "roc_auc"))
    return part, list(dict.fromkeys([*(f"{part}_{name}" for name in shown), f"val_{metric}"]))


def _rows(summary: Mapping[str, Any], names: list[str]) -> list[list[str]]:
    records, controls = summary["runs"], summary["controls"]
    majority = controls["majority"]

    def row(title: str, scores: Mapping[str, Any], epochs: str = "", time: str = "") -> list[str]:
        return [title, *(percent_text(scores, name) for name in names), epochs, time]

    rows = [
        row(f"majority: {majority['class']}", majority),
        row("features only", controls["features_only"]),
    ]
    for record in records:
        epochs = f"{record['best_epoch']} of {record['epochs']}"
        rows.append(row(f"seed {record['seed']}", record, epochs, f"{record['seconds']:.1f}"))
    if len(records) > 1:
        rows.append(row("mean", summary, "", f"{summary['seconds']:.1f}"))
    return [*rows, ["95 % interval", *(interval_text(summary, name) for name in names), "", ""]]
