"""What a file is, told by its first bytes, so that nothing is read for long that is no table."""

from __future__ import annotations

import gzip
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, cast

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


def open_file(path: Path) -> BinaryIO:
    """Open a file, unpacked on the way if it is gzip."""
    with path.open("rb") as stream:
        packed = stream.read(2) == GZIP
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def first_bytes(path: Path) -> bytes:
    """The first 64 KB, unpacked if the file is gzip.

    Raises:
        TableError: There is no such file, it cannot be opened, is empty, or its gzip is damaged.
    """
    _check_is_file(path)
    try:
        with open_file(path) as stream:
            head = stream.read(_SAMPLE)
    except OSError as error:
        raise unreadable(path, error) from error
    except (EOFError, zlib.error) as error:
        raise damaged_gzip(path) from error
    if not head.strip():
        raise TableError(str(path), "is empty", way_out="give a file with a header and rows")
    return head


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
    """The error for a file that the system will not open, or that gzip cannot unpack."""
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
