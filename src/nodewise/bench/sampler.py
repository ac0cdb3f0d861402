"""`nodewise bench sampler`: sampled edges per second, beside a sampler in plain torch.

The torch sampler does the same work: neighbors without repeats, each node once, numbers in the
order of the hops. It is vectorized, and needs no sort: a subset is drawn by Floyd's algorithm for
all targets at once, and nodes are numbered by a table as long as the graph. Both sample the same
seeds with as many threads, each thread its own batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import local
from typing import Any, Final

import torch
from torch import Tensor

from nodewise.bench.planted import PlantedGraph
from nodewise.bench.timing import side_by_side
from nodewise.data.sampling.batches import made_ahead
from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.sampler import IntArray, NeighborSampler
from nodewise.randomness import FrozenRandom

FANOUTS: Final = (15, 10)
BATCH_SIZE: Final = 1024


@dataclass(frozen=True, eq=False)
class TorchBatch:
    """A batch of the torch sampler; names are those of `SampledBatch`."""

    n_id: Tensor
    edge_index: Tensor
    e_id: Tensor


class TorchSampler:
    """A neighbor sampler in plain torch.

    Args:
        graph: The edges, sorted by target.
        fanouts: How many neighbors of each node, at most, for each hop from the seeds on.
    """

    def __init__(self, graph: CscGraph, fanouts: Sequence[int]) -> None:
        self._colptr, self._row = torch.from_numpy(graph.colptr), torch.from_numpy(graph.row)
        self._fanouts, self._own = fanouts, local()

    def sample(self, seeds: Tensor, seed: int) -> TorchBatch:
        """The sampled neighborhood of some seeds."""
        make = torch.Generator().manual_seed(seed)
        numbers = self._numbers()
        numbers[seeds] = torch.arange(len(seeds))
        n_id, frontier, first = [seeds], seeds, 0
        edges, places = [], []
        for fanout in self._fanouts:
            target, e_id = self._draw(frontier, fanout, make)
            source = self._row[e_id].long()
            known = first + len(frontier)
            frontier = _number_new(numbers, source, known)
            edges.append(torch.stack([numbers[source], first + target]))
            places.append(e_id)
            n_id.append(frontier)
            first = known
        nodes = torch.cat(n_id)
        numbers[nodes] = -1
        return TorchBatch(nodes, torch.cat(edges, 1), torch.cat(places))

    def _numbers(self) -> Tensor:
        """A number for each node of the graph, -1 where it has none; one table a thread."""
        if not hasattr(self._own, "numbers"):
            self._own.numbers = torch.full((len(self._colptr) - 1,), -1)
        return self._own.numbers  # type: ignore[no-any-return]

    def _draw(self, nodes: Tensor, fanout: int, make: torch.Generator) -> tuple[Tensor, Tensor]:
        """Some neighbors of each node, without repeats: their targets and places in `row`."""
        start = self._colptr[nodes]
        degree = self._colptr[nodes + 1] - start
        picked = torch.empty(len(nodes), fanout, dtype=torch.int64)
        uniform = torch.rand(len(nodes), fanout, generator=make, dtype=torch.float64)
        for i in range(fanout):  # Floyd: one of the first last + 1 places, or, if it is taken, last
            last = degree - fanout + i
            place = (uniform[:, i] * (last + 1)).long()
            taken = (picked[:, :i] == place[:, None]).any(1)
            picked[:, i] = torch.where(taken, last, place)
        few = degree < fanout
        picked[few] = torch.arange(fanout)
        there = picked < degree[:, None]
        target = torch.arange(len(nodes)).repeat_interleave(there.sum(1))
        return target, (picked + start[:, None])[there]


def _number_new(numbers: Tensor, nodes: Tensor, known: int) -> Tensor:
    """Number those nodes that have none yet, and return them, each once."""
    new = nodes[numbers[nodes] < 0]
    places = torch.arange(len(new))
    numbers[new] = places  # of a repeated node, one place stays
    new = new[numbers[new] == places]
    numbers[new] = torch.arange(known, known + len(new))
    return new


def bench_sampler(
    num_nodes: int = 1_000_000,
    batches: int = 100,
    repeats: int = 5,
    progress: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command."""
    settings = PlantedGraph(num_nodes)
    progress(f"a graph of {num_nodes:,} nodes")
    graph, threads = settings.csc(), torch.get_num_threads()
    progress(f"{graph.num_edges:,} edges; {batches} batches of {BATCH_SIZE} seeds")
    seeds = FrozenRandom(0, "seeds of bench sampler").permutation(num_nodes)
    parts = [seeds[i * BATCH_SIZE : (i + 1) * BATCH_SIZE] for i in range(batches)]
    ours = NeighborSampler(graph, FANOUTS)
    plain = TorchSampler(graph, FANOUTS)
    jobs: dict[str, Callable[[], int]] = {
        "ours": lambda: sum(_ours(ours, parts, threads)),
        "torch": lambda: sum(_plain(plain, parts, threads)),
    }
    counts = {name: job() for name, job in jobs.items()}
    with _one_thread_each():
        taken = side_by_side(jobs, repeats)
    speed = {name: counts[name] / taken[name] for name in jobs}
    return {
        "edges_per_second": speed["ours"],
        "torch_edges_per_second": speed["torch"],
        "ratio_vs_torch": speed["ours"] / speed["torch"],
        "batches_per_second": batches / taken["ours"],
        "nodes": num_nodes,
        "edges": graph.num_edges,
        "sampled_edges": counts["ours"],
        "fanouts": list(FANOUTS),
        "batch_size": BATCH_SIZE,
        "threads": threads,
    }


def _ours(sampler: NeighborSampler, parts: list[IntArray], threads: int) -> Iterator[int]:
    items = list(enumerate(parts))
    return made_ahead(lambda item: len(sampler.sample(item[1], 0, item[0]).row), items, threads)


def _plain(sampler: TorchSampler, parts: list[IntArray], threads: int) -> Iterator[int]:
    items = [(number, torch.from_numpy(part)) for number, part in enumerate(parts)]
    return made_ahead(lambda item: len(sampler.sample(item[1], item[0]).e_id), items, threads)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Torch computes on the thread that calls it: batches are what runs side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
