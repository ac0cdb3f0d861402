"""The arrays of a graph in an npz file, under any of their usual names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from nodewise.data.index_arrays import WIDEST, ArrayChecks
from nodewise.data.sources.npz_members import NpzMembers
from nodewise.data.sources.source import listed
from nodewise.errors import TableError

_X = ("attr_matrix", "node_features", "x", "features")
_Y = ("labels", "node_labels", "y")
_WEIGHTS = ("edge_weight", "edge_weights", "weight", "weights", "adj_data")
_PAIRS, _EDGE_INDEX = "edges", "edge_index"
_CSR = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class NpzArrays:
    """An npz file, opened.

    Args:
        path: The file, for errors.
        arrays: Its arrays by name, loaded when they are asked for.
    """

    path: Path
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    @contextmanager
    def load(cls, path: Path) -> Iterator[Self]:
        """Open the file for the block; arrays of Python objects are left out.

        Raises:
            TableError: It is damaged, or not an npz file.
        """
        with NpzMembers(path) as members:
            yield cls(path, members)

    def features(self) -> Any:
        """The features, as an array or a scipy CSR matrix (nodes, features).

        Raises:
            TableError: There are none, or they are not a matrix of numbers.
        """
        matrix = self._csr("attr", np.float32)
        if matrix is None:
            name, matrix = self._first("features", _X, ("attr_data", *_X))
            self.checks.array(name, matrix, kinds="buif", shape=(None, None))
        if matrix.shape[1] > WIDEST:
            raise self.error(
                f"has more than {WIDEST} features",
                value=matrix.shape[1],
                way_out="leave out the columns that are zero everywhere",
            )
        with np.errstate(over="ignore"):
            return matrix.astype(np.float32)

    def ends(self, num_nodes: int) -> NDArray[np.int64]:
        """The ends of the edges, shape (2, edges).

        Raises:
            TableError: There are no edges, or one of a node that is not there.
        """
        adjacency = self._csr("adj", np.bool_)
        if adjacency is not None:
            if adjacency.shape != (num_nodes, num_nodes):
                problem = f"must be twice {num_nodes}, the count of nodes that have features"
                raise self.checks.wrong("adj_shape", problem, value=adjacency.shape)
            return np.stack(adjacency.nonzero()).astype(np.int64)
        names = (_PAIRS, _EDGE_INDEX)
        name, ends = self._first("edges", names, ("adj_data", *names))
        way_out = "number the nodes from 0 in the order of the features' rows"
        shape = (None, 2) if name == _PAIRS else (2, None)
        replace(self.checks, way_out=way_out).index(name, ends, shape=shape, bound=num_nodes)
        return np.asarray(ends.T if name == _PAIRS else ends, np.int64)

    def labels(self) -> NDArray[np.int64] | None:
        """The labels as numbers (nodes), negative for none; None if there are none.

        Raises:
            TableError: They are not integers of 64 bits, or not one for a node.
        """
        named = self._find(_Y)
        if named is None:
            return None
        self.checks.index(*named, shape=(None,), least=-(1 << 63))
        return named[1].astype(np.int64)

    def mask(self, part: str) -> NDArray[np.bool_] | None:
        """The nodes of a part of the split; the first split where several are stored.

        Raises:
            TableError: It is not a mask.
        """
        named = self._find((f"{part}_mask", f"{part}_masks"))
        if named is None:
            return None
        name, mask = named
        first = mask[0] if mask.ndim == 2 and len(mask) else mask
        self.checks.array(name, first, kinds="buif", shape=(None,))
        return first.astype(np.bool_)

    def names(self, name: str, count: int) -> tuple[str, ...] | None:
        """The names of features or classes, if there are as many as that."""
        names = self.arrays.get(name)
        fits = names is not None and names.shape == (count,)
        return tuple(map(str, names)) if names is not None and fits else None

    def ids(self, count: int) -> tuple[Any, ...]:
        """The ids of the nodes, texts or integers, else their numbers.

        Raises:
            TableError: There are more or fewer than nodes, or one twice.
        """
        ids = self.arrays.get("node_ids")
        if ids is None:
            return tuple(range(count))
        if ids.shape != (count,) or ids.dtype.kind not in "iuU" or len(np.unique(ids)) < count:
            raise self.error(
                f"node_ids are not {count} different names",
                value=f"{ids.dtype} of shape {ids.shape}",
                way_out="give every node a unique id, a text or an integer",
            )
        return tuple(ids.tolist())

    def weights(self, name: str, count: int) -> NDArray[np.float64]:
        """The weights of the edges, shape (edges,).

        Raises:
            TableError: There is no such array, or it does not have a number for every edge.
        """
        weights = self.arrays.get(name)
        if weights is None:
            raise self._lacks("weights", (name,))
        fits = weights.shape == (count,) and weights.dtype.kind in "buif"
        if not fits or not bool(((weights >= 0) & np.isfinite(weights)).all()):
            raise self.error(
                f"{name} does not have a number, 0 or more, for each of {count} edges",
                value=f"{weights.dtype} of shape {weights.shape}",
                way_out="give every edge a weight, in the order of the edges",
            )
        return weights.astype(np.float64)

    def unused_weights(self, count: int) -> Iterator[str]:
        """The arrays that seem to have a weight for each edge; ones alone are none."""
        for name in _WEIGHTS:
            weights = self.arrays.get(name, np.ones(0))
            fits = weights.shape == (count,) and weights.dtype.kind in "buif"
            if fits and np.any(weights != 1):
                yield name

    @property
    def directed(self) -> bool:
        """Whether the file says that edges have a direction."""
        directed = self.arrays.get("directed")
        if directed is None:
            return False
        self.checks.array("directed", directed, kinds="buif", shape=(None,) * directed.ndim)
        return bool(directed.any())

    @property
    def checks(self) -> ArrayChecks:
        """The checks of this file's arrays."""
        return ArrayChecks(str(self.path), TableError)

    def error(self, problem: str, *, way_out: str, value: object = None) -> TableError:
        """An error about this file."""
        return TableError(str(self.path), problem, way_out=way_out, value=value)

    def _csr(self, prefix: str, dtype: type[np.generic]) -> Any:
        names = [f"{prefix}_{part}" for part in (*_CSR, "shape")]
        if not all(name in self.arrays for name in names):
            return None
        arrays = {name: self.arrays[name] for name in names}
        shape = self.checks.csr(arrays)
        data, indices, indptr, _ = arrays.values()
        with np.errstate(over="ignore"):  # infinity is refused with the other checks of features
            # Here, since scipy has no matrices of some types: half precision, other byte orders.
            return csr_matrix((data.astype(dtype), indices, indptr), shape=shape)

    def _find(self, names: Sequence[str]) -> tuple[str, NDArray[Any]] | None:
        """The first of these names that there is, and its array."""
        return next(((name, self.arrays[name]) for name in names if name in self.arrays), None)

    def _first(
        self, what: str, names: Sequence[str], known: Sequence[str]
    ) -> tuple[str, NDArray[Any]]:
        named = self._find(names)
        if named is None:
            raise self._lacks(what, known)
        return named

    def _lacks(self, what: str, names: Sequence[str]) -> TableError:
        return self.error(
            f"has no usable {what}, none of {', '.join(names)}",
            value=listed(sorted(self.arrays)),
            way_out="save an array of one of these names",
        )
