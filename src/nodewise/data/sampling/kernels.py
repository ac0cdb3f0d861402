"""Kernels of the neighbor sampler: edges of some targets, and the numbers of their sources.

They run on one thread each and release the interpreter's lock, so that several batches are
sampled at once. Random numbers are a hash of (key, node, counter), SplitMix64: no state, hence the
same numbers on every thread. Speed is bound by memory: a cache miss for each target's offsets and
for each edge.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import inlined, kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_HALF = np.uint64(32)
# Up to this many neighbors are compared with each other one by one.
_FEW = 32


@inlined
def scramble(word):
    """64 well-mixed bits of a word (Steele, Lea and Flood, 2014)."""
    word = (word ^ (word >> _SHIFTS[0])) * _FIRST
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND
    return word ^ (word >> _SHIFTS[2])


@inlined
def below(key, counter, bound):
    """The random number of that counter, from 0 to bound - 1; its bias is below bound / 2**32."""
    bits = scramble(key + np.uint64(counter + 1) * _GOLDEN) >> _HALF
    return np.int64((bits * np.uint64(bound)) >> _HALF)


@inlined
def pick_few(key, degree, count, first, out, at):
    """`count` of `degree` places without repeats (Floyd's algorithm, 1987), all subsets alike."""
    for i in range(count):
        last = degree - count + i
        place, repeated = below(key, i, last + 1), False
        for j in range(i):
            repeated = repeated or out[at + j] == first + place
        out[at + i] = first + (last if repeated else place)


@inlined
def pick_many(key, degree, count, first, out, at):
    """The same in one pass over all places (selection sampling, Knuth's algorithm S)."""
    chosen = 0
    for place in range(degree):
        if below(key, place, degree - place) < count - chosen:
            out[at + chosen] = first + place
            chosen += 1


@kernel
def sample_edges(colptr, row, targets, key, ptr, e_id, source):
    """Fill the places in `row` and the sources of each target's sampled edges.

    `ptr` says how many edges each target gets: all of them, or as many as the fanout.
    """
    for i in range(targets.size):
        node, at, count = targets[i], ptr[i], ptr[i + 1] - ptr[i]
        first = np.int64(colptr[node])
        degree = np.int64(colptr[node + 1]) - first
        of_node = scramble(key ^ (np.uint64(node + 1) * _GOLDEN))
        if count == degree:
            for j in range(count):
                e_id[at + j] = first + j
        elif count <= _FEW or count * count < 4 * degree:
            pick_few(of_node, degree, count, first, e_id, at)
        else:
            pick_many(of_node, degree, count, first, e_id, at)
        for j in range(at, at + count):
            source[j] = row[e_id[j]]


@kernel
def number_nodes(nodes, n_id, known, table, local):
    """Number nodes in the order in which they first occur; returns how many there are now.

    Args:
        nodes: Node numbers of the graph.
        n_id: The nodes that have a number already, `known` of them, and room for more.
        known: How many.
        table: A hash table from a node to its number, -1 where it is free; a power of two long, and
            at most half full.
        local: Filled with the number of each of `nodes`.
    """
    last = np.uint64(table.size - 1)
    for i in range(nodes.size):
        node = nodes[i]
        slot = scramble(np.uint64(node)) & last
        while table[slot] >= 0 and n_id[table[slot]] != node:
            slot = (slot + np.uint64(1)) & last
        if table[slot] < 0:
            table[slot] = known
            n_id[known] = node
            known += 1
        local[i] = table[slot]
    return known


@kernel
def take_rows(x, index, out):
    """out[i] = x[index[i]]: only these rows of a memory-mapped file are read."""
    for i in range(index.size):
        for j in range(x.shape[1]):
            out[i, j] = x[index[i], j]


@kernel
def count_reached(colptr, row, targets, reached):
    """Count, for every node, of how many targets it is a neighbor, or one of them itself."""
    for i in range(targets.size):
        node = targets[i]
        reached[node] += 1
        for e in range(colptr[node], colptr[node + 1]):
            reached[row[e]] += 1


@kernel
def sum_edges(colptr, row, weight, loops, loop_weight, loop_weight_sum, weight_sum):
    """Count every node's loops, keep the last one's weight, add weights of loops and of all edges.

    Without weights, an empty array, only loops are counted. Returns how many there are.
    """
    total = 0
    for v in range(loops.size):
        for e in range(colptr[v], colptr[v + 1]):
            if row[e] == v:
                loops[v] += 1
                total += 1
                if weight.size:
                    loop_weight[v] = weight[e]
                    loop_weight_sum[v] += weight[e]
            if weight.size:
                weight_sum[v] += weight[e]
    return total
