from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data.variations import Variation


def edges_by_content(data: Data) -> list[tuple[float, ...]]:
    """Both ends of every edge, named by features, label and place in the split."""
    masks = (data.train_mask, data.val_mask, data.test_mask)
    rows = torch.cat([data.x, data.y[:, None], torch.stack(masks, 1)], 1)
    return sorted(map(tuple, torch.cat([rows[end] for end in data.edge_index], 1).tolist()))


def graph() -> Data:
    """The toy graph with another number in every row, and two rows without features."""
    data = nw.load_dataset("toy")
    data.x = data.x + 1e-3 * torch.arange(len(data.x))[:, None]
    data.x[:2] = 0
    return data


def test_another_order_of_nodes_is_the_same_graph() -> None:
    data = graph()
    x, other = data.x.clone(), Variation(node_order=3).apply(data)
    assert not torch.equal(other.x, x) and torch.equal(data.x, x)
    assert edges_by_content(other) == edges_by_content(data)
    assert not torch.equal(Variation(node_order=4).apply(data).x, other.x)


def test_repeated_edges_occur_twice_in_both_directions() -> None:
    data = graph()
    pairs, counts = (
        Variation(repeated_edges=7).apply(data).edge_index.unique(dim=1, return_counts=True)
    )
    assert counts.max() == 2 and int((counts == 2).sum()) == 14
    twice = pairs[:, counts == 2]
    assert set(map(tuple, twice.t().tolist())) == set(map(tuple, twice.flip(0).t().tolist()))


def test_only_empty_rows_are_filled() -> None:
    data = graph()
    x: Tensor = Variation(fill_empty_rows=True).apply(data).x
    assert bool((x[:2] == 1).all()) and torch.equal(x[2:], data.x[2:])
