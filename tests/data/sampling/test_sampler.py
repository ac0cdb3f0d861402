from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.sampler import NeighborSampler, SampledBatch
from nodewise.errors import GraphError, InputError

NODES = 40


def edges(count: int = 300, seed: int = 0) -> Tensor:
    make = torch.Generator().manual_seed(seed)
    return torch.randint(NODES, (2, count), generator=make)


def graph(count: int = 300) -> CscGraph:
    return CscGraph.from_edges(edges(count), NODES)


def neighbors_of(batch: SampledBatch, target: int) -> list[int]:
    """The sampled neighbors of a node, by their numbers in the graph."""
    return [int(n) for n in batch.n_id[batch.row[batch.ptr[target] : batch.ptr[target + 1]]]]


def test_edges_of_one_target_keep_their_order() -> None:
    edge_index = torch.tensor([[2, 0, 1, 2], [1, 0, 1, 1]])
    weight = torch.tensor([0.1, 0.2, 0.3, 0.4])
    csc = CscGraph.from_edges(edge_index, 3, weight)
    assert csc.colptr.tolist() == [0, 1, 4, 4] and csc.row.tolist() == [0, 2, 1, 2]
    assert csc.edge_weight is not None
    assert csc.edge_weight.tolist() == pytest.approx([0.2, 0.1, 0.3, 0.4])
    assert csc.degrees(np.array([2, 1])).tolist() == [0, 3]


def test_offsets_that_do_not_fit_are_refused() -> None:
    with pytest.raises(GraphError, match="must start at 0 and end at 2"):
        CscGraph(np.array([0, 1]), np.array([0, 0]))


@pytest.mark.parametrize("fanouts", [[3, 2], [-1, -1], [1], [50, 3, -1]])
def test_every_node_has_as_many_neighbors_as_the_fanout_allows(fanouts: list[int]) -> None:
    csc, seeds = graph(), np.array([7, 3, 21])
    batch = NeighborSampler(csc, fanouts).sample(seeds)
    assert batch.n_id[: batch.batch_size].tolist() == seeds.tolist()
    assert len(set(batch.n_id.tolist())) == batch.num_nodes == sum(batch.num_sampled_nodes)
    assert len(batch.row) == sum(batch.num_sampled_edges) == batch.ptr[-1]
    assert len(set(batch.e_id.tolist())) == len(batch.e_id)
    first = 0
    for fanout, size in zip(fanouts, batch.num_sampled_nodes, strict=False):
        for target in range(first, first + size):
            degree = int(csc.degrees(batch.n_id[target : target + 1])[0])
            expected = degree if fanout == -1 else min(fanout, degree)
            assert batch.ptr[target + 1] - batch.ptr[target] == expected
        first += size
    assert first == len(batch.ptr) - 1


def test_sampled_edges_are_edges_of_the_graph() -> None:
    csc = graph()
    batch = NeighborSampler(csc, [4, 4]).sample(np.array([0, 5]))
    source, target = batch.edge_index.numpy()
    assert (np.diff(target) >= 0).all()
    np.testing.assert_array_equal(batch.n_id[source], csc.row[batch.e_id])
    ends = np.searchsorted(csc.colptr, batch.e_id, side="right") - 1
    np.testing.assert_array_equal(batch.n_id[target], ends)


def test_later_hops_sample_the_nodes_that_the_hop_before_has_added() -> None:
    chain = torch.stack([torch.arange(1, 10), torch.arange(9)])  # v + 1 -> v
    batch = NeighborSampler(CscGraph.from_edges(chain, 10), [-1, -1, -1]).sample(np.array([2, 3]))
    assert batch.n_id.tolist() == [2, 3, 4, 5, 6]
    assert batch.num_sampled_nodes == [2, 1, 1, 1] and batch.num_sampled_edges == [2, 1, 1]


@pytest.mark.parametrize(("degree", "fanout"), [(5, 2), (200, 20), (120, 60)])
def test_all_subsets_of_neighbors_are_equally_likely(degree: int, fanout: int) -> None:
    star = torch.stack([torch.arange(1, degree + 1), torch.zeros(degree, dtype=torch.int64)])
    sampler = NeighborSampler(CscGraph.from_edges(star, degree + 1), [fanout])
    count, draws = np.zeros(degree), 4000
    together = 0
    for number in range(draws):
        found = neighbors_of(sampler.sample(np.array([0]), number=number), 0)
        assert len(set(found)) == fanout
        count[np.array(found) - 1] += 1
        together += {1, degree} <= set(found)
    share = fanout / degree
    # Counts of draws without repeats vary less than independent ones: chi-square, 5 sigma.
    statistic = ((count - draws * share) ** 2).sum() / (draws * share * (1 - share))
    assert abs(statistic - degree) < 5 * np.sqrt(2 * degree)
    pair = share * (fanout - 1) / (degree - 1)
    assert abs(together - draws * pair) < 5 * np.sqrt(draws * pair)


def test_a_batch_is_a_function_of_seed_epoch_and_number() -> None:
    def sample(seed: int, epoch: int, number: int) -> list[int]:
        batch = NeighborSampler(graph(), [2, 2], seed).sample(np.arange(10), epoch, number)
        return batch.e_id.tolist()

    assert sample(1, 2, 3) == sample(1, 2, 3)
    others = [sample(0, 2, 3), sample(1, 0, 3), sample(1, 2, 0), sample(2, 1, 3), sample(1, 3, 2)]
    assert all(sample(1, 2, 3) != other for other in others)


def test_a_node_has_the_same_neighbors_in_every_part_of_a_batch() -> None:
    sampler = NeighborSampler(graph(), [2, 2])
    whole, half = sampler.sample(np.arange(10)), sampler.sample(np.arange(5, 10))
    for target in range(5):
        assert neighbors_of(half, target) == neighbors_of(whole, target + 5)
    of_whole = {int(n): i for i, n in enumerate(whole.n_id[: len(whole.ptr) - 1])}
    for target in range(len(half.ptr) - 1):
        assert neighbors_of(half, target) == neighbors_of(whole, of_whole[int(half.n_id[target])])


def test_memory_mapped_edges_give_the_same_batches(tmp_path: Path) -> None:
    csc = graph()
    for name, array in (("colptr", csc.colptr), ("row", csc.row.astype(np.int32))):
        np.save(tmp_path / f"{name}.npy", array)
    arrays = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("colptr", "row"))
    batches = [NeighborSampler(g, [3, 3]).sample(np.arange(9)) for g in (csc, CscGraph(*arrays))]
    np.testing.assert_array_equal(batches[0].n_id, batches[1].n_id)
    np.testing.assert_array_equal(batches[0].e_id, batches[1].e_id)


def test_no_edges_and_no_seeds_are_batches_too() -> None:
    empty = CscGraph.from_edges(torch.zeros(2, 0, dtype=torch.int64), 3)
    batch = NeighborSampler(empty, [2, 2]).sample(np.array([1]))
    assert batch.num_sampled_nodes == [1, 0, 0] and batch.num_sampled_edges == [0, 0]
    nothing = NeighborSampler(graph(), [2]).sample(np.zeros(0))
    assert nothing.num_nodes == 0 and nothing.edge_index.shape == (2, 0)


def test_wrong_seeds_and_fanouts_are_refused() -> None:
    sampler = NeighborSampler(graph(), [2])
    with pytest.raises(InputError, match="below 40"):
        sampler.sample(np.array([40]))
    with pytest.raises(InputError, match="repeat a node"):
        sampler.sample(np.array([1, 1]))
    with pytest.raises(InputError, match="give -1 for all"):
        NeighborSampler(graph(), [0])
