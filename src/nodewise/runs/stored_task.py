"""Tasks on graphs in files: nothing is read into memory but labels, and what batches need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch

from nodewise.data.splits.drawn import hold_out, stratified_split
from nodewise.data.splits.split import Split
from nodewise.data.stores.store import PREPROCESSING, GraphStore
from nodewise.runs.task import Task
from nodewise.runs.whole_graph import WholeGraph
from nodewise.training.engines.base import Engine
from nodewise.training.engines.batch_graph import StoredGraph
from nodewise.training.engines.choice import EngineChoice, choose_engine
from nodewise.training.engines.minibatch import MinibatchEngine
from nodewise.training.recipe import Recipe


def store_source(folder: str | Path, split_seed: int = 0) -> dict[str, Any]:
    """Where graph and split come from, as records have it.

    Args:
        folder: The store's.
        split_seed: Which split is drawn, where the store has none.
    """
    return {"store": str(folder), "split_seed": split_seed}


class StoredIds(Sequence[Any]):
    """The names of a store's nodes, read when they are asked for.

    Args:
        store: The store.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def __len__(self) -> int:
        return self._store.num_nodes

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._store.ids(start, stop)[::step]
        return self._store.ids(index, index + 1)[0]


@dataclass(frozen=True)
class StoredTask(Task):
    """A model, a recipe and a graph in files; its `data` has labels, and features that are mapped.

    Attributes:
        store: The files.
    """

    store: GraphStore | None = None

    @cached_property
    def graph(self) -> StoredGraph:  # type: ignore[override]  # read where it is needed
        """The graph as an engine takes it."""
        assert self.store is not None
        features, device = self.recipe.optimization.features, self.data.y.device
        return StoredGraph(self.store, self.split, features, device)

    @property
    def whole_graph(self) -> WholeGraph:
        """The graph as predictions take it."""
        assert self.store is not None
        return WholeGraph.of_store(self.store)

    @property
    def engine_choice(self) -> EngineChoice:
        """Mini-batches.

        Raises:
            InputError: They cannot train this model.
        """
        model = self.fresh_model()
        batching = self.recipe.batching
        return choose_engine(model, self._sizes, batching, self.resources, in_memory=False)

    @property
    def _sizes(self) -> tuple[int, int]:
        assert self.store is not None
        return self.store.num_nodes, self.store.num_edges

    def engine(self, seconds: float = inf) -> Engine:
        """An engine with an untrained model."""
        model: Any = self.fresh_model()
        choose_engine(model, self._sizes, self.recipe.batching, self.resources, in_memory=False)
        return MinibatchEngine(model, self.graph, self.recipe, self.resources)

    def in_memory(self, most: int) -> Task:
        """The same task in memory, on the nodes of its split and without edges.

        Args:
            most: The largest number of features that are read; of more there are none.
        """
        from torch_geometric.data import Data

        assert self.store is not None
        parts = [nodes for _, nodes in self.split]
        nodes, sizes = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
        edges = torch.empty(2, 0, dtype=torch.int64)
        y, names = self.graph.labels(nodes), list(self.class_names)
        small = len(nodes) * self.store.num_features <= most
        x = self.store.take(nodes) if small else torch.empty(len(nodes), 0)
        data = Data(x=x, y=y, edge_index=edges, class_names=names)
        split = Split(*(np.arange(*ends) for ends in pairwise(sizes)))
        return Task(
            data,
            split,
            self.source,
            self.model,
            self.recipe,
            known_sha256=self.graph_sha256,
        )


def stored_task(
    source: Mapping[str, Any], model: str, recipe: Recipe, device: str = "cpu"
) -> StoredTask:
    """A model of the zoo on the graph of a store.

    Args:
        source: What `store_source` returned.
        model: The model's name.
        recipe: The recipe.
        device: Where to compute.

    Raises:
        GraphError: The store is damaged, or has no labels.
        SplitError: There is no node to train on.
    """
    from torch_geometric.data import Data

    store = GraphStore.open(source["store"])
    y = torch.from_numpy(np.array(store.y, np.int64))
    # Copied on write, since torch takes no array that is read-only; nothing is written.
    x = torch.from_numpy(np.load(store.folder / "x.npy", mmap_mode="c"))
    names = {"class_names": list(store.classes), "feature_names": list(store.feature_names)}
    data = Data(x=x, y=y.to(device), **names)
    split = split_of_store(store, y, int(source["split_seed"]))
    preprocessing = store.preprocessing if (store.folder / PREPROCESSING).exists() else None
    return StoredTask(
        data,
        split,
        dict(source),
        model,
        recipe,
        ids=StoredIds(store),
        preprocessing=preprocessing,
        known_sha256=store.sha256,
        store=store,
    )


def split_of_store(store: GraphStore, y: torch.Tensor, seed: int) -> Split:
    """The split of a store, completed as that of a table is."""
    given = store.split
    if given is None or not len(given.train):
        return stratified_split(y, seed)
    return given if len(given.val) else hold_out(given.train, y, given.test)
