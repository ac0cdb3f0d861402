"""Machines that lack something: a command works there, or says in one line why it cannot."""

# ruff: noqa: RUF001 - Turkish has a letter i without a dot

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.machines.programs import TRAIN, nodewise, small_disk, without_privileges

pytestmark = pytest.mark.slow


def test_a_disk_that_is_full_before_and_one_that_fills_up(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        (disk / "filler").write_bytes(bytes(60 << 10))
        ended = nodewise(*TRAIN, "--out", str(disk / "run"), cwd=tmp_path)
        assert ended.says_why() and "No space left" in ended.err, ended
        (disk / "filler").unlink()
        shutil.rmtree(disk / "run", ignore_errors=True)
        (disk / "filler").write_bytes(bytes(30 << 10))
        ended = nodewise(*TRAIN, "--out", str(disk / "run"), cwd=tmp_path)
        assert ended.says_why() or ended.worked(), ended
        assert not list(disk.rglob("*.part"))


def test_a_full_disk_for_kernels_and_caches(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        (disk / "filler").write_bytes(bytes(60 << 10))
        caches = {"NUMBA_CACHE_DIR": str(disk), "NODEWISE_CACHE": str(disk / "data")}
        ended = nodewise(*TRAIN, "--out", "run", cwd=tmp_path, **caches)
    assert ended.worked() and (tmp_path / "run" / "result.json").exists(), ended
    assert ended.err.count("each process compiles its own") == 1


def test_folders_that_may_not_be_written(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    caches = {name: str(closed) for name in ("HOME", "NODEWISE_CACHE", "NUMBA_CACHE_DIR")}
    ordinary = without_privileges()
    ended = nodewise(*TRAIN, "--out", str(closed / "run"), cwd=tmp_path, before=ordinary)
    assert ended.says_why() and "Permission denied" in ended.err, ended
    ended = nodewise(*TRAIN, "--out", "run", cwd=tmp_path, before=ordinary, **caches)
    assert ended.worked(), ended
    run = tmp_path / "run"
    for path in (*run.rglob("*"), run):
        path.chmod(0o555 if path.is_dir() else 0o444)
    predict = ("predict", str(run), "--out", "labels.csv")
    ended = nodewise(*predict, cwd=tmp_path, before=ordinary, **caches)
    assert ended.worked() and (tmp_path / "labels.csv").stat().st_size > 0, ended


def test_a_folder_that_is_deleted_meanwhile(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = [*TRAIN[:-1], "epochs=100000", "--set", "patience=100000", "--out", str(run)]
    with subprocess.Popen(
        [sys.executable, "-m", "nodewise", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            deadline = time.monotonic() + 240
            while not (run / "history.jsonl").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            shutil.rmtree(run)
            _, err = program.communicate(timeout=300)
        finally:
            program.kill()
    assert program.returncode == 2 and "Traceback" not in err, err
    assert len([line for line in err.splitlines() if line.startswith("nodewise: ")]) == 1


TURKISH = (
    *("train", "--nodes", "düğümler.csv", "--edges", "kenarlar.csv", "--out", "çıktı"),
    *("--id", "kimlik", "--label", "tür", *TRAIN[2:]),
)


def turkish_tables(place: Path) -> Path:
    """A folder with two tables of names that are not ASCII."""
    folder = place / "köy grafiği ışık"
    folder.mkdir()
    nodes = ["kimlik,İsim,tür"]
    nodes += [f"düğüm {i},{i % 7},{'IĞDIR' if i % 2 else 'ığdır'}" for i in range(60)]
    edges = ["source,target"]
    edges += [f"düğüm {i},düğüm {(i + 2) % 60}" for i in range(60)]
    (folder / "düğümler.csv").write_text("\n".join(nodes), "utf-8")
    (folder / "kenarlar.csv").write_text("\n".join(edges), "utf-8")
    return folder


def test_an_encoding_without_the_letters_of_a_column(tmp_path: Path) -> None:
    """Python does not read arguments as UTF-8, so that files and columns have other names."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = nodewise(*TURKISH, cwd=turkish_tables(tmp_path), **ascii_only)
    assert ended.says_why(), ended


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    ],
)
def test_locales_and_names_with_spaces_and_letters(locale: dict[str, str], tmp_path: Path) -> None:
    """Columns, labels and paths in Turkish, whose letters i and ı have other capitals."""
    folder = turkish_tables(tmp_path)
    trained = nodewise(*TURKISH, cwd=folder, **locale)
    assert trained.worked(), trained
    labels = ("predict", "çıktı", "--out", "etiketler ğ.csv")
    predicted = nodewise(*labels, cwd=folder, **locale)
    assert predicted.worked(), predicted
    table = (folder / "etiketler ğ.csv").read_text("utf-8")
    assert "düğüm 59" in table and "IĞDIR" in table and "ığdır" in table


def test_one_core(tmp_path: Path) -> None:
    def on_one_core() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    ended = nodewise(*TRAIN, "--out", "run", cwd=tmp_path, limit=on_one_core)
    assert ended.worked(), ended


def test_one_gigabyte(tmp_path: Path) -> None:
    def in_one_gigabyte() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    ended = nodewise(*TRAIN, "--threads", "1", "--out", "run", cwd=tmp_path, limit=in_one_gigabyte)
    assert ended.worked() or ended.says_why(), ended


def test_no_terminal_and_closed_input(tmp_path: Path) -> None:
    """A log has no bars and no control characters."""
    ended = nodewise(*TRAIN, "--out", "run", cwd=tmp_path, TERM="dumb")
    assert ended.worked() and not {"\r", "\x1b"} & {*ended.out, *ended.err}, ended


def test_a_home_that_is_not_there(tmp_path: Path) -> None:
    """As in containers and under batch systems."""
    environment = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "", "NODEWISE_CACHE": ""}
    ended = nodewise(*TRAIN, "--out", "run", cwd=tmp_path, **environment)
    assert ended.worked(), ended
