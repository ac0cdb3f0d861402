"""A finished run's manifest: the SHA-256 of each of its files, and of what rebuilds its model.

It shows that a file was edited, damaged or exchanged after training. It does not show who wrote a
file: whatever can write into the folder can write another manifest, too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

from nodewise.checked import checked
from nodewise.io import file_bytes, read_json, reading, write_json

MANIFEST = "manifest.json"
_REPAIR = "copy the run again from where it was trained, or train it again in another folder"
_GRAPH = ("nodes", "features", "classes", "weighted")
_FIRST = (0, 6)  # the release from which on every finished run has a manifest


class Manifest(TypedDict):
    """The content of `manifest.json`."""

    format: Literal["nodewise manifest 1"]
    files: dict[str, str]
    model_sha256: str


def write_manifest(folder: Path, contents: Mapping[str, bytes], config: Mapping[str, Any]) -> None:
    """Write the manifest of a run.

    Args:
        folder: The run's folder.
        contents: The bytes of its files by their names.
        config: The content of `config.toml`.

    Raises:
        RunError: It cannot be written.
    """
    files = {name: sha256_of(content) for name, content in contents.items()}
    about = {"format": "nodewise manifest 1", "files": files, "model_sha256": model_sha256(config)}
    write_json(folder / MANIFEST, about)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a run; None without one, as of runs of earlier releases.

    Raises:
        RunError: It is damaged.
    """
    path = folder / MANIFEST
    return read_json(path, partial(checked, Manifest), _REPAIR) if path.exists() else None


def is_expected(versions: Iterable[object]) -> bool:
    """Whether a finished run has a manifest.

    Args:
        versions: The versions of nodewise that its files name, as they are in the files.
    """
    found = [re.match(r"(\d+)\.(\d+)", version) for version in versions if isinstance(version, str)]
    return any((int(one[1]), int(one[2])) >= _FIRST for one in found if one)


def contents_of(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The bytes of those of these files that are there, by their names.

    Raises:
        RunError: One cannot be read.
    """
    found = {}
    for path in (folder / name for name in names):
        if path.exists():
            with reading(path, _REPAIR):
                found[path.name] = file_bytes(path)
    return found


def sha256_of(content: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def model_sha256(config: Mapping[str, Any]) -> str:
    """The SHA-256 of what rebuilds the model: its name, its settings, the sizes of its graph."""
    graph = config["graph"]
    about = {
        "model": config["model"],
        "recipe": config["recipe"],
        "settings": config["settings"],
        "graph": {key: graph[key] for key in _GRAPH if key in graph},
    }
    return sha256_of(json.dumps(about, sort_keys=True).encode())
