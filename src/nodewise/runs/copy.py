"""Copies a finished run to another folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copyfileobj
from typing import Any

from nodewise.io import replacing, writing
from nodewise.runs.folder import (
    CONFIG,
    DIAGNOSTICS,
    HISTORY,
    MODEL,
    PREPROCESSING,
    RESULT,
    RunFolder,
    check_config,
    open_run,
)

# The result comes last: a folder that has one is complete.
_FILES = (PREPROCESSING, DIAGNOSTICS, HISTORY, MODEL, RESULT)
_CHOSEN = ("model", "settings", "refit")


def copy_run(source: Path, target: Path) -> None:
    """Copy a finished run; a target that already contains it stays as it is.

    Raises:
        RunError: The target holds another run, or cannot be written.
    """
    with open_run(target, RunFolder(source).config) as run:
        if run.result is not None:
            return
        for path in (source / name for name in _FILES):
            if path.exists():
                with writing(target / path.name), path.open("rb") as content:
                    _write(target / path.name, content)


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
