"""`GraphStore`: a graph in a folder of memory-mapped files, which may be larger than memory.

| file | what it holds |
|---|---|
| `store.json` | sizes, names and fingerprints; written last, so a folder with it is complete |
| `x.npy` | the features, float32 (nodes, features) |
| `colptr.npy`, `row.npy`, `edge_weight.npy` | the edges, sorted by target; see `CscGraph` |
| `y.npy` | class numbers, -1 where there is no label |
| `part.npy` | a node's part of the split: 0 for none, 1 train, 2 val, 3 test |
| `ids.npy`, `ids_ptr.npy` | the names of the nodes, one UTF-8 text after the other |
| `preprocessing.json` | how the features were made of a table |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.splits.split import PARTS, Split
from nodewise.data.stores.mapped import checks_of, open_mapped, read_blocks
from nodewise.data.stores.meta import read_meta

if TYPE_CHECKING:
    from torch import Tensor

    from nodewise.data.tables.preprocessing import Preprocessing

PREPROCESSING: Final = "preprocessing.json"


@dataclass(frozen=True, eq=False)
class GraphStore:
    """A graph in files; nothing is read but what is asked for.

    Attributes:
        folder: Where the files are.
        x: The features, float32 (nodes, features).
        csc: The edges, sorted by target; both directions of an undirected edge.
        y: Class numbers, -1 where there is no label (nodes).
        part: A node's part of the split, 0 for none, then as in `PARTS`; None without a split.
        meta: The content of `store.json`.
    """

    folder: Path
    x: NDArray[np.float32]
    csc: CscGraph
    y: NDArray[np.int64]
    part: NDArray[np.int8] | None
    meta: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a store; its arrays of numbers of nodes and classes are checked, block by block.

        Raises:
            GraphError: The folder is not a store, is not complete, or is damaged.
        """
        folder = Path(folder).expanduser()
        meta = read_meta(folder)
        nodes, edges = meta["nodes"], meta["edges"]
        x = open_mapped(folder / "x.npy", "f", (nodes, len(meta["feature_names"])))
        row = _indices(folder / "row.npy", edges, nodes)
        colptr = open_mapped(folder / "colptr.npy", "i", (nodes + 1,))
        checks_of(folder / "colptr.npy").offsets("colptr", colptr, rows=nodes, count=edges)
        weight = None
        if meta["weighted"]:
            weight = open_mapped(folder / "edge_weight.npy", "f", (edges,))
        y = _indices(folder / "y.npy", nodes, len(meta["classes"]), least=-1)
        part = None
        if meta["split"]:
            part = np.asarray(_indices(folder / "part.npy", nodes, len(PARTS) + 1))
        csc = CscGraph(colptr, row, weight)
        return cls(folder, np.asarray(x), csc, np.asarray(y), part, meta)

    def __repr__(self) -> str:
        sizes = f"nodes={self.num_nodes}, edges={self.num_edges}, features={self.num_features}"
        return f"GraphStore({str(self.folder)!r}, {sizes}, classes={len(self.classes)})"

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.x)

    @property
    def num_edges(self) -> int:
        """How many edges there are; both directions of an undirected edge count."""
        return self.csc.num_edges

    @property
    def num_features(self) -> int:
        """How many features a node has."""
        return int(self.x.shape[1])

    @property
    def classes(self) -> tuple[str, ...]:
        """A name for each class."""
        return tuple(self.meta["classes"])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature."""
        return tuple(self.meta["feature_names"])

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self.meta["directed"])

    @property
    def sha256(self) -> str:
        """The fingerprint of all arrays, taken when they were written."""
        return str(self.meta["sha256"])

    @cached_property
    def split(self) -> Split | None:
        """The training, validation and test nodes; None if there is no split."""
        if self.part is None:
            return None
        return Split(*(np.flatnonzero(self.part == number) for number in range(1, len(PARTS) + 1)))

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """How the features were made of a table; else they are taken as they are.

        Raises:
            InputError: The file is damaged.
        """
        from nodewise.data.encoders.matrix import MatrixColumns
        from nodewise.data.tables.preprocessing import Preprocessing

        path = self.folder / PREPROCESSING
        if path.exists():
            return Preprocessing.load(path)
        encoders = (MatrixColumns(features=self.feature_names),)
        return Preprocessing(encoders, self.classes, directed=self.directed)

    def take(self, n_id: ArrayLike | Tensor) -> Tensor:
        """The features of some nodes, shape (n, features); no other rows are read.

        Raises:
            InputError: A number is not that of a node.
        """
        import torch

        from nodewise.data.node_index import node_index
        from nodewise.data.sampling.kernels import take_rows

        index = np.ascontiguousarray(node_index("n_id", n_id, self.num_nodes))
        rows = torch.empty(len(index), self.num_features)
        take_rows(self.x, index, rows.numpy())
        return rows

    def ids(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """The names of the nodes `start` to `stop` - 1; their numbers where they have no names.

        Raises:
            GraphError: The file is damaged.
        """
        start, stop, _ = slice(start, stop).indices(self.num_nodes)
        kind = self.meta["ids"]
        if kind == "numbers":
            return list(range(start, stop))
        ptr, texts = self._ids
        ends = np.asarray(ptr[start : stop + 1])
        content = texts[ends[0] : ends[-1]].tobytes()
        ends = (ends - ends[0]).tolist()
        try:
            names = [content[a:b].decode() for a, b in pairwise(ends)]
            return list(map(int, names)) if kind == "integers" else names
        except ValueError as error:
            raise checks_of(self.folder / "ids.npy").wrong("ids", f"must be {kind}") from error

    @cached_property
    def _ids(self) -> tuple[Any, Any]:
        texts = open_mapped(self.folder / "ids.npy", "u", (None,))
        path = self.folder / "ids_ptr.npy"
        ptr = open_mapped(path, "i", (self.num_nodes + 1,))
        checks_of(path).offsets("ids_ptr", ptr, rows=self.num_nodes, count=len(texts))
        return ptr, texts


def _indices(path: Path, count: int, bound: int, least: int = 0) -> Any:
    """An array of integers in a range, which is checked without a page that stays resident."""
    array = open_mapped(path, "i", (count,))
    checks_of(path).index_blocks(path.stem, read_blocks(path, array), bound=bound, least=least)
    return array
