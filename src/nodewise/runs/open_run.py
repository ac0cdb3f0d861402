"""Opens a run's folder for one process, and checks that it holds the run that is asked for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w
from filelock import FileLock, Timeout

from nodewise.errors import RunError
from nodewise.io import replacing, sweep_parts, writing
from nodewise.runs.folder import CHECKPOINT, CONFIG, RunFolder
from nodewise.training.recipe import default_settings


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Create a folder, and lock it for this process.

    Raises:
        RunError: Another process has locked it, or it cannot be created or written to.
    """
    lock = FileLock(path / ".lock")
    try:
        path.mkdir(parents=True, exist_ok=True)
        # flock: the system releases the lock when the process ends, also when it is killed.
        lock.acquire(timeout=0)
        for folder in (path, (path / CHECKPOINT).parent):
            sweep_parts(folder)
    except Timeout as error:
        raise RunError(
            str(path),
            "another process is working on this run",
            way_out="wait for it, or choose another folder",
        ) from error
    except OSError as error:
        raise RunError(
            str(path),
            f"is not a folder to write to ({error.strerror})",
            way_out="choose another one",
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def open_run(path: Path, config: Mapping[str, Any]) -> Iterator[RunFolder]:
    """Lock a run's folder; create it, or check that its run has this very configuration.

    Raises:
        RunError: Another process works in the folder, or it holds another run.
    """
    with lock_folder(path):
        folder = RunFolder(path)
        _match(folder, dict(config))
        yield folder


def _match(folder: RunFolder, config: dict[str, Any]) -> None:
    path = folder.path / CONFIG
    if not path.exists():
        with writing(path), replacing(path) as stream:
            tomli_w.dump(config, stream)
    else:
        check_config(folder, config)


def check_config(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """Check that a folder's run has this very configuration.

    Raises:
        RunError: It has another; the error names the first key that differs.
    """
    difference = first_difference(folder.config, tomllib.loads(tomli_w.dumps(config)))
    if difference is not None:
        raise RunError(
            str(folder.path),
            f"holds a run with {difference}",
            way_out="choose another folder with --out, or ask for the same run",
        )


def first_difference(found: Mapping[str, Any], asked: Mapping[str, Any]) -> str | None:
    """The first key in which two configurations differ, as `key = found, not asked`; else None.

    A key of a recipe that was unknown when a run was trained had its default. The package's version
    is recorded and not compared: `results_version` says whether results differ.
    """
    one, other = (
        _flat({**config, "settings": {**default_settings(), **config.get("settings", {})}})
        for config in (found, asked)
    )
    for key in sorted((one.keys() | other.keys()) - {"nodewise"}):
        if one.get(key) != other.get(key):
            _, of_file, what = key.partition("graph.files_sha256.")
            if of_file and one.get(key) and other.get(key):
                return f"another version of {one.get(f'graph.files.{what}')}"
            return f"{key} = {one.get(key)!r}, not {other.get(key)!r}"
    return None


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat = {}
    for key, value in table.items():
        inner = _flat(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
        flat.update({f"{prefix}{name}": leaf for name, leaf in inner.items()})
    return flat
