"""Changes of a graph where its published form leaves something open: does a result depend on it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Variation:
    """A change of a graph for an experiment, after its split is known.

    Attributes:
        node_order: Number the nodes in an order drawn with this seed; 0 keeps the order. A model
            that takes the first neighbors by number then takes others.
        repeated_edges: So many undirected edges, drawn at random, occur twice.
        fill_empty_rows: Nodes without features get 1 in every column, so that their rows sum to
            one after normalization, as all others do.
    """

    node_order: int = 0
    repeated_edges: int = 0
    fill_empty_rows: bool = False

    def apply(self, data: Data) -> Data:
        """The changed graph; the given one stays as it is."""
        out = data.clone()
        if self.fill_empty_rows:
            out.x[out.x.count_nonzero(1) == 0] = 1
        if self.repeated_edges:
            out.edge_index = _with_repeats(out.edge_index, self.repeated_edges)
        return _renumbered(out, self.node_order) if self.node_order else out


def _with_repeats(edge_index: Tensor, count: int) -> Tensor:
    """Some edges again, both directions of each."""
    once = edge_index[:, edge_index[0] < edge_index[1]]
    drawn = torch.randperm(once.size(1), generator=torch.Generator().manual_seed(0))[:count]
    again = once[:, drawn]
    return torch.cat([edge_index, again, again.flip(0)], 1)


def _renumbered(data: Data, seed: int) -> Data:
    """The nodes in another order: `order[i]` becomes node i."""
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    for name, value in data.to_dict().items():
        if isinstance(value, Tensor) and data.is_node_attr(name):
            data[name] = value[order]
    data.edge_index = order.argsort()[data.edge_index]
    return data
