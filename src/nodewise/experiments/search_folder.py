"""A search's folder: what is sought lies beside the study, and nothing else is sought there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodewise.errors import RunError
from nodewise.io import write_json
from nodewise.runs.folder import first_difference, lock_folder

SEARCH = "search.json"


@contextmanager
def open_search(path: Path, config: Mapping[str, Any]) -> Iterator[None]:
    """Hold a search's folder alone; make it, or check that it holds the very search `config` says.

    Raises:
        RunError: Another process works in it, or it holds another search or something else.
    """
    _check_own(path)
    with lock_folder(path):
        if (path / SEARCH).exists():
            _check_same(path, config)
        else:
            write_json(path / SEARCH, config)
        yield


def _check_own(path: Path) -> None:
    """Nothing is written, not even a lock, where others keep their files."""
    try:
        names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    except OSError as error:
        raise RunError(
            str(path), f"cannot be read ({error.strerror})", way_out="choose another folder"
        ) from error
    others = sorted(name for name in names if not name.startswith("."))
    if others and SEARCH not in others:
        raise RunError(
            str(path),
            f"holds {others[0]}, and no search",
            way_out="choose another folder with --out",
        )


def _check_same(path: Path, config: Mapping[str, Any]) -> None:
    try:
        there = dict(json.loads((path / SEARCH).read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(
            str(path / SEARCH), f"cannot be read ({error})", way_out="choose another folder"
        ) from error
    found = first_difference(there, json.loads(json.dumps(config)))
    if found is not None:
        raise RunError(
            str(path),
            f"holds a search with {found}",
            way_out="choose another folder with --out, or ask for the same search",
        )
