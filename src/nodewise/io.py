"""Files that are written completely or not at all: bytes, JSON, and named tensors.

Every reader of our files begins here: only regular files are opened, since a pipe would wait for a
writer, and all damage is an OSError or a ValueError.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from nodewise.checked import checked
from nodewise.errors import RunError

try:
    import fcntl
except ImportError:  # Windows, which neither deletes nor renames a file that a process has open
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from torch import Tensor

# One entry for both: safetensors writes several in an arbitrary order, and equal runs should have
# equal files.
_ENTRY = "nodewise"
# The key of a JSON object that has the SHA-256 of all others.
SEAL = "sha256_of_all_else"
_PART = re.compile(r"\..+\.[0-9a-f]{8}\.part")
T = TypeVar("T")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends, and vanishes if it fails.

    The temporary file is in the same folder, since only within one file system is a rename
    atomic. It is opened by name and not by `tempfile`, whose files other users may not read. What
    a killed process has left of the same file is deleted.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep_parts(path.parent, f".{path.name}.")
    part, stream = _new_part(path)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is not None:  # while it is locked, and so not swept
                part.replace(path)
        if fcntl is None:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _new_part(path: Path) -> tuple[Path, BinaryIO]:
    """A temporary file for `path`, locked, which says to `sweep_parts` that its process lives."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        stream = part.open("xb")
        with suppress(OSError):  # some file systems have no locks; their files are never swept
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return part, stream
        stream.close()  # swept before it was locked


def sweep_parts(folder: Path, start: str = ".") -> None:
    """Delete the temporary files that killed processes have left in a folder.

    Args:
        folder: The folder.
        start: How their names start.
    """
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if name.startswith(start)]
        for name in filter(_PART.fullmatch, names):
            with suppress(OSError):
                _delete_unless_locked(folder / name)


def _delete_unless_locked(part: Path) -> None:
    """Delete a file; an OSError if a process that lives has locked it, or has it open."""
    if fcntl is None:
        part.unlink()
        return
    with part.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system unlocks it at death
        part.unlink()


def file_bytes(path: Path) -> bytes:
    """All bytes of a file.

    Raises:
        OSError: It cannot be read, or is a pipe or a device.
    """
    check_regular(path)
    return path.read_bytes()


def check_regular(path: Path) -> None:
    """Check, before it is opened, that a file is neither a pipe nor a device.

    Raises:
        OSError: It is, or there is no such file.
    """
    if path.exists() and not path.is_file():
        raise OSError("is a folder" if path.is_dir() else "is not a regular file")


def parse_json(content: bytes | str, hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The content of a JSON text.

    Args:
        content: The text.
        hook: Called with each object, which its answer replaces.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    try:
        return json.loads(content, object_hook=hook)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_toml(content: bytes) -> dict[str, Any]:
    """The content of a TOML text.

    Raises:
        ValueError: It is not TOML in UTF-8, or nested too deeply.
    """
    try:
        return tomllib.loads(content.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_json(path: Path, check: Callable[[object], T], way_out: str) -> T:
    """A JSON object that `write_json` wrote, checked, also against its seal if it has one.

    Args:
        path: The file.
        check: Returns the content with its type, or raises a ValueError.
        way_out: What to do if it is not, as a clause.

    Raises:
        RunError: It cannot be read, is something else, or has been changed.
    """
    with reading(path, way_out):
        return check(unsealed(parse_json(file_bytes(path))))


@contextmanager
def reading(path: Path, way_out: str) -> Iterator[None]:
    """Raise an OSError or a ValueError in the block, which reads a file of ours, as a RunError.

    Args:
        path: The file.
        way_out: What to do, as a clause.
    """
    try:
        yield
    except RunError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise RunError(str(path), f"cannot be read ({reason or error})", way_out=way_out) from error


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the SHA-256 of its content, so that a later change is noticed."""
    return {**content, SEAL: _digest_of_json(json.loads(json.dumps(content)))}


def unsealed(content: Any) -> Any:
    """The content that `sealed` received; content without a seal, of an earlier release, as it is.

    Raises:
        ValueError: It has been changed since it was sealed.
    """
    if not isinstance(content, dict) or SEAL not in content:
        return content
    rest = {key: value for key, value in content.items() if key != SEAL}
    if content[SEAL] != _digest_of_json(rest):
        raise ValueError(f"it was changed: its content has not the SHA-256 in {SEAL}")
    return rest


def _digest_of_json(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a JSON object, however it is indented."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an OSError in the block as a RunError."""
    try:
        yield
    except OSError as error:
        raise RunError(
            str(path),
            f"cannot be written ({error.strerror}); what was there before is intact",
            way_out="make room or choose another folder, then run the same command again",
        ) from error


def write_json(path: Path, content: Mapping[str, Any], indent: int | None = 2) -> None:
    """Write a JSON object with its seal, completely or not at all; see `read_json`.

    Args:
        path: Where to.
        content: The object.
        indent: None writes a single line: a list of numbers takes a third of the space.

    Raises:
        RunError: The disk is full, or the folder cannot be written.
    """
    write_bytes(path, json_bytes(sealed(content), indent))


def json_bytes(content: Mapping[str, Any], indent: int | None = 2) -> bytes:
    """A JSON object as a file has it; see `write_json`."""
    return json.dumps(content, indent=indent).encode() + b"\n"


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, completely or not at all.

    Raises:
        RunError: The disk is full, or the folder cannot be written.
    """
    with writing(path), replacing(path) as stream:
        stream.write(content)


def save_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors and a JSON object; if that fails, an older file stays as it is.

    Raises:
        RunError: The disk is full, or the folder cannot be written.
    """
    import torch  # takes seconds, so only when there are tensors
    from safetensors.torch import save

    # Copies: safetensors refuses tensors that share memory.
    copies = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    text = json.dumps(about)
    header = json.dumps({"sha256": _digest(copies, text), "about": text})
    content = save(copies, {_ENTRY: header})
    write_bytes(path, content)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Raises:
        RunError: The file is missing, truncated, altered, or of another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path)
        with safe_open(path, "pt") as file:
            header = parse_json((file.metadata() or {})[_ENTRY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != _digest(tensors, header["about"]):
            raise ValueError("it does not match the SHA-256 it carries")
        return tensors, checked(dict[str, Any], parse_json(header["about"]))
    except (OSError, SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            str(path),
            f"is not a file that nodewise wrote, or was damaged ({error})",
            way_out="restore it, or train again in another folder",
        ) from error


def _digest(tensors: Mapping[str, Tensor], about: str) -> str:
    """The SHA-256 of the object's text, and of name, type, shape and bytes of each tensor."""
    import torch

    digest = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
