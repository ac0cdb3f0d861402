"""`store.json`: what the files of a store are, and whether they are complete. Imports no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict

from nodewise.checked import Count, checked
from nodewise.errors import GraphError
from nodewise.io import file_bytes, parse_json

META: Final = "store.json"
FORMAT: Final = "nodewise store 1"
UNFINISHED: Final = ".parts"  # the folder in which a conversion works


class StoreMeta(TypedDict):
    """`store.json`; arrays have as many entries as it says."""

    format: Literal["nodewise store 1"]
    nodes: Count
    edges: Count
    classes: list[str]
    feature_names: list[str]
    ids: Literal["numbers", "integers", "texts"]
    directed: bool
    weighted: bool
    split: bool
    sha256: str
    reading: NotRequired[Reading]


class Reading(TypedDict):
    """Facts about the tables of a store that its arrays do not contain; see `Summary`."""

    dropped: dict[str, Count]
    left_out: dict[str, str]
    notes: list[str]
    warnings: list[str]


def is_store(path: Path) -> bool:
    """Whether a path is the folder of a store that is complete."""
    return (path / META).is_file()


def was_to_be_store(path: Path) -> bool:
    """Whether a folder is a store, complete or not."""
    return is_store(path) or (path / UNFINISHED).exists() or (path / "x.npy").exists()


def read_meta(folder: Path) -> dict[str, Any]:
    """The content of `store.json`.

    Raises:
        GraphError: The folder is not a store, is not complete, or the file is damaged.
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
        return dict(checked(StoreMeta, parse_json(file_bytes(path))))
    except (OSError, ValueError) as error:
        raise GraphError(
            str(path),
            f"cannot be read ({error})",
            way_out="write the store again, with the command that made it",
        ) from error
