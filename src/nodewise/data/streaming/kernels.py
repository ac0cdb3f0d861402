"""Kernels over names as bytes: hashes, a hash table from names to numbers, and look-ups in it.

Name i is `data[ptr[i]:ptr[i + 1]]`. A slot of the table holds the number of a node plus one in its
lower half and half of the name's hash in its upper half, so that nearly all names that differ are
told apart without reading their bytes. A match is a comparison of bytes, never of hashes alone.
"""

from __future__ import annotations

import numpy as np

from nodewise.data.sampling.kernels import scramble
from nodewise.ops.compiled import inlined, kernel

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@inlined
def hash_bytes(data, start, stop):
    """64 bits of some bytes: FNV-1a, mixed once more."""
    word = _BASIS
    for i in range(start, stop):
        word = (word ^ np.uint64(data[i])) * _PRIME
    return scramble(word)


@inlined
def same_bytes(data, start, stop, other, at, end):
    """Whether two names are equal."""
    if stop - start != end - at:
        return False
    for i in range(stop - start):  # noqa: SIM110 - compiled code has no generators
        if data[start + i] != other[at + i]:
            return False
    return True


@inlined
def find_slot(word, data, start, stop, table, nodes, node_ptr):
    """The slot of a name, or the free one where it belongs."""
    last = np.uint64(table.size - 1)
    slot, fragment = word & last, word >> _HALF
    while table[slot] != 0:
        if table[slot] >> _HALF == fragment:
            node = np.int64(table[slot] & _LOW) - 1
            if same_bytes(data, start, stop, nodes, node_ptr[node], node_ptr[node + 1]):
                return slot
        slot = (slot + _ONE) & last
    return slot


@kernel
def hash_names(data, ptr, out):
    """The hash of each name."""
    for i in range(out.size):
        out[i] = hash_bytes(data, ptr[i], ptr[i + 1])


@kernel
def build_table(nodes, node_ptr, table):
    """Number all nodes; returns the first that repeats an earlier one's name and that one, or -1s.

    `table` is of zeros, a power of two long, and longer than there are nodes.
    """
    for node in range(node_ptr.size - 1):
        start, stop = node_ptr[node], node_ptr[node + 1]
        word = hash_bytes(nodes, start, stop)
        slot = find_slot(word, nodes, start, stop, table, nodes, node_ptr)
        if table[slot] != 0:
            return node, np.int64(table[slot] & _LOW) - 1
        table[slot] = ((word >> _HALF) << _HALF) | np.uint64(node + 1)
    return -1, -1


@kernel
def find_names(data, ptr, nodes, node_ptr, table, out):
    """The number of each name, -1 where it is not that of a node."""
    for i in range(out.size):
        start, stop = ptr[i], ptr[i + 1]
        word = hash_bytes(data, start, stop)
        slot = find_slot(word, data, start, stop, table, nodes, node_ptr)
        out[i] = np.int64(table[slot] & _LOW) - 1


@kernel
def count_ends(source, target, counts):
    """Add one for each end of each edge."""
    for i in range(source.size):
        counts[source[i]] += 1
        counts[target[i]] += 1
