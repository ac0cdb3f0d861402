"""Power-law graphs of any size with planted contexts, generated block by block.

Every node has a class and a region. Its features carry one of as many codes as there are classes;
which code stands for which class is another permutation in every region, so that one global weight
matrix has to average over the regions. A weak marker says which region it is: the mean over a
node's neighbors shows it, a single node hardly does.

Node v has class v mod K and region (v div K) mod R. An edge comes from a node of the same class and
region, of the same region, or from anywhere. The number of a target's edges is a power law, and so
is how often a source is chosen. What a node and its edges are depends on seed and block alone, so
the graph is written in memory that does not grow with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.stores.meta import is_store
from nodewise.data.stores.store import GraphStore
from nodewise.data.stores.writer import StoreWriter

Ints = NDArray[np.int64]
BLOCK: Final = 1 << 16  # nodes; another size would be another graph
_SCATTER: Final = 2**31 - 1  # a prime: times this, modulo a smaller count, is a permutation
_HIGHEST: Final = 10_000  # edges of a target
_CODE, _MARKER = 0.5, 0.25  # lengths, in deviations of the noise, of an entry of code and marker


@dataclass(frozen=True)
class PlantedGraph:
    """The settings of a graph; equal settings give equal graphs.

    Args:
        num_nodes: How many nodes.
        degree: Edges that lead to a node, on average, before repeated ones merge.
        width: How many features.
        classes: How many classes, K.
        contexts: How many regions, R.
        affinity: Share of edges within class and region.
        noise: Share of edges from anywhere; the others are within the region.
        labeled: Share of nodes with a label; of these 60 % are to train on, 20 % to validate, 20 %
            to test.
        seed: Which graph.
    """

    num_nodes: int
    degree: int = 20
    width: int = 128
    classes: int = 4
    contexts: int = 6
    affinity: float = 0.5
    noise: float = 0.1
    labeled: float = 0.1
    seed: int = 0

    def blocks(self) -> Iterator[slice]:
        """The nodes, some at a time."""
        for start in range(0, self.num_nodes, BLOCK):
            yield slice(start, min(start + BLOCK, self.num_nodes))

    def edges(self, nodes: slice) -> tuple[Ints, Ints]:
        """The edges of a block of targets: how many each has, and their sources."""
        random, size = self._random("edges", nodes), nodes.stop - nodes.start
        # Pareto of exponent 3, whose mean is twice its least value.
        wanted = self.degree / 2 * (1.0 - random.random(size)) ** -0.5
        target = np.repeat(np.arange(size), np.minimum(wanted + 0.5, _HIGHEST).astype(np.int64))
        source = self._popular(self._kinds_of_sources(nodes.start + target, random), random)
        edge = np.sort(target * self.num_nodes + source)
        edge = edge[np.diff(edge, prepend=-1) > 0]
        target, source = np.divmod(edge, self.num_nodes)
        others = source != nodes.start + target
        return np.bincount(target[others], minlength=size), source[others]

    def features(self, nodes: slice) -> NDArray[np.float32]:
        """The features of a block of nodes."""
        codes, markers = self._codes()
        region, label = np.divmod(self._kinds(nodes), self.classes)
        noise = self._random("features", nodes).standard_normal(
            (len(label), self.width), dtype=np.float32
        )
        noise += codes[(label + region) % self.classes]
        noise += markers[region]
        return noise

    def labels(self, nodes: slice) -> tuple[Ints, NDArray[np.int8]]:
        """Class numbers, -1 where there is no label, and the parts of the split."""
        draw = self._random("labels", nodes).random(nodes.stop - nodes.start) / self.labeled
        part = np.digitize(draw, (0.6, 0.8, 1.0)) + 1
        labeled = part <= 3
        y = np.where(labeled, self._kinds(nodes) % self.classes, -1)
        return y, np.where(labeled, part, 0).astype(np.int8)

    def write(
        self, folder: Path, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> GraphStore:
        """The graph as a store; one of these settings that is there is opened.

        Args:
            folder: Where to.
            progress: Called with the nodes written so far, and all of them.

        Raises:
            OSError: The disk is full.
        """
        if is_store(folder):
            store = GraphStore.open(folder)
            if store.meta.get("planted") == asdict(self):
                return store
        names = [f"feature_{i}" for i in range(self.width)]
        classes = [str(k) for k in range(self.classes)]
        with StoreWriter(
            folder, self.num_nodes, names, classes, split=True, directed=True
        ) as writer:
            for nodes in self.blocks():
                writer.add_nodes(self.features(nodes), *self.labels(nodes))
                writer.add_edges(*self.edges(nodes))
                progress(nodes.stop, self.num_nodes)
            return writer.finish({"planted": asdict(self)})

    def csc(self) -> CscGraph:
        """The edges alone, in memory."""
        degrees, rows = zip(*map(self.edges, self.blocks()), strict=True)
        colptr = np.concatenate([[0], np.cumsum(np.concatenate(degrees))])
        return CscGraph(colptr, np.concatenate([row.astype(np.int32) for row in rows]))

    @property
    def _all_kinds(self) -> int:
        return self.classes * self.contexts

    def _kinds(self, nodes: slice) -> Ints:
        """Region times K plus class."""
        return np.arange(nodes.start, nodes.stop) % self._all_kinds

    def _kinds_of_sources(self, target: Ints, random: np.random.Generator) -> Ints:
        kind, draw = target % self._all_kinds, random.random(len(target))
        in_region = kind - kind % self.classes + random.integers(self.classes, size=len(target))
        anywhere = random.integers(self._all_kinds, size=len(target))
        chosen = np.where(draw < self.affinity, kind, in_region)
        return np.where(draw >= 1 - self.noise, anywhere, chosen)

    def _popular(self, kind: Ints, random: np.random.Generator) -> Ints:
        """A node of each kind, by popularity: that of rank r is chosen in proportion to r^-1/2."""
        count = (self.num_nodes - 1 - kind) // self._all_kinds + 1
        rank = (random.random(len(kind)) ** 2 * count).astype(np.int64)
        # Popular nodes should not lie side by side, where they would share pages of the file.
        return kind + self._all_kinds * (rank * _SCATTER % count)

    def _codes(self) -> tuple[Any, Any]:
        """A code for each group and a marker for each region, of signs."""
        random = np.random.default_rng([self.seed, len("codes")])
        codes = random.choice([-_CODE, _CODE], (self.classes, self.width)).astype(np.float32)
        markers = random.choice([-_MARKER, _MARKER], (self.contexts, self.width))
        return codes, markers.astype(np.float32)

    def _random(self, what: str, nodes: slice) -> np.random.Generator:
        return np.random.default_rng([self.seed, *what.encode(), nodes.start])
