"""Several processes train one model: as one does, and on from the last checkpoint."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch.distributed import HashStore

from nodewise.io import load_tensors
from nodewise.runs.folder import RunFolder
from nodewise.training.processes import (
    Processes,
    _name_of_start,
    joined_processes,
    local_device,
)
from tests.training.processes import torchrun


def assert_near(folder: Path, other: Path) -> None:
    """Two runs ended with the same weights and the same course, but for rounding."""
    (one, _), (two, _) = (load_tensors(path / "model.safetensors") for path in (folder, other))
    for name, weight in two.items():
        torch.testing.assert_close(one[name], weight, rtol=1e-3, atol=1e-4, msg=name)
    for line, expected in zip(RunFolder(folder).history, RunFolder(other).history, strict=True):
        assert line == pytest.approx(expected, rel=1e-3, abs=1e-6)


def assert_same_bits(folder: Path, other: Path) -> None:
    for name in ("model.safetensors", "history.jsonl"):
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name


def test_one_process_alone_changes_nothing() -> None:
    alone, values = Processes(), torch.ones(2)
    assert alone.is_first and alone.sum(values) is values
    assert alone.any(True) and not alone.any(False)
    assert alone.of_first("it") == "it" and alone.largest(3) == 3
    weight = torch.nn.Parameter(torch.ones(1))
    alone.sum_gradients([weight])
    assert weight.grad is None
    with joined_processes() as processes:
        assert processes == alone


def test_each_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_device("cuda") == "cuda"
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert local_device("cuda") == "cuda:3"
    assert (local_device("cpu"), local_device("cuda:1")) == ("cpu", "cuda:1")


def test_processes_that_start_together_agree_on_a_new_name() -> None:
    """Also where those of the start before have left their numbers."""
    store = HashStore()

    def start(rank: int) -> str:
        return _name_of_start(store, rank, 3)

    names = set()
    with ThreadPoolExecutor(3) as threads:
        for _ in range(3):
            found = set(threads.map(start, range(3)))
            assert len(found) == 1
            names |= found
    assert len(names) == 3


@pytest.mark.slow
def test_two_processes_are_one_and_continue_in_any_number(tmp_path: Path) -> None:
    """Law 4, with dropout off; law 6 from two processes to one and back."""
    for name, count in (("one", 1), ("two", 2), ("again", 2)):
        torchrun(tmp_path / name, count)
    assert_near(tmp_path / "two", tmp_path / "one")
    assert_same_bits(tmp_path / "two", tmp_path / "again")
    for name, counts in (("same", (2, 2)), ("fewer", (2, 1)), ("more", (1, 2))):
        assert torchrun(tmp_path / name, counts[0], stops=1).split()[-3:] == ["0", "6", "True"]
        assert torchrun(tmp_path / name, counts[1]).split()[-3:] == ["6", "12", "False"]
    assert_same_bits(tmp_path / "same", tmp_path / "two")
    assert_near(tmp_path / "fewer", tmp_path / "one")
    assert_near(tmp_path / "more", tmp_path / "one")


@pytest.mark.slow
def test_a_killed_process_is_started_again_and_the_end_is_the_same(tmp_path: Path) -> None:
    torchrun(tmp_path / "whole", 2)
    said = torchrun(tmp_path / "killed", 2, dies=1).split()[-3:]
    assert 0 < int(said[0]) <= 8, "it began anew, or was not killed"
    assert_same_bits(tmp_path / "killed", tmp_path / "whole")
