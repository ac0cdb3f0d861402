"""A finished run's folder as one record: its result, and what configuration and job add to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from nodewise.checked import NotNegative, checked
from nodewise.errors import RunError
from nodewise.experiments.table import Record
from nodewise.io import read_json
from nodewise.runs.folder import RunFolder

# What a job adds to the record of its run, whose fields it may replace.
JOB_FIELDS = "job.json"

_WAY_OUT = "move it away, and run it again"


class JobFields(TypedDict):
    """The keys of `job.json`, besides fields that are copied into the record."""

    model: str
    budget: float
    choice_seconds: NotNegative


RUN_FIELDS = ("dataset", "model", "variant", "seed")

# What both files of a folder say; a record says it once, the fingerprint of the graph in `graph`.
_IN_BOTH = ("dataset", "model", "seed", "recipe", "settings", "graph_sha256", "split_sha256")


def run_record(folder: Path, variant: str, allow_changes: bool = False) -> Record:
    """The record of a finished run.

    Args:
        folder: The run's folder.
        variant: The variant of a suite that the run belongs to.
        allow_changes: Whether files that have changed since training are read, with a warning.

    Raises:
        RunError: A file is missing or damaged, or `result.json` is of another run.
    """
    run = RunFolder(folder, allow_changes)
    run.check_files()
    config, result = run.config, run.result
    if result is None:
        raise RunError(str(folder), "has no result", way_out="finish the run first")
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
    return dict(read_json(path, partial(checked, JobFields), _WAY_OUT)) if path.exists() else {}


def _refused(folder: Path, reason: str) -> RunError:
    return RunError(str(folder), reason, way_out=_WAY_OUT)
