"""Where raw files lie, and the certainty that they are the right ones."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from nodewise.data.download import download
from nodewise.errors import RawFileError


@dataclass(frozen=True)
class RawFile:
    """One raw file of a data set.

    Args:
        path: Where it lies under the data root, with forward slashes.
        url: Its public home.
        sha256: What its bytes hash to.
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

        What is returned is what was hashed, so nothing can change in between.

        Raises:
            RawFileError: The file cannot be had, or is not the published one.
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
                way_out=f"delete it, and it is fetched anew from {self.url}",
            )


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RawFileError(
            str(path), f"cannot be read ({error.strerror})", way_out="make it a readable file"
        ) from error


def cache_folder() -> Path:
    """The folder of everything that can be made again: `NODEWISE_CACHE`, else the user's cache."""
    override = os.environ.get("NODEWISE_CACHE")
    return Path(override) if override else user_cache_path("nodewise", appauthor=False)


def data_root(root: str | Path | None = None) -> Path:
    """The folder of raw files: `root`, else `NODEWISE_DATA`, else a folder in the user's cache."""
    chosen = root or os.environ.get("NODEWISE_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder() / "data"
