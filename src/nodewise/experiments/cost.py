"""What a model costs on a data set: operations, times and memory, one small record for each.

Everything is measured in a process of its own, one after the other, on a machine that should have
nothing else to do; the record says how busy it was.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nodewise.errors import RunError
from nodewise.experiments.records import check_numbers, read_record
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import Variant, job_of
from nodewise.io import write_json
from nodewise.runs.run import RESULTS_VERSION, versions
from nodewise.training.recipe import current_settings, default_settings, load_recipe


def cost_path(results: Path, dataset: str, model: str) -> Path:
    """Where the record of a model on a data set lies."""
    return results / "cost" / dataset / f"{model.replace(':', '_')}.json"


def read_cost(results: Path, dataset: str, model: str, variant: Variant) -> dict[str, Any] | None:
    """The record of a model on a data set, or None where there is none.

    Raises:
        RunError: It cannot be read, or was measured under another recipe or results version.
    """
    path = cost_path(results, dataset, model)
    record = read_record(path)
    if record is None:
        return None
    # A key of a recipe that was unknown when it was measured had its default.
    kept = record.get("settings")
    if isinstance(kept, dict):
        record["settings"] = {**default_settings(), **current_settings(kept)}
    for key, asked in _identity(dataset, model, variant).items():
        if record.get(key) != asked:
            raise RunError(
                str(path),
                f"was measured with another {key} than the one asked for",
                way_out="delete it, and run again",
            )
    check_numbers(path, record, ("mflops", "mflops_sparse", "train_ms", "test_ms", "threads"))
    # Not every system tells these.
    told = ("train_extra_mb", "test_extra_mb", "load_average")
    check_numbers(path, record, [key for key in told if record.get(key) is not None])
    return record


def _identity(dataset: str, model: str, variant: Variant) -> dict[str, Any]:
    """What makes a record comparable with others."""
    recipe = load_recipe(variant.recipe, model, dataset, variant.settings)
    return {
        "dataset": dataset,
        "model": model,
        "results_version": RESULTS_VERSION,
        "recipe": recipe.name,
        "settings": recipe.settings,
    }


def measure_cost(
    results: Path,
    cell: tuple[str, str, Variant],
    repeats: int,
    threads: int = 1,
    root: Path | None = None,
) -> dict[str, Any]:
    """Measure a model on a data set, write the record, and return it.

    Args:
        results: The folder of records.
        cell: Data set, model and variant.
        repeats: Timed calls, of which the median counts.
        threads: CPU threads to compute with.
        root: The folder of raw files.
    """
    from nodewise.bench.memory import extra_peak_mb

    job = replace(job_of(results, *cell, seed=0), root=root)
    busy = load_average()
    record = {
        **_identity(*cell),
        **_alone(_operations, job),
        **_alone(_times, job, repeats, threads),
        "train_extra_mb": extra_peak_mb(_training_step, job, threads),
        "test_extra_mb": extra_peak_mb(_test_pass, job, threads),
        "repeats": repeats,
        "threads": threads,
        "cpus": os.cpu_count(),
        "load_average": busy,
        "versions": versions(),
    }
    path = cost_path(results, cell[0], job.model)
    write_json(path, record)
    return record


def load_average() -> float | None:
    """How many processes wanted to run in the last minute; None where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _alone(work: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """What a fresh process makes of it."""
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
    walked = operations(model, task.graph.x, task.data.edge_index)
    sizes = {"nodes": task.data.num_nodes, "edges": task.data.num_edges}
    counted = {"mflops": full.total / 1e6, "mflops_sparse": walked.total / 1e6}
    return {"graph_sha256": task.graph_sha256, **sizes, **counted}


def _times(job: Job, repeats: int, threads: int) -> dict[str, Any]:
    from nodewise.bench.timing import side_by_side

    engine = _engine(job, threads)
    taken = side_by_side({"train": engine.step, "test": engine.logits}, repeats)
    return {f"{name}_ms": 1000 * seconds for name, seconds in taken.items()}


def _training_step(job: Job, threads: int) -> Callable[[], None]:
    return partial(_and_give_back, _engine(job, threads).step)


def _test_pass(job: Job, threads: int) -> Callable[[], None]:
    return partial(_and_give_back, _engine(job, threads).logits)


def _and_give_back(work: Callable[[], object]) -> None:
    """Work, then hand freed memory to the system: what the allocator keeps would hide the next."""
    work()
    ctypes.CDLL("libc.so.6").malloc_trim(0)


def _engine(job: Job, threads: int) -> Any:
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(job.seed)
    return job.task().engine()
