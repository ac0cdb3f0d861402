"""A search's folder: `search.json` identifies the search, and another one is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from nodewise.checked import checked
from nodewise.errors import RunError
from nodewise.io import read_json, write_json
from nodewise.runs.open_run import first_difference, lock_folder

SEARCH = "search.json"


class SearchConfig(TypedDict):
    """The keys of `search.json`, which are compared with those of the search that is asked for."""

    model: str
    graph: NotRequired[dict[str, Any]]
    settings: NotRequired[dict[str, Any]]


@contextmanager
def open_search(path: Path, config: Mapping[str, Any]) -> Iterator[None]:
    """Lock a search's folder; create it, or check that it holds the search that `config` describes.

    Raises:
        RunError: Another process works in it, or it holds another search or something else.
    """
    _check_free(path)
    with lock_folder(path):
        if (path / SEARCH).exists():
            _check_same(path, config)
        else:
            write_json(path / SEARCH, config)
        yield


def _check_free(path: Path) -> None:
    """Refuse a folder with other files before anything, even a lock, is written there."""
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
    kept = read_json(path / SEARCH, partial(checked, SearchConfig), "choose another folder")
    found = first_difference(kept, json.loads(json.dumps(config)))
    if found is not None:
        raise RunError(
            str(path),
            f"holds a search with {found}",
            way_out="choose another folder with --out, or ask for the same search",
        )
