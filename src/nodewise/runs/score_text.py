"""Scores as tables and sentences show them, on pages and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def percent_text(record: Mapping[str, Any], name: str) -> str:
    """A score of a record as tables show it, or mean and deviation if it has those."""
    if f"{name}_mean" in record:
        mean, deviation = (score_text(record[f"{name}_{of}"], name) for of in ("mean", "std"))
        return f"{mean} ± {deviation}"
    return score_text(record[name], name) if name in record else "-"


def interval_text(record: Mapping[str, Any], name: str) -> str:
    """The interval of a score of a record; empty if it has none."""
    ends = record.get("intervals", {}).get(name)
    return "" if ends is None else " to ".join(score_text(end, name) for end in ends)


def score_text(value: float, name: str, unit: str = "") -> str:
    """A score as tables show it: in percent, and the log loss with three digits."""
    return f"{value:.3f}" if name.endswith("log_loss") else f"{100 * value:.1f}{unit}"


def heading(name: str) -> str:
    """The heading of a column of scores, such as `test accuracy %` for "test_accuracy"."""
    from nodewise.training.metrics import TITLES

    part, _, metric = name.partition("_")
    return f"{part} {TITLES[metric]}{'' if metric == 'log_loss' else ' %'}"
