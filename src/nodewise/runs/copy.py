"""Copies a finished run to another folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copyfileobj
from typing import Any

from nodewise.io import file_bytes, reading, replacing, writing
from nodewise.runs.folder import (
    CONFIG,
    DIAGNOSTICS,
    HISTORY,
    MODEL,
    PREPROCESSING,
    RESULT,
    RunFolder,
)
from nodewise.runs.open_run import check_config, open_run

_FILES = (PREPROCESSING, DIAGNOSTICS, HISTORY, MODEL)
_CHOSEN = ("model", "settings", "refit")


def copy_run(source: Path, target: Path) -> None:
    """Copy a finished run; a target that already contains it stays as it is.

    Raises:
        RunError: The target holds another run, or cannot be written; or a file of the source was
            changed.
    """
    of_source = RunFolder(source)
    of_source.check_files()
    with open_run(target, of_source.config) as run:
        if run.result is not None:
            return
        with reading(source / RESULT, "finish the run first"):
            result = file_bytes(source / RESULT)
        for path in (source / name for name in _FILES):
            if path.exists():
                with writing(target / path.name), path.open("rb") as content:
                    _write(target / path.name, content)
        run.seal(result)


def check_target(target: Path, config: Mapping[str, Any]) -> None:
    """Check, before a run is chosen, that the folder for its copy does not hold another run.

    Args:
        target: The folder to which the chosen run will be copied.
        config: The configuration of a candidate; others differ from it in model and settings only.

    Raises:
        RunError: The folder holds another run.
    """
    run = RunFolder(target)
    if (target / CONFIG).exists():
        found = run.config
        check_config(run, {**config, **{key: found[key] for key in _CHOSEN if key in found}})


def _write(path: Path, content: Any) -> None:
    with replacing(path) as stream:
        copyfileobj(content, stream)
