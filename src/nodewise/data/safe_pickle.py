"""Open a pickle without trusting it: only arrays, sparse matrices and plain containers come out.

Planetoid's files are Python 2 pickles. A bare unpickler would call whatever function such a file
names; here the names are looked up in a table, and the table has nothing that acts.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
from numpy._core.multiarray import _reconstruct
from scipy.sparse import csr_matrix

from nodewise.errors import RawFileError

# Keys are the names of the day the files were written. Looked up here and not imported, they
# survive every renaming of modules in NumPy and SciPy.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): csr_matrix,
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
                way_out="delete the file and fetch it again from its public home",
            )
        return _ALLOWED[module, name]


def loads(name: str, content: bytes) -> Any:
    """Unpickle `content`.

    Args:
        name: The file's name, for errors.
        content: The file's bytes.

    Raises:
        RawFileError: The pickle names anything but the allowed classes, or is damaged.
    """
    try:
        return _AllowListUnpickler(name, content).load()
    except RawFileError:
        raise
    except Exception as error:  # a damaged pickle fails in as many ways as there are opcodes
        raise RawFileError(
            name,
            f"is not a whole pickle ({type(error).__name__}: {error})",
            value=f"{len(content)} bytes",
            way_out="delete the file and fetch it again from its public home",
        ) from error
