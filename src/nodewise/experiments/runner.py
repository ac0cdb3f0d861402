"""Jobs, one run each, on several processes.

Every process computes on one thread: a run of a small graph leaves a second core half idle, two
runs side by side do not.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import connection, forkserver, parent_process, resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

from nodewise.errors import NodewiseError, RunError
from nodewise.runs.interrupts import (
    INTERRUPTED,
    asking_to_stop,
    delaying_interrupts,
    shielding_new_processes,
    unblock_interrupts,
)
from nodewise.training.freed_memory import keep_freed_memory

if TYPE_CHECKING:
    from nodewise.data.graph import GraphTable
    from nodewise.runs.task import Task
    from nodewise.training.recipe import Recipe

# What every process imports; loaded once, in the server that all others are forked from.
_PRELOADED = ["nodewise.runs.sources", "nodewise.data.datasets", "nodewise.training.metrics"]
_LOOK_SECONDS = 0.2  # between two questions whether to stop


class AnyJob(Protocol):
    """Something to train in a folder."""

    @property
    def folder(self) -> Path:
        """Where it is trained."""

    def run(self, stop: Callable[[], bool]) -> dict[str, Any]:
        """Train until `stop` is true, from what was saved on."""


J = TypeVar("J", bound=AnyJob)


class ExpectedRecord(NamedTuple):
    """The fields that the record of a job must have.

    Attributes:
        recipe: The recipe's name.
        settings: Keys of the recipe and their values.
        is_exact: Whether other keys have their defaults; else they may be any.
        fields: Further fields of the record.
    """

    recipe: str
    settings: Mapping[str, Any]
    is_exact: bool = True
    fields: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Job:
    """A run to train.

    Attributes:
        source: Where graph and split come from, as records have it; see `dataset_source`.
        model: The model's name.
        seed: The run's seed.
        folder: Where it is trained.
        recipe: The recipe's name.
        settings: Keys of the recipe to override.
        root: The folder of raw files.
        device: Where to compute.
    """

    source: Mapping[str, Any]
    model: str
    seed: int
    folder: Path
    recipe: str = "nodewise"
    settings: Mapping[str, Any] = field(default_factory=dict)
    root: Path | None = None
    device: str = "cpu"

    @property
    def dataset(self) -> str | None:
        """The data set's name; None for a user's tables."""
        return self.source.get("dataset")

    def load(self) -> GraphTable:
        """The graph, which the jobs of a process share."""
        from nodewise.runs.sources import TaskMaker

        return TaskMaker(self.source, self.root).graph

    def load_recipe(self) -> Recipe:
        """The recipe, with all its settings."""
        from nodewise.training.recipe import load_recipe

        return load_recipe(self.recipe, self.model, self.dataset, self.settings)

    def task(self) -> Task:
        """The graph, the model's name and the recipe."""
        from nodewise.runs.sources import TaskMaker

        return TaskMaker(self.source, self.root, self.device)(self.model, self.load_recipe())

    def expected_record(self) -> ExpectedRecord:
        """The recipe and the settings that its record must have."""
        recipe = self.load_recipe()
        return ExpectedRecord(recipe.name, recipe.settings)

    def tidy(self) -> None:
        """Delete what is not needed once the run has a record: nothing."""

    def run(self, stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Train in the folder, from its last checkpoint on, and return the record."""
        from nodewise.runs.run import Callbacks, train_in

        return train_in(self.folder, self.task(), self.seed, Callbacks(stop=stop))


class Workers:
    """Processes that run jobs, as a context manager: they end with it.

    Args:
        count: How many jobs run side by side.
    """

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        resource_tracker.ensure_running()  # protects itself from Ctrl-C, and would unblock it below
        with shielding_new_processes():
            # Inherited: Ctrl-C reaches all processes, and only those at work can handle it.
            forkserver.ensure_running()
        # No lock: a process that is killed while it reads must not keep the others waiting.
        self._over = context.Value("b", 0, lock=False)
        self._pool = ProcessPoolExecutor(count, context, _start, (self._over,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Signals do not reach a job that a process has taken but not begun.
        self._over.value = 1
        self._pool.shutdown(cancel_futures=True)

    def run(
        self, jobs: Sequence[J], stop: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[J, dict[str, Any] | NodewiseError]]:
        """Run the jobs, first to last; yields each with its record or its error as it ends.

        Leaving the context, or Ctrl-C, lets running jobs save a checkpoint and starts no others;
        and so does `stop`, which is called several times a second.

        Raises:
            RunError: A process was killed.
        """
        # An interrupt while a process is being started would leave it behind, unknown to the pool.
        with delaying_interrupts():
            running = {self._pool.submit(_work, job): job for job in jobs}
        left = set(running)
        while left:
            ended, left = wait(left, _LOOK_SECONDS, FIRST_COMPLETED)
            if stop():
                self._over.value = 1
            for done in ended:
                yield running[done], _outcome(done, running[done].folder)


def run_all(
    jobs: Sequence[Job], workers: int
) -> Iterator[tuple[Job, dict[str, Any] | NodewiseError]]:
    """Run jobs with new workers; see `Workers.run`."""
    with Workers(workers) as pool:
        yield from pool.run(jobs)


def _outcome(done: Future[dict[str, Any]], folder: Path) -> dict[str, Any] | NodewiseError:
    try:
        return done.result()
    except NodewiseError as error:
        return error
    except BrokenProcessPool as error:
        raise RunError(
            "workers",
            "a process was killed, perhaps for its memory",
            way_out="run the same command with fewer workers: it continues from what was saved",
        ) from error
    except Exception as error:  # the other jobs continue
        return RunError(
            str(folder),
            f"failed ({type(error).__name__}: {error})",
            way_out="run the same command again: it continues from what was saved",
        )


# In a worker: not 0 once the parent process has asked to stop.
_over: Any = None


def _start(over: Any) -> None:
    import torch

    global _over
    _over = over
    unblock_interrupts()
    torch.set_num_threads(1)
    keep_freed_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End once the parent process is gone; a running job receives the signal and saves."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    # The running job may already have ended after a signal: no other may start.
    _over.value = 1
    os.kill(os.getpid(), signal.SIGTERM)


def _work(job: AnyJob) -> dict[str, Any]:
    with asking_to_stop() as stop:
        record = job.run(lambda: stop() or bool(_over.value))
    parent = parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(INTERRUPTED)  # no process receives the record, but its folder has it
    return record
