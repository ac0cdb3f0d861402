"""Collects finished runs, each a folder, and records, each a file, as lines of tables.

A run that has just ended is added in this way, and so is what releases up to 0.4.5 wrote: a folder
for each run, `cost/DATASET/MODEL.json` and `tsne/DATASET.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nodewise.checked import checked
from nodewise.errors import NodewiseError, RunError
from nodewise.experiments.cost import cost_table
from nodewise.experiments.records import read_runs, run_table
from nodewise.experiments.run_record import run_record
from nodewise.experiments.runner import Job, run_all
from nodewise.experiments.suite import run_folder, run_key
from nodewise.experiments.table import Added, Record, RecordTable
from nodewise.experiments.tsne import tsne_table
from nodewise.io import file_bytes, parse_json
from nodewise.runs.folder import RESULT
from nodewise.runs.interrupts import delaying_interrupts
from nodewise.training.recipe import current_settings

# Variants that had another name in earlier releases.
_RENAMED = {"official-all_neighbours": "official-all_neighbors"}


def run_and_record(
    results: Path, jobs: Sequence[Job], workers: int
) -> Iterator[tuple[Job, Record | NodewiseError]]:
    """Run jobs as `run_all` does, and add each finished run to the table of its suite."""
    for job, outcome in run_all(jobs, workers):
        if isinstance(outcome, dict) and not outcome["interrupted"]:
            try:
                with delaying_interrupts():
                    add_run(results, job)
                    job.tidy()
            except RunError as error:
                outcome = error
        yield job, outcome


def add_run(results: Path, job: Job) -> None:
    """Add a finished run to the table of its suite.

    Raises:
        RunError: The table has another record of that run, is damaged, or cannot be written.
    """
    dataset, model, variant, _ = run_key(job)
    added = run_table(results, dataset, model, variant).add([run_record(job.folder, variant)])
    if added.refused:
        raise added.refused[0]


def collect(results: Path, source: Path | None = None, allow_changes: bool = False) -> Added:
    """Add finished runs and single files of a folder to the tables.

    Args:
        results: The folder of the tables.
        source: A folder as `nodewise reproduce` fills it, in this release or an earlier one;
            `results` itself if not given.
        allow_changes: Whether runs whose files have changed since training are added, too.

    Returns:
        How many records were added, and why others were not; equal ones are skipped.
    """
    found: dict[RecordTable, list[Record]] = {}
    refused = []
    for read in _files(results, source or results, allow_changes):
        try:
            table, record = read()
            found.setdefault(table, []).append(record)
        except RunError as error:
            refused.append(error)
    new = 0
    for table, records in found.items():
        try:
            added = table.add(records)
            new, refused = new + added.new, refused + added.refused
        except RunError as error:
            refused.append(error)
    return Added(new, refused)


def _files(
    results: Path, source: Path, allow_changes: bool
) -> Iterator[Callable[[], tuple[RecordTable, Record]]]:
    """For every record below a folder, a function that reads it."""
    is_same = source.resolve() == results.resolve()
    known = {run_folder(source, *key) for key in read_runs(results).lines} if is_same else set()
    for path in sorted(source.glob(f"runs/*/*/*/seed-*/{RESULT}")):
        if path.parent not in known:
            yield partial(_run, path.parent, results, allow_changes)
    for path in sorted(source.glob("cost/*/*.json")):
        yield partial(_single, path, cost_table(results))
    for path in sorted(source.glob("tsne/*.json")):
        yield partial(_single, path, tsne_table(results))


def _run(folder: Path, results: Path, allow_changes: bool) -> tuple[RecordTable, Record]:
    dataset, model_folder, variant = folder.parts[-4:-1]
    record = run_record(folder, _RENAMED.get(variant, variant), allow_changes)
    named = (record["dataset"], record["model"].replace(":", "_"), f"seed-{record['seed']}")
    if named != (dataset, model_folder, folder.name):
        reason = f"holds seed {record['seed']} of {record['model']} on {record['dataset']}"
        raise RunError(str(folder), reason, way_out="move it to where that run belongs")
    return run_table(results, dataset, record["model"], record["variant"]), record


def _single(path: Path, table: RecordTable) -> tuple[RecordTable, Record]:
    try:
        record = checked(dict[str, Any], parse_json(file_bytes(path)))
        if "settings" in record:
            settings = checked(dict[str, Any], record["settings"], "settings")
            record["settings"] = current_settings(settings)
    except (OSError, ValueError) as error:
        reason = f"cannot be read ({error})"
        raise RunError(str(path), reason, way_out="delete it, or restore it") from error
    return table, record
