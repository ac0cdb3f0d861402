"""Small raw files in the formats of the real ones, so that readers are tested without those."""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy._core.multiarray import _reconstruct
from scipy.sparse import csr_matrix

from nodewise.data.published.catalog import Dataset, GraphSizes
from nodewise.data.published.files import RawFile
from nodewise.data.published.readers import read_planetoid

_OLD_NAMES = {
    np.ndarray: "numpy\nndarray\n",
    np.dtype: "numpy\ndtype\n",
    _reconstruct: "numpy.core.multiarray\n_reconstruct\n",
    csr_matrix: "scipy.sparse.csr\ncsr_matrix\n",
    defaultdict: "collections\ndefaultdict\n",
    list: "__builtin__\nlist\n",
}
NODES, TRAIN, KNOWN = 611, 20, 600
MINI_COUNTS = GraphSizes(nodes=NODES, edges=NODES - 1, features=4, classes=3)


class _Python2Pickler(pickle._Pickler):
    """Writes what Python 2 wrote: bytes as strings, classes under the names they had then."""

    dispatch: ClassVar[dict[type, Any]] = dict(pickle._Pickler.dispatch)

    def save_bytes(self, content: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(content)

    dispatch[bytes] = save_bytes

    def save_global(self, thing: Any, name: str | None = None) -> None:
        self.write(pickle.GLOBAL + _OLD_NAMES[thing].encode())
        self.memoize(thing)


def dumps(thing: Any) -> bytes:
    stream = io.BytesIO()
    _Python2Pickler(stream, protocol=2).dump(thing)
    return stream.getvalue()


def planetoid_files() -> dict[str, bytes]:
    """A path of 611 nodes, 600 known and 10 test nodes; node 605 is neither, as in Citeseer."""
    test = np.array([610, *range(600, 605), *range(606, 610)])
    labels = np.arange(NODES) % 3
    one_hot = np.eye(3, dtype=np.int32)[labels]
    x = np.zeros((NODES, 4), np.float32)
    x[np.arange(NODES), np.arange(NODES) % 4] = 1 + np.arange(NODES)
    graph = defaultdict(list, {v: [max(v - 1, 0), min(v + 1, NODES - 1)] for v in range(NODES)})
    parts = {
        "x": csr_matrix(x[:TRAIN]),
        "y": one_hot[:TRAIN],
        "tx": csr_matrix(x[test]),
        "ty": one_hot[test],
        "allx": csr_matrix(x[:KNOWN]),
        "ally": one_hot[:KNOWN],
        "graph": graph,
    }
    index = "".join(f"{node}\n" for node in test).encode()
    pickles = {f"ind.mini.{part}": dumps(value) for part, value in parts.items()}
    return {**pickles, "ind.mini.test.index": index}


def npz_file(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def mini_dataset(files: Mapping[str, bytes], home: str = "http://127.0.0.1:9/") -> Dataset:
    raw = (RawFile(f"mini/{name}", home + name, sha256(files[name])) for name in files)
    return Dataset(
        name="mini",
        source=home,
        read=read_planetoid,
        files=tuple(raw),
        counts=MINI_COUNTS,
        default_stored=0,
    )


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
