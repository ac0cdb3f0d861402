"""Every random state that training may draw from: kept, restored, and lent for a while."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor


def random_state() -> tuple[Tensor, dict[str, Any]]:
    """The states of torch, as a tensor, and of Python and NumPy, as JSON."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return torch.get_rng_state(), {
        "python": [version, list(words), gauss],
        "numpy": [name, np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
    }


def set_random_state(torch_state: Tensor, others: dict[str, Any]) -> None:
    """Put everything back."""
    torch.set_rng_state(torch_state)
    version, words, gauss = others["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = others["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), position, has_gauss, cached))


@contextmanager
def own_randomness(seed: int) -> Iterator[None]:
    """Seed everything inside the block, and leave the caller's random states as they were."""
    before = random_state()
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        set_random_state(*before)
