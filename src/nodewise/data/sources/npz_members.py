"""The arrays in an npz file, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Self
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from nodewise.errors import TableError

_END = ".npy"


class NpzMembers(Mapping[str, NDArray[Any]]):
    """The arrays by name: members that are not arrays, and those of Python objects, are left out.

    Headers are read at once, which takes no memory. An array is read when it is first used, and
    only if the archive has as many bytes as the header says: NumPy would first make room for all.
    It is a context manager, which closes the file.

    Args:
        path: The file.

    Raises:
        TableError: It is damaged, or not an npz file; also when an array is asked for.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._found = path, dict[str, ZipInfo]()
        self._loaded = dict[str, NDArray[Any]]()
        # Opened here, since ZipFile leaves a file open that it cannot read.
        with ExitStack() as opened, self._telling():
            stream = opened.enter_context(path.open("rb"))
            self._archive = opened.enter_context(ZipFile(stream))
            for member in self._archive.infolist():
                if member.filename.endswith(_END) and _is_array(self._archive, member):
                    self._found[member.filename.removesuffix(_END)] = member
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._loaded:
            member = self._found[name]
            with self._telling(), self._archive.open(member) as stream:
                self._loaded[name] = npy.read_array(stream, allow_pickle=False)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a damaged archive fails in zipfile, zlib or numpy
            raise TableError(
                str(self._path),
                f"is damaged, or not an npz file ({type(error).__name__}: {error})",
                way_out="save or copy it again",
            ) from error


def _is_array(archive: ZipFile, member: ZipInfo) -> bool:
    """Whether a member is an array of plain data.

    Raises:
        ValueError: It is an array whose data have another size than its header says.
    """
    with archive.open(member) as stream:
        if stream.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            return False
    with archive.open(member) as stream:
        try:
            shape, _, dtype = _header(stream)
        except ValueError:
            return False
        if dtype.hasobject:
            return False
        size = dtype.itemsize
        for count in shape:  # NumPy's product would overflow
            size *= count
        if any(count < 0 for count in shape) or stream.tell() + size != member.file_size:
            raise ValueError(f"{member.filename} is not an array of {dtype} of shape {shape}")
        return True


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array, as the first bytes of its file have them."""
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"format {version} is for names of fields that no graph has")
    return readers[version](stream)
