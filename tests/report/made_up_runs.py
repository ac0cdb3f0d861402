"""Runs that nobody has trained, as a page reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.report.run_sections.records import RunGroup, RunRecords
from nodewise.training.intervals import wilson


def made_up(
    confusion: Sequence[Sequence[int]] = ((40, 10), (15, 35)),
    classes: Sequence[str] = ("no", "yes"),
    result: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    diagnostics: Mapping[str, Any] | None = None,
    controls: Mapping[str, Any] | None = None,
    choice: Mapping[str, Any] | None = None,
    runs: int = 1,
) -> RunGroup:
    """Runs with this confusion matrix on test nodes; the rest follows, or is given.

    Args:
        confusion: Counts of true classes (rows) and predicted ones.
        classes: Their names.
        result: Keys of the record to override.
        settings: Keys of the settings to override.
        diagnostics: Keys of the diagnostics to override.
        controls: The accuracy of `majority` and `features_only`, or other content of them.
        choice: What `choice.json` has.
        runs: How many equal runs, with seeds from 0.
    """
    total = sum(map(sum, confusion))
    accuracy = sum(row[i] for i, row in enumerate(confusion)) / total
    record = {
        "test_accuracy": accuracy,
        "val_accuracy": accuracy,
        "intervals": {"test_accuracy": list(wilson(accuracy, total))},
        "epochs": 100,
        "best_epoch": 50,
        "seconds": 1.0,
        "parameters": 10,
        **(result or {}),
    }
    chosen = {"metric": "accuracy", "epochs": 500, "num_layers": 2, "hidden_channels": 8}
    graph = {"dataset": "made up", "nodes": 200, "features": 5, "classes": list(classes)}
    config = {
        "model": "GCN",
        "recipe": "paper",
        "graph": graph,
        "settings": {**chosen, **(settings or {})},
    }
    about = {"part": "test", "confusion": confusion, "reliability": bins(total, 0.8, accuracy)}
    found = [
        RunRecords(config, {**record, "seed": seed}, [], {**about, **(diagnostics or {})})
        for seed in range(runs)
    ]
    return RunGroup(found, None if controls is None else controlled(controls, total), choice)


def bins(count: int, confidence: float, accuracy: float) -> list[dict[str, float]]:
    """So many predictions of one confidence, in the bin of that confidence."""
    empty = {"count": 0.0, "confidence": 0.0, "right": 0.0}
    filled = {"count": count, "confidence": count * confidence, "right": count * accuracy}
    return [filled if i == int(10 * confidence) else empty for i in range(10)]


def controlled(controls: Mapping[str, Any], total: int) -> dict[str, Any]:
    """The content of `controls.json` for accuracies on so many nodes."""
    found: dict[str, Any] = {"majority": {}, "features_only": {}}
    for name, value in controls.items():
        if isinstance(value, float):
            value = {"test_accuracy": value, "val_accuracy": value, "class": "no"}
            value["intervals"] = {"test_accuracy": list(wilson(value["test_accuracy"], total))}
        found[name] = value
    return found
