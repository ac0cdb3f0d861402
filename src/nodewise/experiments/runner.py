"""Jobs, one run each, on as many processes as there are cores to give.

Every process computes on one thread: a run of a small graph leaves a second core half idle, two
runs side by side do not.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nodewise.training.loaded_graph import LoadedGraph

# What a fresh process needs; loaded once, in the server that all others are forked from.
_PRELOADED = ["nodewise.training.task", "nodewise.training.metrics"]


@dataclass(frozen=True)
class Job:
    """One run to do.

    Attributes:
        dataset: The data set's name.
        model: The model's name.
        seed: The run's seed.
        folder: Where its record goes.
        recipe: The recipe's name.
        settings: Keys of the recipe to override.
        split: "public", "random", the number of a stored split, or None for the default.
        split_seed: Which random split.
        root: The folder of raw files.
    """

    dataset: str
    model: str
    seed: int
    folder: Path
    recipe: str = "nodewise"
    settings: Mapping[str, Any] = field(default_factory=dict)
    split: str | None = None
    split_seed: int = 0
    root: Path | None = None

    def run(self, stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Train in the folder, from its last checkpoint on, and return the record."""
        from nodewise.training.recipe import load_recipe
        from nodewise.training.run import Watch, train_in
        from nodewise.training.task import dataset_source, make_task

        recipe = load_recipe(self.recipe, self.model, self.dataset, self.settings)
        source = dataset_source(self.dataset, self.split, self.split_seed)
        task = make_task(_load(tuple(source.items()), self.root), source, self.model, recipe)
        return train_in(self.folder, task, self.seed, Watch(stop=stop))


def run_all(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Do the jobs, first to last, and give each with its record as it ends.

    Closing the iterator, or Ctrl-C, lets running jobs save a checkpoint and starts no others.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    with ProcessPoolExecutor(workers, context, initializer=_start) as pool:
        doing: dict[Future[dict[str, Any]], Job] = {pool.submit(_work, job): job for job in jobs}
        try:
            for done in as_completed(doing):
                yield doing[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


@cache
def _load(source: tuple[tuple[str, Any], ...], root: Path | None) -> LoadedGraph:
    """Many jobs of one process share a graph."""
    from nodewise.training.task import load_source

    return load_source(dict(source), root)


def _start() -> None:
    import torch

    torch.set_num_threads(1)


def _work(job: Job) -> dict[str, Any]:
    from nodewise.training.interrupts import asking_to_stop

    with asking_to_stop() as stop:
        return job.run(stop)
