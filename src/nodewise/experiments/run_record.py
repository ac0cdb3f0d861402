"""A finished run's folder as one record: its result, and what configuration and job add to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.errors import RunError
from nodewise.experiments.table import Record
from nodewise.runs.folder import RunFolder

# What a job adds to the record of its run, whose fields it may replace.
JOB_FIELDS = "job.json"

RUN_FIELDS = ("dataset", "model", "variant", "seed")

# What both files of a folder say; a record says it once, the fingerprint of the graph in `graph`.
_IN_BOTH = ("dataset", "model", "seed", "recipe", "settings", "graph_sha256", "split_sha256")


def run_record(folder: Path, variant: str) -> Record:
    """The record of a finished run.

    Args:
        folder: The run's folder.
        variant: The variant of a suite that the run belongs to.

    Raises:
        RunError: A file is missing or damaged, or `result.json` is of another run.
    """
    run = RunFolder(folder)
    config, result = run.config, run.result
    if result is None:
        raise RunError(str(folder), "has no result", way_out="finish the run first")
    for table in ("graph", "settings"):
        if not isinstance(config.get(table), dict):
            raise _refused(folder, f"its configuration has no table {table}")
    graph = dict(config["graph"])
    of_graph = {"dataset": graph.pop("dataset", None), "graph_sha256": graph.get("sha256")}
    configured = {**config, **of_graph}
    for key in _IN_BOTH:
        if result.get(key) is None or result[key] != configured.get(key):
            raise _refused(folder, f"its result has another {key} than its configuration")
    scores = {key: value for key, value in result.items() if key not in (*_IN_BOTH, "interrupted")}
    record = {
        "dataset": result["dataset"],
        "model": result["model"],
        "variant": variant,
        "seed": result["seed"],
        "recipe": result["recipe"],
        **scores,
        "begun_with": config.get("nodewise"),
        "results_version": config.get("results_version"),
        "split_sha256": result["split_sha256"],
        "graph": graph,
        "settings": result["settings"],
    }
    fields = _job_fields(folder)
    return {**record, **fields, "seconds": run_seconds(record, fields)} if fields else record


def run_seconds(record: Mapping[str, Any], fields: Mapping[str, Any]) -> float:
    """The seconds of a run and of the choice before it, of which a run that is copied is a part."""
    after = record["seconds"] if "refit_epochs" in record else 0.0
    return float(fields["choice_seconds"] + after)


def _job_fields(folder: Path) -> dict[str, Any]:
    path = folder / JOB_FIELDS
    try:
        return dict(json.loads(path.read_bytes())) if path.exists() else {}
    except ValueError as error:
        raise _refused(folder, f"its {JOB_FIELDS} cannot be read ({error})") from error


def _refused(folder: Path, reason: str) -> RunError:
    return RunError(str(folder), reason, way_out="move it away, and run it again")
