"""Open a pickle without trusting it: only arrays, sparse matrices and plain containers come out.

Planetoid's files are Python 2 pickles. A bare unpickler would call whatever function such a file
names; here the names are looked up in a table of harmless classes.

NumPy and SciPy are not in that table either: they fill an array or a matrix with whatever state a
pickle has, which may point outside the arrays' memory. The classes in their place only collect the
state; arrays are built from it, and checked, once the pickle has been read.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from nodewise.data.index_arrays import ArrayChecks
from nodewise.errors import RawFileError

_NUMBERS = frozenset({"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"})
FETCH = "delete the file and fetch it again from its public home"


class _State:
    """Takes the state that a pickle gives to an object, and does nothing with it."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Dtype(_State):
    """Stands in for `numpy.dtype`, which a pickle calls with its code, such as `f4`."""

    def __init__(self, code: Any = None, *_flags: Any) -> None:
        self._code = code

    def build(self) -> np.dtype[Any]:
        """The type, if it is one of numbers."""
        order = self.state[1] if isinstance(self.state, tuple) else "|"
        if self._code not in _NUMBERS or order not in ("<", ">", "|", "="):
            raise ValueError(f"arrays of {self._code!r} are not read")
        return np.dtype(f"{order}{self._code}")


class _Array(_State):
    """Stands in for `numpy.ndarray`, whose state is (version, shape, dtype, order, bytes)."""

    def __init__(self, *_empty: Any) -> None:
        # `numpy.core.multiarray._reconstruct` is called for an empty array first.
        pass

    def build(self) -> NDArray[Any]:
        """The array, if there are as many bytes as it needs."""
        _, shape, dtype, is_fortran, content = self.state
        if not isinstance(dtype, _Dtype):
            raise ValueError("an array has no type")
        raw = content.encode("latin1") if isinstance(content, str) else content
        # Copied: what is built on bytes cannot be written to. scipy wants the native byte order.
        given = dtype.build()
        flat = np.frombuffer(raw, given).astype(given.newbyteorder("="))
        return flat.reshape(shape, order="F" if is_fortran else "C")


class _Csr(_State):
    """Stands in for `scipy.sparse.csr_matrix`, whose state is its attributes."""

    def build(self, name: str) -> Any:
        """The matrix, if its arrays are one.

        Raises:
            RawFileError: They are not.
        """
        parts = {part: _built(name, self.state[part]) for part in ("data", "indices", "indptr")}
        shape = ArrayChecks(name, RawFileError, FETCH).csr({**parts, "shape": self.state["_shape"]})
        return csr_matrix(tuple(parts.values()), shape)


# Keys are the names at the time when the files were written. Looked up here and not imported, they
# survive every renaming of modules in NumPy and SciPy.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _AllowListUnpickler(pickle.Unpickler):
    def __init__(self, name: str, content: bytes) -> None:
        # Python 2 strings are bytes: latin1 keeps every byte of an array's buffer.
        super().__init__(io.BytesIO(content), encoding="latin1")
        self._name = name

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise RawFileError(
                self._name,
                "the pickle asks for something that is not data; nothing of it was run",
                value=f"{module}.{name}",
                way_out=FETCH,
            )
        return _ALLOWED[module, name]


def loads(name: str, content: bytes) -> Any:
    """Unpickle `content`: an array, a CSR matrix, or containers of plain numbers and texts.

    Args:
        name: The file's name, for errors.
        content: The file's bytes.

    Raises:
        RawFileError: The pickle names anything but the allowed classes, is damaged, or holds a
            matrix whose indices are wrong.
    """
    try:
        _check_memo(content)
        return _built(name, _AllowListUnpickler(name, content).load())
    except RawFileError:
        raise
    except Exception as error:  # a damaged pickle fails in as many ways as there are opcodes
        raise RawFileError(
            name,
            f"is damaged, or not a pickle ({type(error).__name__}: {error})",
            value=f"{len(content)} bytes",
            way_out=FETCH,
        ) from error


def _check_memo(content: bytes) -> None:
    """Check the places at which a pickle keeps objects: memory is allocated up to the last one.

    Raises:
        ValueError: There are more places than bytes, or opcodes are damaged.
    """
    for opcode, place, _ in pickletools.genops(content):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and (place or 0) > len(content):
            raise ValueError(f"it keeps an object at place {place}")


def _built(name: str, thing: Any) -> Any:
    if isinstance(thing, _Csr):
        return thing.build(name)
    return thing.build() if isinstance(thing, _Array) else thing
