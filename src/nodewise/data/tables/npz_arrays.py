"""The arrays of a graph in an npz file, whatever they are called in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from nodewise.data.tables.source import listed
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
        arrays: Its arrays by name, without those that would run code when opened.
    """

    path: Path
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def load(cls, path: Path) -> NpzArrays:
        """Open the file; arrays of Python objects are left out.

        Raises:
            TableError: It is not a whole npz file.
        """
        arrays = {}
        try:
            # Opened here, since NumPy leaves a file open that it cannot read.
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as npz:
                for name in npz.files:
                    try:
                        arrays[name] = npz[name]
                    except ValueError:  # NumPy's answer to a pickle
                        continue
        except Exception as error:  # a damaged archive fails in zipfile, zlib or numpy
            raise TableError(
                str(path),
                f"is not a whole npz file ({type(error).__name__}: {error})",
                way_out="save or copy it again",
            ) from error
        return cls(path, arrays)

    def features(self) -> Any:
        """The features, as an array or a scipy CSR matrix (nodes, features).

        Raises:
            TableError: There are none.
        """
        matrix = self._csr("attr")
        found = self.first(_X) if matrix is None else matrix
        if found is None or found.ndim != 2 or found.dtype.kind not in "buif":
            raise self._lacks("features", ("attr_data", *_X))
        return found.astype(np.float32)

    def ends(self, num_nodes: int) -> NDArray[np.int64]:
        """The ends of the edges, shape (2, edges).

        Raises:
            TableError: There are no edges, or one of a node that is not there.
        """
        adjacency = self._csr("adj")
        if adjacency is not None:
            ends: Any = np.stack(adjacency.nonzero())
        elif _PAIRS in self.arrays:
            ends = self.arrays[_PAIRS].T
        else:
            ends = self.arrays.get(_EDGE_INDEX)
        if ends is None or ends.ndim != 2 or len(ends) != 2 or ends.dtype.kind not in "iu":
            raise self._lacks("edges", ("adj_data", _PAIRS, _EDGE_INDEX))
        outside = (ends < 0) | (ends >= num_nodes)
        if outside.any():
            raise self.error(
                f"an edge has an end that is none of the {num_nodes} nodes",
                value=int(ends[outside][0]),
                way_out="number the nodes from 0 in the order of the features' rows",
            )
        return np.asarray(ends, np.int64)

    def labels(self) -> NDArray[np.int64] | None:
        """The labels as numbers (nodes), negative for none; None if there are none."""
        labels = self.first(_Y)
        if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iu"):
            raise self._lacks("labels", _Y)
        return None if labels is None else labels.astype(np.int64)

    def mask(self, part: str) -> NDArray[np.bool_] | None:
        """The nodes of a part of the split; the first split where several are stored."""
        mask = self.first((f"{part}_mask", f"{part}_masks"))
        return None if mask is None else (mask[0] if mask.ndim == 2 else mask).astype(np.bool_)

    def names(self, name: str, count: int) -> tuple[str, ...] | None:
        """The names of features or classes, if there are as many as that."""
        found = self.arrays.get(name)
        return tuple(map(str, found)) if found is not None and len(found) == count else None

    def ids(self, count: int) -> tuple[Any, ...]:
        """The nodes' own names, texts or integers, else their numbers.

        Raises:
            TableError: There are more or fewer than nodes, or one twice.
        """
        found = self.arrays.get("node_ids")
        if found is None:
            return tuple(range(count))
        if (
            found.shape != (count,)
            or found.dtype.kind not in "iuU"
            or len(np.unique(found)) < count
        ):
            raise self.error(
                f"node_ids are not {count} different names",
                value=f"{found.dtype} of shape {found.shape}",
                way_out="give every node an id of its own, a text or a whole number",
            )
        return tuple(found.tolist())

    def weights(self, name: str, count: int) -> NDArray[np.float64]:
        """The weights of the edges, shape (edges,).

        Raises:
            TableError: There is no such array, or it does not have a number for every edge.
        """
        found = self.arrays.get(name)
        if found is None:
            raise self._lacks("weights", (name,))
        fits = found.shape == (count,) and found.dtype.kind in "buif"
        if not fits or not bool(((found >= 0) & np.isfinite(found)).all()):
            raise self.error(
                f"{name} does not have a number, 0 or more, for each of {count} edges",
                value=f"{found.dtype} of shape {found.shape}",
                way_out="give every edge a weight, in the order of the edges",
            )
        return found.astype(np.float64)

    def unused_weights(self, count: int) -> Iterator[str]:
        """The arrays that seem to have a weight for each edge; ones alone are none."""
        for name in _WEIGHTS:
            found = self.arrays.get(name, np.ones(0))
            fits = found.shape == (count,) and found.dtype.kind in "buif"
            if fits and np.any(found != 1):
                yield name

    @property
    def directed(self) -> bool:
        """Whether the file says that edges have a direction."""
        found = self.arrays.get("directed")
        return found is not None and bool(found.any())

    def first(self, names: Sequence[str]) -> NDArray[Any] | None:
        """The array of the first name there is."""
        return next((self.arrays[name] for name in names if name in self.arrays), None)

    def error(self, problem: str, *, way_out: str, value: object = None) -> TableError:
        """An error about this file."""
        return TableError(str(self.path), problem, way_out=way_out, value=value)

    def _csr(self, prefix: str) -> Any:
        names = [f"{prefix}_{part}" for part in (*_CSR, "shape")]
        if not all(name in self.arrays for name in names):
            return None
        *parts, shape = (self.arrays[name] for name in names)
        try:
            matrix = csr_matrix(tuple(parts), shape=tuple(shape))
            matrix.check_format()
        except (ValueError, TypeError) as error:
            raise self.error(
                f"{prefix}_data and its kin are no CSR matrix ({error})", way_out="save them again"
            ) from error
        return matrix

    def _lacks(self, what: str, names: Sequence[str]) -> TableError:
        return self.error(
            f"has no usable {what}, none of {', '.join(names)}",
            value=listed(sorted(self.arrays)),
            way_out="save an array of one of these names",
        )
