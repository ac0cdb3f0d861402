"""Random numbers: a stream that never changes, and the states that training draws from.

Splits and the toy graph have to be the same bits on every platform and under every NumPy version,
and NumPy reserves the right to change its streams. `FrozenRandom` is SplitMix64 as a pure function
of (seed, stream, counter), in 64-bit integer arithmetic. The other functions save and restore the
random states of torch, NumPy and Python.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def splitmix64(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble each key into 64 well-mixed bits (Steele, Lea and Flood, 2014)."""
    z = keys * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class FrozenRandom:
    """A seeded stream of numbers that no later release changes.

    Args:
        seed: Any integer; equal seeds give equal streams.
        stream: What the numbers are for, so that two uses of one seed do not share them.
    """

    def __init__(self, seed: int, stream: str) -> None:
        digest = hashlib.sha256(f"{stream}:{int(seed)}".encode()).digest()
        self._start = np.uint64(int.from_bytes(digest[:8], "little"))
        self._drawn = 0

    def bits(self, size: int) -> NDArray[np.uint64]:
        """The next `size` 64-bit words."""
        counter = np.arange(self._drawn + 1, self._drawn + size + 1, dtype=np.uint64)
        self._drawn += size
        return splitmix64(self._start + counter)

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Numbers in [0, 1), each an exact multiple of 2**-53."""
        return (self.bits(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, high: int, size: int) -> NDArray[np.int64]:
        """Integers in [0, high); the bias is below `high` / 2**32."""
        scaled = (self.bits(size) >> np.uint64(32)) * np.uint64(high)
        return (scaled >> np.uint64(32)).astype(np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """The numbers 0 to count - 1 in random order."""
        return np.argsort(self.bits(count), kind="stable").astype(np.int64)


def random_state() -> tuple[Tensor, dict[str, Any]]:
    """The states of torch, as a tensor, and of Python and NumPy, as JSON."""
    import torch

    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return torch.get_rng_state(), {
        "python": [version, list(words), gauss],
        "numpy": [name, np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
    }


def set_random_state(torch_state: Tensor, others: dict[str, Any]) -> None:
    """Restore the states that `random_state` returned."""
    import torch

    torch.set_rng_state(torch_state)
    version, words, gauss = others["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = others["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), position, has_gauss, cached))


@contextmanager
def seeded_randomness(seed: int) -> Iterator[None]:
    """Seed everything inside the block, and leave the caller's random states as they were."""
    import torch

    before = random_state()
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        set_random_state(*before)
