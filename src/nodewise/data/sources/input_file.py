"""A file that is read: what it is, by its first bytes, and its SHA-256.

A file is opened twice, here and to read its rows: the header decides how the rows are read, and
a file that is not a table is refused before much of it has been read.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from nodewise.data.stores.meta import is_store, read_meta, was_to_be_store
from nodewise.errors import TableError

_SAMPLE = 1 << 16
GZIP, ZIP, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_EXPORT = "export it as CSV or Parquet"
_FOREIGN = {
    ZIP: "is a ZIP archive, perhaps a spreadsheet, or an npz, which is given without edges",
    b"\xd0\xcf\x11\xe0": "is an old spreadsheet",
    b"SQLite format 3": "is an SQLite database",
    b"\x89HDF": "is an HDF5 file",
    b"ARROW1": "is an Arrow file",
    b"BZh": "is compressed with bzip2",
    b"\xfd7zXZ": "is compressed with xz",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd",
}


@dataclass(frozen=True)
class InputFile:
    """A file that has been opened once, or the folder of a store.

    Attributes:
        path: Where it is.
        head: Its first 64 KB, unpacked if the file is gzip; nothing of a store.
        sha256: The fingerprint of all of it, as it is stored.
    """

    path: Path
    head: bytes
    sha256: str

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file and take its fingerprint.

        Raises:
            TableError: There is no such file, it cannot be opened, is empty, its gzip is damaged,
                or it is neither a text in UTF-8 nor Parquet nor npz.
            GraphError: It is the folder of a store that is damaged or was not completed.
        """
        path = path.expanduser()
        _check_name(path)
        if path.is_dir() and was_to_be_store(path):
            return cls(path, b"", str(read_meta(path)["sha256"]))
        _check_is_file(path)
        try:
            with path.open("rb") as stream:
                head = _unpack(stream).read(_SAMPLE)
                _check_head(path, head)
                stream.seek(0)
                return cls(path, head, hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            raise unreadable(path, error) from error
        except (EOFError, zlib.error) as error:
            raise damaged_gzip(path) from error

    @property
    def is_npz(self) -> bool:
        """Whether it is what NumPy saves several arrays as."""
        return self.head.startswith(ZIP)

    @property
    def is_store(self) -> bool:
        """Whether it is the folder of a store."""
        return self.path.is_dir()


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked if it is gzip; `seek(0)` goes back to the first."""
    with path.open("rb") as stream, _unpack(stream) as content:
        yield content


def _unpack(stream: BinaryIO) -> BinaryIO:
    packed = stream.read(2) == GZIP
    stream.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream


def find_files(source: Mapping[str, Any], run: Path | None = None) -> dict[str, InputFile]:
    """The files that a run's record names, opened, if they are still the same.

    Args:
        source: `files` and, unless any version will do, `files_sha256`.
        run: The run's folder; files are also looked for in the folders above it, since a run is
            often used elsewhere than where it was trained.

    Raises:
        TableError: One is gone, or has been changed.
    """
    expected = source.get("files_sha256", {})
    above = [] if run is None else list(run.resolve().parents)
    return {what: _find(name, expected.get(what), above) for what, name in source["files"].items()}


def _find(name: str, sha256: str | None, above: Sequence[Path]) -> InputFile:
    if sha256 is None:
        return InputFile.open(Path(name))
    path = Path(name).expanduser()
    places = [path] if path.is_absolute() else [path, *(folder / path for folder in above)]
    found = [place for place in places if place.is_file() or is_store(place)]
    for place in found:
        file = InputFile.open(place)
        if file.sha256 == sha256:
            return file
    if found:
        raise TableError(
            str(found[0]),
            "has changed since the run was trained on it",
            way_out="restore it, or give the new tables to `nodewise predict RUN` with --nodes "
            "and --edges",
        )
    raise TableError(
        name,
        "the run was trained on this file, which is gone",
        way_out="go to the folder where the run was trained, or put the file back",
    )


def _check_head(path: Path, head: bytes) -> None:
    if not head.strip():
        raise TableError(str(path), "is empty", way_out="give a file with a header and rows")
    if not head.startswith((PARQUET, ZIP)):
        check_text(path, head)


def check_text(path: Path, head: bytes) -> None:
    """Check the first bytes to be those of a text in UTF-8.

    Raises:
        TableError: They are something else; the error says what, if it is known.
    """
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise TableError(str(path), what, way_out=_EXPORT)
    if head.startswith(_UTF16):
        raise TableError(
            str(path), "is text in UTF-16", way_out="save it as UTF-8, 'CSV UTF-8' in spreadsheets"
        )
    if b"\0" in head:
        raise TableError(
            str(path),
            f"is not a text table, byte {head.index(0)} is NUL",
            value="\0",
            way_out=_EXPORT,
        )


def unreadable(path: Path, error: Exception) -> TableError:
    """The error for a file that cannot be opened, or that gzip cannot unpack."""
    if isinstance(error, gzip.BadGzipFile):
        return damaged_gzip(path)
    reason = error.strerror if isinstance(error, OSError) else None
    return TableError(
        str(path), f"cannot be read ({reason or error})", way_out="make it a readable file"
    )


def damaged_gzip(path: Path) -> TableError:
    """The error for a gzip file that ends early or does not unpack."""
    return TableError(
        str(path), "is a damaged or truncated gzip file", way_out="compress or copy it again"
    )


def _check_name(path: Path) -> None:
    """Check that a file's name can be written into a run's configuration."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        way_out = "rename it, or the folder"
        raise TableError(str(path), "has a name that is not UTF-8", way_out=way_out) from error


def _check_is_file(path: Path) -> None:
    if path.is_dir():
        raise TableError(str(path), "is a folder", way_out="name a file in it")
    if not path.exists():
        folder = path.parent
        names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        near = get_close_matches(path.name, names, n=1)
        hint = f"did you mean {str(folder / near[0])!r}?" if near else "check its name and folder"
        raise TableError(str(path), "there is no such file", way_out=hint)
    if not path.is_file():
        raise TableError(str(path), "is not a file", way_out="write the table into a file")
