"""Fetch a file over verified TLS: whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import ssl
import sys
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.request import urlopen

from rich.console import Console
from rich.progress import Progress

from nodewise.errors import RawFileError
from nodewise.io import replacing

_CHUNK = 1 << 18
_TIMEOUT = 30.0


def download(url: str, path: Path, sha256: str) -> None:
    """Download `url` to `path`, which appears only when all of it is there and its hash is right.

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
