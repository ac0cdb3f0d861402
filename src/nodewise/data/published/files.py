"""Raw files: where they are, verified, and downloaded over TLS where they are missing."""

from __future__ import annotations

import hashlib
import os
import ssl
import sys
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.request import urlopen

from platformdirs import user_cache_path
from rich.console import Console
from rich.progress import Progress

from nodewise.errors import RawFileError
from nodewise.io import replacing

_CHUNK = 1 << 18
_TIMEOUT = 30.0


@dataclass(frozen=True)
class RawFile:
    """One raw file of a data set.

    Args:
        path: Its path under the data root, with forward slashes.
        url: The address that it is published at.
        sha256: The SHA-256 of its bytes.
    """

    path: str
    url: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name without folders."""
        return Path(self.path).name

    def read(self, root: Path) -> bytes:
        """The file's bytes, downloaded first if it is not under `root`, and always verified.

        The returned bytes are those that were hashed, so the file cannot change in between.

        Raises:
            RawFileError: The file cannot be downloaded, or is not the published one.
        """
        path = root / self.path
        if not path.exists():
            download(self.url, path, self.sha256)
        content = _read_bytes(path)
        self._verify(path, content)
        return content

    def _verify(self, path: Path, content: bytes) -> None:
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            # Not replaced by a download: it is the user's file, perhaps altered on purpose.
            raise RawFileError(
                str(path),
                f"is truncated or altered, its SHA-256 should be {self.sha256}",
                value=found,
                way_out=f"delete it, and it is downloaded again from {self.url}",
            )


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RawFileError(
            str(path), f"cannot be read ({error.strerror})", way_out="make it a readable file"
        ) from error


def cache_folder() -> Path:
    """The folder of downloads and caches: `NODEWISE_CACHE`, else a folder in the user's cache."""
    override = os.environ.get("NODEWISE_CACHE")
    return Path(override) if override else user_cache_path("nodewise", appauthor=False)


def data_root(root: str | Path | None = None) -> Path:
    """The folder of raw files: `root`, else `NODEWISE_DATA`, else a folder in the user's cache."""
    chosen = root or os.environ.get("NODEWISE_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder() / "data"


def download(url: str, path: Path, sha256: str) -> None:
    """Download `url` to `path`; nothing is written unless the SHA-256 is right.

    Raises:
        RawFileError: No network, no such address, a folder that cannot be written, or bytes that
            are not the published ones.
    """
    try:
        # The default context verifies the certificate and the host's name.
        with (
            urlopen(url, timeout=_TIMEOUT, context=ssl.create_default_context()) as response,
            replacing(path) as stream,
        ):
            found = _copy(response, stream, path.name)
            if found != sha256:
                raise _altered(url, found, sha256)
    except (OSError, HTTPException) as error:
        raise RawFileError(
            path.name,
            f"is not in {path.parent}, and could not be downloaded ({error})",
            way_out=f"fetch {url} by hand and put it into {path.parent}, or set NODEWISE_DATA to a "
            f"folder that holds {path.parent.name}/{path.name}",
        ) from error


def _copy(response: HTTPResponse, stream: BinaryIO, name: str) -> str:
    """Copy the body under a progress bar, return its SHA-256."""
    length = response.headers.get("Content-Length")
    expected = int(length) if length else None
    digest, received = hashlib.sha256(), 0
    with _progress() as progress:
        task = progress.add_task(name, total=expected)
        while chunk := response.read(_CHUNK):
            stream.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            progress.update(task, completed=received)
    if expected is not None and received < expected:
        raise HTTPException(f"the connection ended after {received} of {expected} bytes")
    return digest.hexdigest()


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not sys.stderr.isatty())


def _altered(url: str, found: str, sha256: str) -> RawFileError:
    return RawFileError(
        url,
        f"the download is not the published file, its SHA-256 should be {sha256}",
        value=found,
        way_out="try again later, or from another network; nothing was kept",
    )
