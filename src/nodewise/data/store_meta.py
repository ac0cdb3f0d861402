"""`store.json`: what the files of a store are, and whether they are complete. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from nodewise.errors import GraphError

META: Final = "store.json"
FORMAT: Final = "nodewise store 1"
UNFINISHED: Final = ".parts"  # the folder in which a conversion works
_FIELDS: Final[Mapping[str, type]] = {
    "nodes": int,
    "edges": int,
    "classes": list,
    "feature_names": list,
    "ids": str,
    "directed": bool,
    "weighted": bool,
    "split": bool,
    "sha256": str,
}


def is_store(path: Path) -> bool:
    """Whether a path is the folder of a store that is complete."""
    return (path / META).is_file()


def was_to_be_store(path: Path) -> bool:
    """Whether a folder is a store, complete or not."""
    return is_store(path) or (path / UNFINISHED).exists() or (path / "x.npy").exists()


def read_meta(folder: Path) -> dict[str, Any]:
    """The content of `store.json`.

    Raises:
        GraphError: The folder is no store, is not complete, or the file is damaged.
    """
    path = folder / META
    if not path.is_file():
        unfinished = was_to_be_store(folder)
        raise GraphError(
            str(folder),
            "is a store that was not completed" if unfinished else "is not a store",
            way_out="run the command that writes it again"
            if unfinished
            else "make one with `nodewise convert --nodes F --edges F --to FOLDER`",
        )
    try:
        meta = json.loads(path.read_bytes())
        if meta["format"] != FORMAT:
            raise ValueError(f"its format is {meta['format']!r}")
        for name, kind in _FIELDS.items():
            if not isinstance(meta[name], kind):
                raise TypeError(f"{name} is {meta[name]!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraphError(
            str(path),
            f"cannot be read ({type(error).__name__}: {error})",
            way_out="write the store again, with the command that made it",
        ) from error
    return dict(meta)
