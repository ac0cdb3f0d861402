"""Processed graphs, kept so that a data set is parsed once.

One safetensors file per data set in the user's cache folder, arrays and a JSON header: opening it
runs no code. It is used only if the raw files, the code and its bytes are unchanged; otherwise it
is written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save
from scipy.sparse import csr_matrix

from nodewise._version import __version__
from nodewise.data.index_arrays import ArrayChecks
from nodewise.data.published.files import RawFile, cache_folder
from nodewise.data.published.readers import Masks, RawGraph
from nodewise.io import replacing

_CODE = (
    "index_arrays.py",
    *(f"published/{name}.py" for name in ("cache", "readers", "safe_pickle")),
)
_X = ("x_data", "x_indices", "x_indptr", "x_shape")
_MASKS = ("train_masks", "val_masks", "test_masks")
Arrays = dict[str, NDArray[Any]]


def cached(
    name: str, files: Sequence[RawFile], root: Path, build: Callable[[], RawGraph]
) -> RawGraph:
    """The graph from the cache if that is valid, else from `build()`, which is then cached.

    Args:
        name: The data set, and the cache file's name.
        files: Its raw files.
        root: The data root that their paths start from.
        build: Reads, verifies and parses the raw files.
    """
    path = cache_folder() / "processed" / f"{name}.safetensors"
    found = _load(path, _key(files, root))
    if found is not None:
        return found
    graph = build()
    # The key is computed again, since building may have downloaded the files. A cache that cannot
    # be written costs time and nothing else.
    with suppress(OSError):
        _store(path, graph, _key(files, root))
    return graph


def _key(files: Sequence[RawFile], root: Path) -> str:
    """The key of a cached graph: all that it depends on.

    Hashing the raw files each time would cost more than the cache saves; a file whose place, size
    and time of change are those of the file that was hashed is taken to be that file.
    """
    paths = [(root / file.path).resolve() for file in files]
    stats = [path.stat() if path.exists() else None for path in paths]
    return json.dumps(
        {
            "raw": [file.sha256 for file in files],
            "files": [str(path) for path in paths],
            "stats": [stat and [stat.st_size, stat.st_mtime_ns] for stat in stats],
            "code": _code_version(),
        }
    )


def _code_version() -> str:
    sources = (package_files("nodewise.data").joinpath(name).read_bytes() for name in _CODE)
    return hashlib.sha256(b"\0".join([__version__.encode(), *sources])).hexdigest()


def _load(path: Path, key: str) -> RawGraph | None:
    # safetensors and numpy raise different exceptions for damage: all mean "not valid".
    with suppress(Exception), safe_open(path, framework="numpy") as stored:
        header = stored.metadata()
        if header["key"] == key:
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            if header["digest"] == _digest(arrays, header["names"]):
                return _to_graph(arrays, json.loads(header["names"]))
    return None


def _store(path: Path, graph: RawGraph, key: str) -> None:
    arrays = _to_arrays(graph)
    names = json.dumps({"feature": graph.feature_names, "class": graph.class_names})
    header = {"key": key, "names": names, "digest": _digest(arrays, names)}
    with replacing(path) as stream:
        stream.write(save(arrays, header))


def _digest(arrays: Arrays, names: str) -> str:
    digest = hashlib.sha256(names.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _to_arrays(graph: RawGraph) -> Arrays:
    x = graph.x
    arrays = {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr}
    arrays |= {"x_shape": np.array(x.shape, np.int64), "edge_index": graph.edge_index, "y": graph.y}
    masks = () if graph.masks is None else zip(_MASKS, graph.masks, strict=True)
    return {name: np.ascontiguousarray(array) for name, array in (*arrays.items(), *masks)}


def _to_graph(arrays: Arrays, names: dict[str, list[str] | None]) -> RawGraph:
    checks, x = ArrayChecks("the cache"), {name: arrays[name] for name in _X}
    nodes, width = checks.csr(x)
    checks.index("edge_index", arrays["edge_index"], shape=(2, None), bound=nodes)
    checks.index("y", arrays["y"], shape=(nodes,), least=-1, bound=nodes)
    masks = tuple(arrays[name] for name in _MASKS if name in arrays)
    for name, mask in zip(_MASKS, masks, strict=False):
        checks.array(name, mask, kinds="b", shape=(None, nodes))
    return RawGraph(
        x=csr_matrix(tuple(x.values())[:3], (nodes, width)),
        edge_index=arrays["edge_index"],
        y=arrays["y"],
        masks=cast(Masks, masks) if masks else None,
        feature_names=_as_tuple(names["feature"]),
        class_names=_as_tuple(names["class"]),
    )


def _as_tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
