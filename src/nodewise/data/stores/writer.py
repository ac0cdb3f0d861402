"""`StoreWriter`: writes a `GraphStore` block by block, in memory that does not grow with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodewise.data.stores.mapped import GrowingArray
from nodewise.data.stores.meta import FORMAT, META
from nodewise.data.stores.store import PREPROCESSING, GraphStore
from nodewise.errors import GraphError
from nodewise.io import write_json

Ids = Literal["numbers", "integers", "texts"]
ARRAYS: Final = ("x", "y", "colptr", "row", "edge_weight", "part", "ids", "ids_ptr")


class StoreWriter:
    """Writes a store: nodes in their order, and edges by target in its order.

    Nodes and edges may be added by turns. A folder is a store only once `finish` has returned;
    what an interrupted writer has left there is replaced by the next.

    Args:
        folder: Where to; a store that is there is replaced.
        num_nodes: How many nodes there will be.
        feature_names: A name for each feature; None if `name_features` is called before nodes are
            added.
        classes: A name for each class.
        ids: Whether nodes have names: texts, texts of integers, or none but their numbers.
        weighted: Whether edges have weights.
        split: Whether nodes have a part of a split.
        directed: Whether edges have a direction; of undirected ones both are added.

    Raises:
        OSError: The folder cannot be written.
    """

    def __init__(
        self,
        folder: str | Path,
        num_nodes: int,
        feature_names: Sequence[str] | None,
        classes: Sequence[str] = (),
        *,
        ids: Ids = "numbers",
        weighted: bool = False,
        split: bool = False,
        directed: bool = False,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_store(self.folder)
        self._about: dict[str, Any] = {
            "nodes": num_nodes,
            "classes": list(classes),
            "ids": ids,
            "weighted": weighted,
            "split": split,
            "directed": directed,
        }
        self._num_nodes, self._ends, self._bytes = num_nodes, 0, 0
        self._stack = ExitStack()
        row = np.int32 if num_nodes < 2**31 else np.int64
        self._y = self._array("y", np.int64)
        self._colptr, self._row = self._array("colptr", np.int64), self._array("row", row)
        self._colptr.append(np.zeros(1, np.int64))
        self._weight = self._array("edge_weight", np.float32) if weighted else None
        self._part = self._array("part", np.int8) if split else None
        self._ids = None if ids == "numbers" else self._array("ids", np.uint8)
        self._ids_ptr = None if ids == "numbers" else self._array("ids_ptr", np.int64)
        if self._ids_ptr is not None:
            self._ids_ptr.append(np.zeros(1, np.int64))
        if feature_names is not None:
            self.name_features(feature_names)

    def name_features(self, names: Sequence[str]) -> None:
        """Say how many features there are, and what they are called."""
        self._about["feature_names"] = list(names)
        self._x = self._array("x", np.float32, len(names))

    def _array(self, name: str, dtype: Any, *row: int) -> GrowingArray:
        path = self.folder / f"{name}.npy"
        return self._stack.enter_context(GrowingArray(path, dtype, row))

    def add_nodes(
        self,
        x: ArrayLike,
        y: ArrayLike | None = None,
        part: ArrayLike | None = None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        """Add the next nodes.

        Args:
            x: Their features, shape (n, features).
            y: Their classes, -1 for no label; None labels none of them.
            part: Their parts of the split, 0 for none, then as in `PARTS`.
            ids: Their names, unless they are numbers.

        Raises:
            GraphError: A feature is not finite.
            OSError: The disk is full.
        """
        features = np.asarray(x, np.float32)
        _check_finite(features, self._x.count)
        count = len(features)
        self._x.append(features)
        self._y.append(np.full(count, -1) if y is None else y)
        if self._part is not None:
            self._part.append(np.zeros(count, np.int8) if part is None else part)
        if self._ids is not None and ids is not None:
            self._add_ids([str(name).encode() for name in ids])

    def _add_ids(self, names: Sequence[bytes]) -> None:
        assert self._ids is not None and self._ids_ptr is not None
        self._ids.append(np.frombuffer(b"".join(names), np.uint8))
        ends = self._bytes + np.cumsum([len(name) for name in names], dtype=np.int64)
        self._bytes = int(ends[-1]) if len(ends) else self._bytes
        self._ids_ptr.append(ends)

    def add_edges(
        self, degrees: ArrayLike, row: ArrayLike, edge_weight: ArrayLike | None = None
    ) -> None:
        """Add the edges of the next targets.

        Args:
            degrees: How many edges each of them has.
            row: The sources of these edges, target by target.
            edge_weight: Their weights.

        Raises:
            OSError: The disk is full.
        """
        ends = self._ends + np.cumsum(degrees, dtype=np.int64)
        self._ends = int(ends[-1]) if len(ends) else self._ends
        self._colptr.append(ends)
        self._row.append(row)
        if self._weight is not None and edge_weight is not None:
            self._weight.append(edge_weight)

    def finish(self, about: Mapping[str, Any] | None = None) -> GraphStore:
        """Complete the store, and open it.

        Args:
            about: More to say in `store.json`, such as where the graph comes from.

        Raises:
            GraphError: Arrays have other lengths than nodes and edges, or wrong numbers in them.
            OSError: The disk is full.
        """
        self._check_lengths()
        arrays = {array.path.stem: array.close() for array in self._arrays()}
        content = {
            "format": FORMAT,
            **self._about,
            "edges": self._row.count,
            "sha256": _joint_sha256(arrays),
            "arrays_sha256": arrays,
            **(about or {}),
        }
        write_json(self.folder / META, content)
        return GraphStore.open(self.folder)

    def _arrays(self) -> list[GrowingArray]:
        optional = (self._weight, self._part, self._ids, self._ids_ptr)
        always = (self._x, self._y, self._colptr, self._row)
        return [*always, *(array for array in optional if array is not None)]

    def _check_lengths(self) -> None:
        nodes, edges = self._num_nodes, self._ends
        expected = {"colptr": nodes + 1, "ids_ptr": nodes + 1, "ids": self._bytes}
        expected |= {"row": edges, "edge_weight": edges}
        for array in self._arrays():
            length = expected.get(array.path.stem, nodes)
            if array.count != length:
                raise GraphError(
                    array.path.stem,
                    f"must have {length} entries when the store is finished",
                    value=array.count,
                    way_out="add every node and the edges of every target, once",
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def remove_store(folder: Path) -> None:
    """Delete the files of a store; `store.json` first, without which it is none."""
    for name in (META, PREPROCESSING, *(f"{array}.npy" for array in ARRAYS)):
        (folder / name).unlink(missing_ok=True)


def _check_finite(x: NDArray[np.float32], first: int) -> None:
    """Check the features of some nodes here, since opening a store does not read them."""
    bad = ~np.isfinite(x)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise GraphError(
            "x",
            "must be finite",
            value=float(x[row, column]),
            position=(first + row, column),
            way_out="fill missing values first",
        )


def _joint_sha256(arrays: Mapping[str, str]) -> str:
    lines = "".join(f"{name} {arrays[name]}\n" for name in sorted(arrays))
    return hashlib.sha256(lines.encode()).hexdigest()
