"""A few damaged files of each kind, and all that fuzzing has ever found; `make fuzz` has more."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from nodewise.errors import NodewiseError
from tests.fuzz.engine import attempt
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import Target, quietly, targets

FOUND = sorted((Path(__file__).parent / "found").iterdir())
NAMES = sorted(targets())
pytestmark = pytest.mark.medium


@pytest.mark.parametrize("name", NAMES)
def test_valid_files_are_read_and_damaged_ones_are_refused(name: str) -> None:
    target, draw = targets()[name], Random(0)
    seeds = target.seeds()
    for content in seeds if name != "planetoid" else ():
        quietly(target, content)
    for _ in range(4):
        assert attempt(target, mutated(draw, draw.choice(seeds), seeds)) is None


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_once_is_a_typed_error_since(path: Path) -> None:
    assert attempt(targets()[path.name.partition("--")[0]], path.read_bytes()) is None


def test_an_untyped_error_is_reported_and_a_typed_one_is_not() -> None:
    def read(content: bytes, folder: Path) -> object:
        raise NodewiseError("damaged") if content else KeyError("size")

    assert attempt(Target(list, read), b"x") is None
    assert attempt(Target(list, read), b"") == "KeyError: 'size'"
