from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w
import torch
from filelock import FileLock

from nodewise.errors import RunError
from nodewise.io import load_tensors
from nodewise.runs.open_run import lock_folder, open_run
from nodewise.runs.run import Callbacks, train_in
from tests.runs.earlier import as_of_earlier_release
from tests.training.tasks import small_task

# Loads everything once, then forks a child for every line it reads: the folder and the epochs. The
# child saves after every epoch. One thread: threads do not survive a fork.
NURSERY = """
import os, sys, tempfile
from pathlib import Path
import torch
from nodewise.runs.run import Callbacks, train_in
from tests.training.tasks import small_task

def work(folder, epochs):
    task = small_task(epochs=epochs, patience=10**6)
    train_in(Path(folder), task, 0, Callbacks(checkpoint_seconds=0))

torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    work(folder, 2)
for line in sys.stdin:
    folder, epochs = line.split()
    child = os.fork()
    if child == 0:
        work(folder, int(epochs))
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""
Nursery = subprocess.Popen[str]
MANY = 10**6


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, "-c", NURSERY]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        yield process
        process.kill()


def ask(nursery: Nursery, folder: Path, epochs: int) -> int:
    """Start a run, and return its process."""
    assert nursery.stdin is not None and nursery.stdout is not None
    nursery.stdin.write(f"{folder} {epochs}\n")
    nursery.stdin.flush()
    return int(nursery.stdout.readline())


def kill(nursery: Nursery, child: int) -> None:
    assert nursery.stdout is not None
    os.kill(child, signal.SIGKILL)
    assert nursery.stdout.readline() == "gone\n"


def checkpoint_epoch(folder: Path) -> int:
    path = folder / "checkpoint" / "last.safetensors"
    return int(load_tensors(path)[1]["epoch"]) if path.exists() else 0


def kill_at_random_moments(nursery: Nursery, folder: Path, kills: int) -> list[int]:
    """Start and kill; after each kill the folder must be readable and never behind."""
    draw, reached = random.Random(0), [0]
    for _ in range(kills):
        child = ask(nursery, folder, MANY)
        time.sleep(draw.uniform(0.0, 0.4))
        kill(nursery, child)
        epoch = checkpoint_epoch(folder)
        history = folder / "history.jsonl"
        lines = history.read_bytes().splitlines()[:epoch] if history.exists() else []
        assert [json.loads(line)["epoch"] for line in lines] == list(range(epoch))
        assert epoch >= reached[-1]
        reached.append(epoch)
    return reached


def assert_as_if_never_killed(folder: Path, other: Path) -> None:
    """The same checkpoint as of a run that was stopped there, in one piece."""
    epoch, seen = checkpoint_epoch(folder), []
    stop = Callbacks(lambda line: seen.append(line), lambda: len(seen) == epoch)
    train_in(other, small_task(epochs=MANY, patience=10**6), 0, stop)
    one, two = (load_tensors(f / "checkpoint" / "last.safetensors")[0] for f in (folder, other))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.medium
def test_killed_runs_go_on_from_their_last_checkpoint(nursery: Nursery, tmp_path: Path) -> None:
    reached = kill_at_random_moments(nursery, tmp_path / "killed", 8)
    assert reached[-1] > 0
    assert_as_if_never_killed(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.slow
def test_kill_at_a_hundred_random_moments(nursery: Nursery, tmp_path: Path) -> None:
    reached = kill_at_random_moments(nursery, tmp_path / "killed", 100)
    print(f"100 kills, {reached[-1]} epochs kept, never unreadable, never behind")
    assert reached[-1] > 100
    assert_as_if_never_killed(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.medium
def test_a_second_process_is_refused_and_a_killed_one_leaves_no_lock(
    nursery: Nursery, tmp_path: Path
) -> None:
    child = ask(nursery, tmp_path, MANY)
    while checkpoint_epoch(tmp_path) == 0:
        time.sleep(0.02)
    task = small_task(epochs=MANY, patience=10**6)
    with pytest.raises(RunError, match="another process is working on this run"):
        train_in(tmp_path, task, 0)
    kill(nursery, child)
    assert train_in(tmp_path, task, 0, Callbacks(stop=lambda: True))["interrupted"]


def test_another_run_in_the_folder_is_refused_by_name(tmp_path: Path) -> None:
    train_in(tmp_path, small_task(), 0)
    with pytest.raises(RunError, match=r"learning_rate = 0.005, not 0.1"):
        train_in(tmp_path, small_task(learning_rate=0.1), 0)
    with pytest.raises(RunError, match="seed = 0, not 1"):
        train_in(tmp_path, small_task(), 1)


def test_a_finished_run_is_read_not_trained(tmp_path: Path) -> None:
    first = train_in(tmp_path, small_task(), 0)
    seen: list[object] = []
    assert train_in(tmp_path, small_task(), 0, Callbacks(seen.append)) == first
    assert seen == []
    assert not (tmp_path / "checkpoint" / "last.safetensors").exists()


@pytest.mark.parametrize("name", ["config.toml", "result.json"])
def test_damaged_text_files_are_typed_errors(tmp_path: Path, name: str) -> None:
    train_in(tmp_path, small_task(), 0)
    (tmp_path / name).write_bytes(b"\xff{nonsense")
    with pytest.raises(RunError, match=name):
        train_in(tmp_path, small_task(), 0)


def test_a_damaged_checkpoint_is_a_typed_error(tmp_path: Path) -> None:
    train_in(tmp_path, small_task(), 0, Callbacks(stop=lambda: True))
    path = tmp_path / "checkpoint" / "last.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(RunError, match="damaged"):
        train_in(tmp_path, small_task(), 0)


def test_a_file_in_the_way_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="not a folder"), open_run(tmp_path / "file", {}):
        pass


def test_a_key_that_came_later_had_its_default_before(tmp_path: Path) -> None:
    first = train_in(tmp_path, small_task(), 0)
    config = tmp_path / "config.toml"
    assert "layer_norm = false\n" in config.read_text()
    config.write_text(config.read_text().replace("layer_norm = false\n", ""))
    as_of_earlier_release(tmp_path)
    again = train_in(tmp_path, small_task(), 0)
    assert {**again, "versions": first["versions"]} == first
    with pytest.raises(RunError, match="layer_norm"):
        train_in(tmp_path, small_task(layer_norm=True), 0)


def test_files_of_earlier_releases_are_read_under_todays_names(tmp_path: Path) -> None:
    with open_run(tmp_path, small_task().config(0)) as folder:
        config = folder.config
    numbers = {"distance": 1.0, "scale": 0.5, "shift": 0.5, "label": None, "prediction": "a"}
    histogram = {"counts": [1], "edges": [0.0, 2.0]}
    localization = {"least": [], "median": 1.0, "histogram": histogram}

    def of_most(name: str) -> dict[str, object]:
        return {"localization": {**localization, "most": [{"id": "p1", name: 3, **numbers}]}}

    (tmp_path / "diagnostics.json").write_text(json.dumps(of_most("neighbours")))
    config["graph"]["options"] = {"unlabelled": ["NA"]}
    config["settings"] = {"normalization": "own", "max_neighbours": 40}
    (tmp_path / "config.toml").write_text(tomli_w.dumps(config))
    assert folder.diagnostics == of_most("neighbors")
    assert folder.config["graph"]["options"] == {"unlabeled": ["NA"]}
    assert folder.config["settings"] == {"normalization": "default", "max_neighbors": 40}


def test_a_folder_is_created_and_locked_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "run"
    with (
        lock_folder(folder),
        pytest.raises(RunError, match="another process is working"),
        lock_folder(folder),
    ):
        pass
    with lock_folder(folder):
        assert folder.is_dir()


def test_a_folder_without_write_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Modes of files do not stop the superuser, and tests may run as one.
    monkeypatch.setattr(FileLock, "acquire", refuse)
    with (
        pytest.raises(RunError, match=r"is not a folder to write to \(Permission denied\)"),
        lock_folder(tmp_path),
    ):
        pass
