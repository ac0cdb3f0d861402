"""The streams are frozen: these numbers may never change, or every split and the toy graph do."""

from __future__ import annotations

import numpy as np

from nodewise.randomness import FrozenRandom, splitmix64


def test_splitmix64_gives_the_published_stream_of_seed_0() -> None:
    words = splitmix64(np.arange(1, 4, dtype=np.uint64))
    assert words.tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_frozen_streams_give_the_written_numbers() -> None:
    assert FrozenRandom(0, "golden").bits(2).tolist() == GOLDEN_BITS
    assert FrozenRandom(0, "golden").permutation(10).tolist() == GOLDEN_PERMUTATION
    assert FrozenRandom(0, "golden").integers(100, 5).tolist() == GOLDEN_INTEGERS
    assert FrozenRandom(0, "golden").uniform(2).tolist() == GOLDEN_UNIFORM


def test_draws_continue_the_stream() -> None:
    whole, parts = FrozenRandom(3, "a"), FrozenRandom(3, "a")
    assert whole.bits(7).tolist() == [*parts.bits(3).tolist(), *parts.bits(4).tolist()]


def test_seed_and_stream_both_matter() -> None:
    first = {
        tuple(FrozenRandom(seed, stream).bits(4).tolist()) for seed in (0, 1) for stream in "ab"
    }
    assert len(first) == 4


def test_draws_fill_their_ranges() -> None:
    random = FrozenRandom(1, "ranges")
    uniform, integers = random.uniform(10_000), random.integers(7, 10_000)
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
    assert set(integers.tolist()) == set(range(7))
    assert sorted(random.permutation(1000).tolist()) == list(range(1000))


GOLDEN_BITS = [4529538274801596338, 10891211153128455918]
GOLDEN_PERMUTATION = [5, 4, 0, 9, 3, 7, 2, 1, 6, 8]
GOLDEN_INTEGERS = [24, 59, 58, 51, 17]
GOLDEN_UNIFORM = [0.24554676189480662, 0.5904137396610113]
