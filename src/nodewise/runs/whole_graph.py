"""A graph of which all nodes are computed: in memory, or in a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nodewise.data.graph import GraphTable
from nodewise.data.stores.store import GraphStore
from nodewise.errors import TableError

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """A graph in memory or in a store, with the names of its nodes.

    Attributes:
        data: What `SavedRun.outputs` takes.
        num_nodes: How many nodes it has.
        num_edges: How many edges.
        ids: A name for each node; None for those of the store.
    """

    data: Data | GraphStore
    num_nodes: int
    num_edges: int
    ids: Sequence[Any] | None = None

    @classmethod
    def of_table(cls, graph: GraphTable, device: str) -> Self:
        """A graph in memory, moved to a device."""
        data = graph.data.to(device)
        return cls(data, int(data.x.size(0)), int(data.edge_index.size(1)), graph.ids)

    @classmethod
    def of_store(cls, store: GraphStore) -> Self:
        """A graph in files, which stays there."""
        return cls(store, store.num_nodes, store.num_edges)

    def names(self, start: int, stop: int) -> Sequence[Any]:
        """The names of the nodes `start` to `stop` - 1."""
        if isinstance(self.data, GraphStore):
            return self.data.ids(start, stop)
        assert self.ids is not None
        return self.ids[start:stop]


def open_training_store(source: Mapping[str, Any]) -> GraphStore:
    """The store that a run was trained on.

    Raises:
        GraphError: The folder is not a store.
        TableError: It is not the one of training.
    """
    store = GraphStore.open(Path(source["store"]))
    if source.get("sha256", store.sha256) != store.sha256:
        raise TableError(
            str(store.folder),
            "is not the graph of training",
            value=store.sha256[:12],
            way_out="name the graph to predict, or write the store of training again",
        )
    return store
