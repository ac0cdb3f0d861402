"""Pickles of raw files are read without running code, and arrays only of known types."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nodewise.data.published.safe_pickle import loads
from nodewise.errors import RawFileError
from tests.data.array_readers import unpickled_csr
from tests.data.bad_arrays import PARTS
from tests.data.raw_files import dumps


@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
@pytest.mark.parametrize("dtype", ["O", "U1", "c16", "M8[s]"])
def test_a_pickle_with_another_type_is_not_opened(part: str, dtype: str) -> None:
    matrix = unpickled_csr({**PARTS, part: np.zeros(5, dtype)})
    with pytest.raises(
        RawFileError, match=r"ind.cora.x: is damaged, or not a pickle.*are not read"
    ):
        loads("ind.cora.x", dumps(matrix))


def test_a_pickle_cannot_make_an_array_of_pointers() -> None:
    # The type says objects and its flags say none: NumPy would take the bytes for addresses.
    content = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        b"(I1\n(I1\ntcnumpy\ndtype\n(S'O8'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntb"
        b"I00\nS'AAAAAAAA'\ntb."
    )
    with pytest.raises(RawFileError, match="arrays of 'O8' are not read"):
        loads("ind.cora.y", content)


@pytest.mark.parametrize("shape", [(2, 3), (6,), (7, 2), (-1,), (2**62, 2**62), ()])
def test_a_pickled_array_has_the_bytes_of_its_shape(shape: tuple[int, ...]) -> None:
    array = np.arange(6, dtype=np.float32)
    content = dumps(array).replace(b"K\x06\x85", pickled(shape), 1)
    if shape in ((2, 3), (6,), (-1,)):
        assert loads("y", content).ravel().tolist() == array.tolist()
    else:
        with pytest.raises(RawFileError, match="damaged, or not a pickle"):
            loads("y", content)


def pickled(shape: tuple[int, ...]) -> bytes:
    """The tuple alone, without what a pickle has around it."""
    return pickle.dumps(shape, 0)[:-1].replace(b"p0\n", b"")


def test_a_pickle_cannot_have_memory_allocated_by_naming_a_far_place() -> None:
    far = b"\x80\x02]r" + (2**26).to_bytes(4, "little") + b"."  # 1 GB of empty places
    with pytest.raises(RawFileError, match="keeps an object at place 67108864"):
        loads("far", far)
