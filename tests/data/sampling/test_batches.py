from __future__ import annotations

import threading
from collections.abc import Iterator
from time import sleep

import numpy as np
import pytest
import torch

from nodewise.data.sampling.batches import BatchLoader, made_ahead
from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.sampler import NeighborSampler, SampledBatch


def loader(workers: int = 0, shuffle: bool = True, size: int = 8) -> BatchLoader:
    edge_index = torch.randint(50, (2, 400), generator=torch.Generator().manual_seed(0))
    sampler = NeighborSampler(CscGraph.from_edges(edge_index, 50), [3, 2], seed=4)
    return BatchLoader(sampler, np.arange(10, 41), size, shuffle, workers)


def content(batches: Iterator[SampledBatch]) -> list[tuple[list[int], ...]]:
    return [(b.n_id.tolist(), b.e_id.tolist(), b.input_id.tolist()) for b in batches]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_batches_are_the_same_for_any_number_of_workers(workers: int) -> None:
    for epoch in (0, 3):
        expected = content(loader().epoch(epoch, lambda batch: batch))
        assert content(loader(workers).epoch(epoch, lambda batch: batch)) == expected


def test_an_epoch_has_every_node_once_in_an_order_of_its_own() -> None:
    found = [list(loader().epoch(epoch, lambda batch: batch)) for epoch in (0, 1)]
    assert len(found[0]) == len(loader()) == 4
    orders = [np.concatenate([b.input_id for b in batches]).tolist() for batches in found]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(31)) and orders[0] != orders[1]
    for batch in found[0]:
        assert batch.n_id[: batch.batch_size].tolist() == (batch.input_id + 10).tolist()
    plain = np.concatenate([b.n_id[: b.batch_size] for b in loader(shuffle=False)])
    assert plain.tolist() == list(range(10, 41))


@pytest.mark.parametrize(
    ("size", "sizes"), [(8, [7, 8, 8, 8]), (30, [15, 16]), (31, [31]), (100, [31])]
)
def test_batches_are_of_one_size(size: int, sizes: list[int]) -> None:
    """Also the last: that of a few nodes would make as large a step as the others."""
    assert [batch.batch_size for batch in loader(size=size)] == sizes


def test_a_process_of_several_takes_its_share_of_every_batch() -> None:
    whole = list(loader().epoch(1, lambda batch: batch))
    shares = [list(loader().epoch(1, lambda batch: batch, slice(rank, None, 2))) for rank in (0, 1)]
    for batch, *parts in zip(whole, *shares, strict=True):
        seeds = [int(node) for part in parts for node in part.n_id[: part.batch_size]]
        assert sorted(seeds) == sorted(batch.n_id[: batch.batch_size].tolist())


def threads() -> int:
    return sum("batches" in thread.name for thread in threading.enumerate())


def test_results_come_in_order_and_only_so_many_are_made_ahead() -> None:
    made: list[int] = []

    def make(item: int) -> int:
        sleep(0.002 * (item % 3))
        made.append(item)
        return item

    results = made_ahead(make, range(50), workers=3, ahead=2)
    assert next(results) == 0
    sleep(0.1)
    assert len(made) <= 6 and threads() > 0
    assert list(results) == list(range(1, 50)) and threads() == 0


def failing(item: int) -> int:
    if item == 3:
        raise ValueError("item 3")
    return item


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_are_raised_where_the_result_is_asked_for(workers: int) -> None:
    results, found = made_ahead(failing, range(9), workers), []
    with pytest.raises(ValueError, match="item 3"):
        for item in results:
            found.append(item)
    assert found == [0, 1, 2] and threads() == 0


def test_ctrl_c_in_the_callers_loop_ends_the_threads() -> None:
    results = made_ahead(lambda item: item, range(10**9), workers=2)
    with pytest.raises(KeyboardInterrupt):
        for item in results:
            if item == 5:
                raise KeyboardInterrupt
    results.close()  # type: ignore[attr-defined]
    assert threads() == 0


def test_a_loader_that_is_left_early_leaves_no_threads() -> None:
    for _ in loader(workers=2):
        break
    assert threads() == 0
