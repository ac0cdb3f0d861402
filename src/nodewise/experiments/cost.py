"""The costs of a model on a data set: operations, times and memory, in the table `cost.jsonl`.

Each measurement runs in a separate process, one after the other, on a machine that should do
nothing else; the record has its load average.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.errors import RunError
from nodewise.experiments.records import REPAIR, check_numbers
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import Suite, Variant, job_of
from nodewise.experiments.table import Content, Key, Line, RecordTable
from nodewise.runs.record import versions
from nodewise.runs.task import RESULTS_VERSION
from nodewise.training.recipe import current_settings, default_settings, load_recipe

if TYPE_CHECKING:
    from nodewise.training.engines.base import Engine


def cost_table(results: Path) -> RecordTable:
    """The table of costs, a record for each data set and model."""
    return RecordTable(results / "cost.jsonl", ("dataset", "model"))


def read_costs(results: Path, suite: Suite) -> Content:
    """The records of a suite's cells, without those that are damaged or measured otherwise.

    Raises:
        RunError: The table cannot be read.
    """
    variants: dict[Key, Variant] = {(d, m): variant for d, m, variant in suite.cells()}
    content = cost_table(results).read()
    return content.checked(variants, lambda line: _check(line, variants[line.key]))


def _check(line: Line, variant: Variant) -> None:
    """Check a record to be comparable with others, with numbers that can be right."""
    record = line.record
    # A key of a recipe that was unknown when it was measured had its default.
    settings = record.get("settings")
    if isinstance(settings, dict):
        record["settings"] = {**default_settings(), **current_settings(settings)}
    dataset, model = line.key
    for key, expected in _identity(dataset, model, variant).items():
        if record.get(key) != expected:
            reason = f"was measured with another {key} than expected"
            raise RunError(str(line), reason, way_out=REPAIR)
    check_numbers(line, record, ("mflops", "mflops_sparse", "train_ms", "test_ms", "threads"))
    # Not every system reports these.
    optional = ("train_extra_mb", "test_extra_mb", "load_average")
    check_numbers(line, record, [key for key in optional if record.get(key) is not None])


def _identity(dataset: str, model: str, variant: Variant) -> dict[str, Any]:
    """The keys that must agree before two records are compared."""
    recipe = load_recipe(variant.recipe, model, dataset, variant.settings_of(dataset, model))
    return {
        "dataset": dataset,
        "model": model,
        "results_version": RESULTS_VERSION,
        "recipe": recipe.name,
        "settings": recipe.every_setting,
    }


def measure_cost(
    results: Path,
    cell: tuple[str, str, Variant],
    repeats: int,
    threads: int = 1,
    root: Path | None = None,
) -> dict[str, Any]:
    """Measure a model on a data set, add the record to the table, and return it.

    Args:
        results: The folder of records.
        cell: Data set, model and variant.
        repeats: Timed calls, of which the median counts.
        threads: CPU threads to compute with.
        root: The folder of raw files.
    """
    from nodewise.bench.memory import extra_peak_mb

    job = replace(job_of(results, *cell, seed=0), root=root)
    load = load_average()
    record = {
        **_identity(*cell),
        **_in_process(_operations, job),
        **_in_process(_times, job, repeats, threads),
        "train_extra_mb": extra_peak_mb(_training_step, job, threads),
        "test_extra_mb": extra_peak_mb(_test_pass, job, threads),
        "repeats": repeats,
        "threads": threads,
        "cpus": os.cpu_count(),
        "load_average": load,
        "versions": versions(),
    }
    added = cost_table(results).add([record])
    if added.refused:
        raise added.refused[0]
    return record


def load_average() -> float | None:
    """The load average of the last minute; None where the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _in_process(work: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """The result of a function, called in a separate process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(work, *args).result()


def _operations(job: Job) -> dict[str, Any]:
    from nodewise.bench.operations import operations
    from nodewise.models.classifier import Classifier

    task = job.task()
    model = task.fresh_model()
    assert isinstance(model, Classifier)
    full = operations(model, task.data.x, task.data.edge_index)
    sparse = operations(model, task.graph.x, task.data.edge_index)
    sizes = {"nodes": task.data.num_nodes, "edges": task.data.num_edges}
    counted = {"mflops": full.total / 1e6, "mflops_sparse": sparse.total / 1e6}
    return {"graph_sha256": task.graph_sha256, **sizes, **counted}


def _times(job: Job, repeats: int, threads: int) -> dict[str, Any]:
    from nodewise.bench.timing import side_by_side

    engine = _engine(job, threads)
    taken = side_by_side({"train": engine.step, "test": engine.logits}, repeats)
    return {f"{name}_ms": 1000 * seconds for name, seconds in taken.items()}


def _training_step(job: Job, threads: int) -> Callable[[], object]:
    return _engine(job, threads).step


def _test_pass(job: Job, threads: int) -> Callable[[], object]:
    return _engine(job, threads).logits


def _engine(job: Job, threads: int) -> Engine:
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(job.seed)
    return job.task().engine()
