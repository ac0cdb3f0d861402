"""Run records, read back from a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodewise.experiments.suite import cell_folder
from nodewise.training.run_folder import RunFolder


def cell_records(results: Path, dataset: str, model: str, variant: str) -> list[dict[str, Any]]:
    """The finished runs of a cell, by seed."""
    folder = cell_folder(results, dataset, model, variant)
    found = [RunFolder(path.parent).result or {} for path in folder.glob("seed-*/result.json")]
    return sorted(found, key=lambda record: int(record["seed"]))
