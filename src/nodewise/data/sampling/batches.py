"""Batches of an epoch, made by threads while the caller computes; in order, and never too many.

A sampler's kernels and numpy release the interpreter's lock, so threads are enough: nothing is
copied between processes, and nothing is left behind when the caller stops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nodewise.data.sampling.sampler import IntArray, NeighborSampler, SampledBatch
from nodewise.randomness import FrozenRandom

Item = TypeVar("Item")
Made = TypeVar("Made")


def made_ahead(
    make: Callable[[Item], Made], items: Iterable[Item], workers: int, ahead: int = 2
) -> Iterator[Made]:
    """`make` of each item, in order, computed by threads before they are asked for.

    An error of `make` is raised where its result is asked for. Whatever ends the caller's loop,
    an error and Ctrl-C included, also ends the threads: close the iterator, or let it go.

    Args:
        make: The function; it should release the interpreter's lock most of the time.
        items: Its arguments.
        workers: How many threads; 0 computes in the caller's.
        ahead: How many results wait for the caller, besides one for each thread.
    """
    if not workers:
        yield from map(make, items)
        return
    rest, waiting = iter(items), deque[Future[Made]]()
    pool = ThreadPoolExecutor(workers, "batches")
    try:
        while True:
            while len(waiting) < workers + ahead and (item := next(rest, pool)) is not pool:
                waiting.append(pool.submit(make, item))  # type: ignore[arg-type]
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, eq=False)
class BatchLoader:
    """The batches of some nodes, epoch by epoch; the same ones for any number of workers.

    Their sizes differ by one node at most: a last batch of a few nodes would make as large a step
    as the others, from little evidence.

    Args:
        sampler: The sampler; its seed also orders the nodes.
        input_nodes: The nodes.
        batch_size: How many of them form a batch, at most.
        shuffle: Whether every epoch has another order.
        workers: How many threads sample; 0 samples in the caller's.
    """

    sampler: NeighborSampler
    input_nodes: NDArray[np.integer[Any]]
    batch_size: int
    shuffle: bool = False
    workers: int = 1

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return -(-len(self.input_nodes) // self.batch_size)

    def order(self, epoch: int) -> IntArray:
        """The places of the nodes in the order of an epoch."""
        if not self.shuffle:
            return np.arange(len(self.input_nodes))
        stream = FrozenRandom(self.sampler.seed, f"batches of epoch {epoch}")
        return stream.permutation(len(self.input_nodes))

    def epoch(
        self, epoch: int, make: Callable[[SampledBatch], Made], part: slice = slice(None)
    ) -> Iterator[Made]:
        """The results of `make` for each batch of an epoch; it runs on the workers' threads.

        Args:
            epoch: The epoch, counted from 0.
            make: The function.
            part: Which seeds of every batch: a process of several takes its share.
        """
        order = self.order(epoch)

        def sample(number: int) -> Made:
            ends = [step * len(order) // len(self) for step in (number, number + 1)]
            whole = order[slice(*ends)]
            places = whole[part]
            batch = self.sampler.sample(self.input_nodes[places], epoch, number)
            return make(replace(batch, input_id=places, whole_size=len(whole)))

        return made_ahead(sample, range(len(self)), self.workers)

    def __iter__(self) -> Iterator[SampledBatch]:
        """The batches of epoch 0."""
        with closing(self.epoch(0, lambda batch: batch)) as batches:  # type: ignore[type-var]
            yield from batches
