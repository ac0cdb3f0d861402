"""A run's folder: configuration, history, checkpoint, model, result.

The process may be killed at any moment. Afterwards the folder is finished, or the run can be
continued from it, or an error names the damaged file.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from nodewise.checked import checked
from nodewise.data.options import current_options
from nodewise.errors import RunError, RunWarning
from nodewise.io import (
    file_bytes,
    json_bytes,
    load_tensors,
    parse_json,
    parse_toml,
    reading,
    replacing,
    save_tensors,
    write_bytes,
    writing,
)
from nodewise.runs.formats import (
    RunConfig,
    check_checkpoint,
    check_diagnostics,
    check_line,
    check_result,
)
from nodewise.runs.manifest import (
    MANIFEST,
    Manifest,
    contents_of,
    is_expected,
    model_sha256,
    read_manifest,
    sha256_of,
    write_manifest,
)
from nodewise.training.loop import Epoch, Tensors
from nodewise.training.recipe import check_settings, current_settings

if TYPE_CHECKING:
    from nodewise.data.tables.preprocessing import Preprocessing

CONFIG, RESULT, MODEL, HISTORY = "config.toml", "result.json", "model.safetensors", "history.jsonl"
PREPROCESSING, DIAGNOSTICS = "preprocessing.json", "diagnostics.json"
CANDIDATES = "candidates"  # the folder of the runs from which one is chosen
CHECKPOINT = Path("checkpoint") / "last.safetensors"
_FILES = (CONFIG, PREPROCESSING, DIAGNOSTICS, HISTORY, MODEL, RESULT)


class RunFolder:
    """The files of one run; the loop's `Keeper`. `open_run` locks the folder for writing.

    Each file is checked when it is read: that it is what the manifest of a finished run says, and
    that its content has the type that others rely on.

    Args:
        path: The folder.
        allow_changes: Whether files of a finished run that have changed are read with a warning.
    """

    def __init__(self, path: Path, allow_changes: bool = False) -> None:
        self.path, self._allow_changes = path, allow_changes
        self._lines: list[str] = []

    @property
    def config(self) -> dict[str, Any]:
        """The content of `config.toml`; see `RunConfig`.

        Raises:
            RunError: There is no such file, it was changed, or it is something else.
        """
        with reading(self.path / CONFIG, "name a folder that `nodewise train` wrote"):
            content = parse_toml(self._bytes(CONFIG))
            config: dict[str, Any] = dict(checked(RunConfig, _current(content)))
            check_settings(config["settings"], "settings")
            self._check_model(content)
            return config

    @property
    def result(self) -> dict[str, Any] | None:
        """The content of `result.json`, see `Result`; None before the run has ended.

        Raises:
            RunError: The file was changed, or is something else.
        """
        return self._json(RESULT, check_result)

    @property
    def diagnostics(self) -> dict[str, Any] | None:
        """The content of `diagnostics.json`, see `Diagnostics`; None without such a file.

        Raises:
            RunError: The file was changed, or is something else.
        """
        return self._json(DIAGNOSTICS, check_diagnostics)

    def _json(self, name: str, check: Callable[[object], dict[str, Any]]) -> dict[str, Any] | None:
        path = self.path / name
        if not path.exists():
            return None
        with reading(path, "restore it, or delete the folder and train again"):
            return check(_current(parse_json(self._bytes(name), _renamed)))

    @property
    def history(self) -> list[Epoch]:
        """The epochs in `history.jsonl`, without a last line that a crash has cut short.

        Raises:
            RunError: The file was changed, or is something else.
        """
        path = self.path / HISTORY
        if not path.exists():
            return []
        with reading(path, "restore it, or delete the folder and train again"):
            lines = self._bytes(HISTORY).splitlines(keepends=True)
            return [check_line(parse_json(line)) for line in lines if line[-1:] == b"\n"]

    @property
    def preprocessing(self) -> Preprocessing:
        """The preprocessing that gives a table the features of the run.

        Raises:
            RunError: The run was not trained on tables, or the file was changed.
        """
        from nodewise.data.tables.preprocessing import Preprocessing

        path = self.path / PREPROCESSING
        if not path.exists():
            raise RunError(
                str(self.path),
                f"has no {PREPROCESSING}: it was not trained on tables, so it cannot read any",
                way_out="name a data set with the same features instead",
            )
        with reading(path, "restore it, or train again in another folder"):
            return Preprocessing.from_json(self._bytes(PREPROCESSING))

    def weights(self) -> Tensors:
        """The trained weights of a finished run.

        Raises:
            RunError: The file is missing, was changed, or is damaged.
        """
        self._check_file(MODEL)
        return load_tensors(self.path / MODEL)[0]

    def check_files(self) -> None:
        """Check all files of a finished run to be those that its manifest names.

        Raises:
            RunError: One was changed, is gone, or is not in the manifest.
        """
        if not is_finished(self.path):
            return
        manifest = self._manifest()
        if manifest is None:
            self._warn(f"{self.path} has no {MANIFEST}, so nothing says whether files were changed")
            return
        for name in _FILES:
            if (self.path / name).exists() or name in manifest["files"]:
                self._check_file(name)

    def _check_file(self, name: str) -> None:
        with reading(self.path / name, "restore it, or train again in another folder"):
            self._bytes(name)

    def _bytes(self, name: str) -> bytes:
        """The bytes of a file, checked against the manifest of a finished run, if it has one.

        Raises:
            OSError: It cannot be read.
            RunError: It was changed.
        """
        content = file_bytes(self.path / name)
        manifest = self._manifest()
        if manifest is not None and manifest["files"].get(name) != sha256_of(content):
            self._refuse(name)
        return content

    def _check_model(self, config: Mapping[str, Any]) -> None:
        """Check the settings of a finished run to be those of its manifest."""
        manifest = self._manifest()
        if manifest is not None and manifest["model_sha256"] != model_sha256(config):
            self._refuse(CONFIG)

    def _manifest(self) -> Manifest | None:
        """The manifest of a finished run; None without one, as of runs of earlier releases.

        Raises:
            RunError: It is damaged, or is gone: other files name a release that wrote one.
        """
        if not is_finished(self.path):
            return None
        manifest = read_manifest(self.path)
        if manifest is None and not self._allow_changes and is_expected(self._versions()):
            raise _changed(self.path / MANIFEST, "is gone: every run of this release has one")
        return manifest

    def _versions(self) -> list[object]:
        """The versions of nodewise that files name; those that cannot be read name none."""
        found: list[object] = []
        with suppress(OSError, ValueError):
            found.append(parse_toml(file_bytes(self.path / CONFIG)).get("nodewise"))
        with suppress(OSError, ValueError, LookupError, TypeError):
            found.append(parse_json(file_bytes(self.path / RESULT))["versions"]["nodewise"])
        return found

    def _refuse(self, name: str) -> None:
        """Refuse a file that was changed, or warn."""
        problem = f"is not as training left it: its SHA-256 is not the one in {MANIFEST}"
        if not self._allow_changes:
            raise _changed(self.path / name, problem)
        self._warn(f"{self.path / name} {problem}")

    def _warn(self, text: str) -> None:
        warnings.warn(text, RunWarning, stacklevel=2)

    def write_preprocessing(self, preprocessing: Preprocessing) -> None:
        """Write `preprocessing.json`, with which later tables are read.

        Of an unfinished run always, since nothing would notice if the file had been damaged.
        """
        path = self.path / PREPROCESSING
        if not is_finished(self.path):
            with writing(path):
                preprocessing.save(path)

    def write_diagnostics(self, diagnostics: Mapping[str, Any]) -> None:
        """Write `diagnostics.json`, which the run's page shows."""
        write_bytes(self.path / DIAGNOSTICS, json_bytes(diagnostics, indent=None))

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return the last checkpoint, and cut the history back to its epoch.

        Raises:
            RunError: The checkpoint is damaged, or another file has changed since it was written.
        """
        checkpoint = self._checkpoint()
        self._cut_history(0 if checkpoint is None else checkpoint[1]["epoch"])
        return checkpoint

    def save(self, tensors: Tensors, about: dict[str, Any]) -> None:
        """Write the history, then the checkpoint, so that the history lacks no epoch."""
        self._flush()
        about = {**about, "files": self._begun(about["epoch"])}
        save_tensors(self.path / CHECKPOINT, tensors, about)

    def _checkpoint(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The last checkpoint; what it names is as it was then, perhaps with later epochs."""
        path, way_out = self.path / CHECKPOINT, "restore it, or delete the folder and train again"
        if not path.exists():
            return None
        tensors, about = load_tensors(path)
        with reading(path, way_out):
            about = check_checkpoint(about)
        found = self._begun(about["epoch"]) if "files" in about else {}
        for name, sha256 in found.items():
            if about["files"].get(name) != sha256:
                problem = "was changed since the last checkpoint was written"
                raise RunError(str(self.path / name), problem, way_out=way_out)
        return tensors, about

    def _begun(self, epochs: int) -> dict[str, str]:
        """The SHA-256 of files that an unfinished run goes on from: a checkpoint's manifest."""
        contents = contents_of(self.path, (CONFIG, HISTORY))
        lines = contents.get(HISTORY, b"").splitlines(keepends=True)[:epochs]
        contents[HISTORY] = b"".join(lines)
        return {name: sha256_of(content) for name, content in contents.items()}

    @property
    def best_so_far(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The weights of the best epoch of a run that was stopped, and its checkpoint's numbers.

        None before the first epoch that was validated.

        Raises:
            RunError: The checkpoint is damaged.
        """
        checkpoint = self._checkpoint()
        if checkpoint is None:
            return None
        tensors, about = checkpoint
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
        """Write model, manifest and result.

        The result comes last: a folder that has one is complete.
        """
        self._flush()
        save_tensors(self.path / MODEL, weights, {"model": result["model"]})
        self.seal(json_bytes(result))
        (self.path / CHECKPOINT).unlink(missing_ok=True)

    def seal(self, result: bytes) -> None:
        """Write the manifest of all files, and then `result.json`, whose bytes are given."""
        contents = {**contents_of(self.path, _FILES), RESULT: result}
        write_manifest(self.path, contents, parse_toml(contents[CONFIG]))
        write_bytes(self.path / RESULT, result)

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


def _changed(path: Path, problem: str) -> RunError:
    return RunError(
        str(path),
        problem,
        way_out="restore it; commands that only read a run go on knowingly with "
        "--allow-changes (load_run with allow_changes=True)",
    )


def is_finished(path: Path) -> bool:
    """Whether a folder holds a finished run."""
    return (path / RESULT).exists()


# Keys of the JSON files that had another name in earlier releases.
_RENAMED = {"neighbours": "neighbors"}


def _renamed(table: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with the names that this release uses."""
    return {_RENAMED.get(key, key): value for key, value in table.items()}


def _current(content: Any) -> Any:
    """A file's content, its settings and options under the names that this release uses."""
    if not isinstance(content, dict):
        return content
    settings, graph = content.get("settings"), content.get("graph")
    if isinstance(settings, dict):
        content = {**content, "settings": current_settings(settings)}
    if isinstance(graph, dict) and isinstance(graph.get("options"), dict):
        content = {**content, "graph": {**graph, "options": current_options(graph["options"])}}
    return content
