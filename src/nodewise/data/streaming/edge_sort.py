"""Sorts edges by target on disk, and merges repeated ones as `connect` does in memory.

Every row of the table becomes two entries, one at each end, in buckets of neighboring nodes. Each
bucket fits the memory: it is sorted, and gives the edges of its nodes. An entry is one integer,
(node, other end, direction), so that all rows between two nodes lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.streaming.kernels import count_ends
from nodewise.data.streaming.spill import Spill
from nodewise.data.streaming.table import Show

Ints = NDArray[np.int64]
_BLOCK = 1 << 20  # rows that are dealt out at a time


@dataclass
class EdgeCounts:
    """The numbers of merged and dropped rows; see `Edges`."""

    loops: int = 0
    rows: int = 0
    directed_pairs: int = 0
    pairs: int = 0
    disagreeing: int = 0

    def dropped(self, directed: bool) -> Mapping[str, int]:
        """Why rows were dropped, and how many."""
        reasons = {
            "self-loops": self.loops,
            "repeated edges": self.rows - self.directed_pairs,
            "edges listed in both directions": 0 if directed else self.directed_pairs - self.pairs,
        }
        return {reason: count for reason, count in reasons.items() if count}


@dataclass(frozen=True, eq=False)
class TargetBlock:
    """The edges of some targets, sorted.

    Attributes:
        degrees: How many edges each target has.
        row: Their sources, target by target.
        weight: Their weights, or None.
        neighbors: How many neighbors each node has, in either direction.
    """

    degrees: Ints
    row: Ints
    weight: NDArray[np.float64] | None
    neighbors: Ints


@dataclass(eq=False)
class EdgeSorter:
    """Takes the rows of a table of edges, and gives the edges by target.

    Args:
        folder: Where temporary files are written.
        num_nodes: How many nodes there are.
        directed: Whether edges have a direction.
        weighted: Whether they have weights.
        most: How many entries are sorted at a time.
    """

    folder: Path
    num_nodes: int
    directed: bool
    weighted: bool
    most: int
    counts: EdgeCounts = field(default_factory=EdgeCounts)

    def __post_init__(self) -> None:
        kind = np.int32 if self.num_nodes < 2**31 else np.int64
        self._rows = {name: Spill(self.folder / name, kind) for name in ("sources", "targets")}
        if self.weighted:
            self._rows["weights"] = Spill(self.folder / "weights", np.float64)
        self._entries = np.zeros(self.num_nodes, np.int64)

    def add(self, ends: Ints, weight: NDArray[np.float64] | None = None) -> None:
        """Take rows: the numbers of their ends (2, rows), and their weights.

        Raises:
            OSError: The disk is full.
        """
        others = ends[0] != ends[1]
        self.counts.loops += int((~others).sum())
        source, target = ends[:, others]
        self.counts.rows += len(source)
        count_ends(source, target, self._entries)
        self._rows["sources"].append(source)
        self._rows["targets"].append(target)
        if weight is not None:
            self._rows["weights"].append(weight[others])

    def blocks(self, show: Show = lambda what, done, total: None) -> Iterator[TargetBlock]:
        """The edges of all targets, in order.

        Raises:
            OSError: The disk is full.
        """
        bounds = self._bounds()
        buckets = self._deal(bounds, show)
        for number, (first, last) in enumerate(pairwise(bounds.tolist())):
            yield self._sorted(first, last, buckets[number])
            show("sorting edges", 2 * self.counts.rows + last, self._steps)
            for spill in buckets[number].values():
                spill.remove()

    @property
    def _steps(self) -> int:
        return 2 * self.counts.rows + self.num_nodes

    def _bounds(self) -> Ints:
        """The first node of each bucket, and the number of nodes."""
        ends = np.cumsum(self._entries)
        count = max(1, -(-int(ends[-1]) // self.most))
        wanted = np.arange(1, count) * (int(ends[-1]) // count)
        inner = np.searchsorted(ends, wanted, side="right")
        return np.unique(np.concatenate([[0], inner, [self.num_nodes]])).astype(np.int64)

    def _deal(self, bounds: Ints, show: Show) -> list[dict[str, Spill]]:
        """Both entries of every row, in the order of rows, into the bucket of their node."""
        buckets = [self._bucket(number) for number in range(len(bounds) - 1)]
        parts = [spill.blocks(_BLOCK) for spill in self._rows.values()]
        done = 0
        for source, target, *weight in zip(*parts, strict=True):
            node, other = _alternating(target, source), _alternating(source, target)
            which = np.searchsorted(bounds, node, side="right") - 1
            key = (node - bounds[which]) * self.num_nodes + other
            entries = {"keys": 2 * key + np.tile([0, 1], len(source))}
            if weight:
                entries["weights"] = np.repeat(weight[0], 2)
            for number in np.unique(which):
                chosen = which == number
                for name, values in entries.items():
                    buckets[number][name].append(values[chosen])
            done += 2 * len(source)
            show("sorting edges", done, self._steps)
        for spill in self._rows.values():
            spill.remove()
        return buckets

    def _bucket(self, number: int) -> dict[str, Spill]:
        bucket = {"keys": Spill(self.folder / f"keys-{number}", np.int64)}
        if self.weighted:
            bucket["weights"] = Spill(self.folder / f"weights-{number}", np.float64)
        return bucket

    def _sorted(self, first: int, last: int, bucket: dict[str, Spill]) -> TargetBlock:
        """The edges of the nodes of a bucket."""
        keys = np.array(bucket["keys"].mapped())
        weight = np.array(bucket["weights"].mapped()) if self.weighted else None
        if weight is None:
            keys.sort()
        else:
            # By pair, and within a pair by row.
            order = np.argsort(keys >> 1, kind="stable")
            keys, weight = keys[order], weight[order]
        pair, reverse = keys >> 1, (keys & 1).astype(np.bool_)
        starts = _is_first(pair)
        node, other = np.divmod(pair, self.num_nodes)
        self._count(keys, starts, reverse, first + node < other)
        neighbors = np.bincount(node[starts], minlength=last - first)
        if self.directed:
            forward = ~reverse
            node, other, pair = node[forward], other[forward], pair[forward]
            weight = None if weight is None else weight[forward]
            starts = _is_first(pair)
            reverse = np.zeros(len(pair), np.bool_)
        if weight is not None:
            kept = weight[starts]
            of_group = np.cumsum(starts) - 1
            # Every row has one entry that is not reversed, so each is compared once.
            self.counts.disagreeing += int(((weight != kept[of_group]) & ~reverse).sum())
            weight = kept
        degrees = np.bincount(node[starts], minlength=last - first)
        return TargetBlock(degrees, other[starts], weight, neighbors)

    def _count(
        self,
        keys: Ints,
        starts: NDArray[np.bool_],
        reverse: NDArray[np.bool_],
        lower: NDArray[np.bool_],
    ) -> None:
        """Count pairs at their lower end, and pairs with a direction where they lead to."""
        self.counts.pairs += int((starts & lower).sum())
        forward = keys[~reverse]
        if self.weighted:  # sorted by row within a pair, so that directions alternate
            forward = np.sort(forward)
        self.counts.directed_pairs += int(_is_first(forward).sum())


def _is_first(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a sorted array has a value for the first time."""
    first = np.ones(len(values), np.bool_)
    first[1:] = values[1:] != values[:-1]
    return first


def _alternating(one: NDArray[Any], other: NDArray[Any]) -> Ints:
    """The entries of two arrays by turns."""
    both = np.empty(2 * len(one), np.int64)
    both[::2], both[1::2] = one, other
    return both
