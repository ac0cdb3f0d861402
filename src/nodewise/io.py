"""Files that are written completely or not at all: bytes, JSON, and named tensors."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from nodewise.errors import RunError

if TYPE_CHECKING:
    from torch import Tensor

# One entry for both: safetensors writes several in an arbitrary order, and equal runs should have
# equal files.
_ENTRY = "nodewise"


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends, and vanishes if it fails.

    The temporary file lies in the same folder, since only within one file system is a rename
    atomic. It is opened by name and not by `tempfile`, whose files other users may not read.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


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
    """Write a JSON object, completely or not at all.

    Args:
        path: Where to.
        content: The object.
        indent: None writes a single line: a list of numbers takes a third of the space.

    Raises:
        RunError: The disk is full, or the folder cannot be written.
    """
    with writing(path), replacing(path) as stream:
        stream.write(json.dumps(content, indent=indent).encode() + b"\n")


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
    with writing(path), replacing(path) as stream:
        stream.write(content)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Raises:
        RunError: The file is missing, truncated, altered, or of another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            header = json.loads((file.metadata() or {})[_ENTRY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != _digest(tensors, header["about"]):
            raise ValueError("it does not match the SHA-256 it carries")
        return tensors, json.loads(header["about"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
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
