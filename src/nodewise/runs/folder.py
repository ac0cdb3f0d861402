"""A run's folder: configuration, history, checkpoint, model, result.

The process may be killed at any moment. Afterwards the folder is finished, or the run can be
continued from it, or an error names the damaged file.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w
from filelock import FileLock, Timeout
from torch import Tensor

from nodewise.data.options import current_options
from nodewise.errors import RunError
from nodewise.io import load_tensors, replacing, save_tensors, write_json, writing
from nodewise.training.loop import Epoch, Tensors
from nodewise.training.recipe import current_settings, default_settings

if TYPE_CHECKING:
    from nodewise.data.preprocessing import Preprocessing

CONFIG, RESULT, MODEL, HISTORY = "config.toml", "result.json", "model.safetensors", "history.jsonl"
PREPROCESSING, DIAGNOSTICS = "preprocessing.json", "diagnostics.json"
CANDIDATES = "candidates"  # the folder of the runs from which one is chosen
_CHECKPOINT = Path("checkpoint") / "last.safetensors"


class RunFolder:
    """The files of one run; the loop's `Keeper`. `open_run` locks the folder for writing.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[str] = []

    @property
    def config(self) -> dict[str, Any]:
        """The content of `config.toml`.

        Raises:
            RunError: There is no such file, or it is not TOML.
        """
        try:
            return _current(tomllib.loads((self.path / CONFIG).read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise RunError(
                str(self.path / CONFIG),
                f"cannot be read ({error})",
                way_out="name a folder that `nodewise train` wrote",
            ) from error

    @property
    def result(self) -> dict[str, Any] | None:
        """The content of `result.json`; None before the run has ended.

        Raises:
            RunError: The file is not JSON.
        """
        return self._json(RESULT)

    @property
    def diagnostics(self) -> dict[str, Any] | None:
        """The content of `diagnostics.json`; None without such a file.

        Raises:
            RunError: The file is not JSON.
        """
        return self._json(DIAGNOSTICS)

    def _json(self, name: str) -> dict[str, Any] | None:
        path = self.path / name
        if not path.exists():
            return None
        try:
            return _current(dict(json.loads(path.read_bytes(), object_hook=_renamed)))
        except (OSError, ValueError, TypeError) as error:
            raise RunError(
                str(path), f"cannot be read ({error})", way_out="delete it, and run again"
            ) from error

    @property
    def history(self) -> list[Epoch]:
        """The epochs in `history.jsonl`, without a last line that a crash has cut short."""
        path = self.path / HISTORY
        text = path.read_text("utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]

    @property
    def preprocessing(self) -> Preprocessing:
        """The preprocessing that gives a table the features of the run.

        Raises:
            RunError: The run was not trained on tables.
        """
        from nodewise.data.preprocessing import Preprocessing

        path = self.path / PREPROCESSING
        if not path.exists():
            raise RunError(
                str(self.path),
                f"has no {PREPROCESSING}: it was not trained on tables, so it cannot read any",
                way_out="name a data set with the same features instead",
            )
        return Preprocessing.load(path)

    def write_preprocessing(self, preprocessing: Preprocessing) -> None:
        """Write `preprocessing.json`, with which later tables are read."""
        path = self.path / PREPROCESSING
        if not path.exists():
            with writing(path):
                preprocessing.save(path)

    def write_diagnostics(self, diagnostics: Mapping[str, Any]) -> None:
        """Write `diagnostics.json`, which the run's page shows."""
        write_json(self.path / DIAGNOSTICS, diagnostics, indent=None)

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return the last checkpoint, and cut the history back to its epoch."""
        checkpoint = None
        if (self.path / _CHECKPOINT).exists():
            checkpoint = load_tensors(self.path / _CHECKPOINT)
        self._cut_history(0 if checkpoint is None else checkpoint[1]["epoch"])
        return checkpoint

    def save(self, tensors: Tensors, about: dict[str, Any]) -> None:
        """Write the history, then the checkpoint, so that the history lacks no epoch."""
        self._flush()
        save_tensors(self.path / _CHECKPOINT, tensors, about)

    @property
    def best_so_far(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The weights of the best epoch of a run that was stopped, and its checkpoint's numbers.

        None before the first epoch that was validated.

        Raises:
            RunError: The checkpoint is damaged.
        """
        if not (self.path / _CHECKPOINT).exists():
            return None
        tensors, about = load_tensors(self.path / _CHECKPOINT)
        weights = {
            key.removeprefix("best/"): tensor
            for key, tensor in tensors.items()
            if key.startswith("best/")
        }
        return (weights, about) if weights else None

    def record(self, epoch: Epoch) -> None:
        """Buffer a line of history until the next checkpoint."""
        self._lines.append(json.dumps(epoch))

    def forget_history(self) -> None:
        """Empty the history."""
        self._cut_history(0)

    def finish(self, weights: Mapping[str, Tensor], result: Mapping[str, Any]) -> None:
        """Write model and result. The result comes last: a folder that has one is complete."""
        self._flush()
        save_tensors(self.path / MODEL, weights, {"model": result["model"]})
        write_json(self.path / RESULT, result)
        (self.path / _CHECKPOINT).unlink(missing_ok=True)

    def _flush(self) -> None:
        path = self.path / HISTORY
        with writing(path), path.open("a") as stream:
            stream.writelines(f"{line}\n" for line in self._lines)
            stream.flush()
            os.fsync(stream.fileno())
        self._lines.clear()

    def _cut_history(self, epochs: int) -> None:
        """Keep the lines of the first epochs; a killed process may have left more, or half a line.

        An epoch is one line, so that counting lines is enough.
        """
        path = self.path / HISTORY
        lines = path.read_bytes().splitlines(keepends=True)[:epochs] if path.exists() else []
        with writing(path), replacing(path) as stream:
            stream.writelines(lines)


def is_finished(path: Path) -> bool:
    """Whether a folder holds a finished run."""
    return (path / RESULT).exists()


# Keys of the JSON files that had another name in earlier releases.
_RENAMED = {"neighbours": "neighbors"}


def _renamed(table: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with the names that this release uses."""
    return {_RENAMED.get(key, key): value for key, value in table.items()}


def _current(content: dict[str, Any]) -> dict[str, Any]:
    """A file's content, its settings and options under the names that this release uses."""
    settings, graph = content.get("settings"), content.get("graph")
    if isinstance(settings, dict):
        content = {**content, "settings": current_settings(settings)}
    if isinstance(graph, dict) and "options" in graph:
        content = {**content, "graph": {**graph, "options": current_options(graph["options"])}}
    return content


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
    except Timeout as error:
        raise RunError(
            str(path),
            "another process is working on this run",
            way_out="wait for it, or choose another folder",
        ) from error
    except OSError as error:
        raise RunError(
            str(path), f"is no folder to write to ({error.strerror})", way_out="choose another one"
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
