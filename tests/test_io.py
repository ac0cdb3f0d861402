from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import nodewise.io
from nodewise.checked import checked
from nodewise.errors import RunError
from nodewise.io import (
    file_bytes,
    load_tensors,
    parse_toml,
    read_json,
    replacing,
    save_tensors,
    write_json,
)
from nodewise.runs.open_run import lock_folder

TENSORS = {"a": torch.arange(6.0).view(2, 3), "n": torch.tensor(3), "none": torch.empty(0)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.safetensors"
    save_tensors(path, TENSORS, {"epoch": 4})
    return path


def test_what_is_written_is_read(path: Path) -> None:
    tensors, about = load_tensors(path)
    assert about == {"epoch": 4}
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


def test_tensors_that_share_memory_are_written_apart(tmp_path: Path) -> None:
    whole = torch.arange(4.0)
    save_tensors(
        tmp_path / "t", {"whole": whole, "half": whole[:2], "cols": whole.view(2, 2).t()}, {}
    )
    assert torch.equal(load_tensors(tmp_path / "t")[0]["cols"], whole.view(2, 2).t())


def test_any_altered_byte_is_noticed(path: Path) -> None:
    content = path.read_bytes()
    (header,) = struct.unpack("<Q", content[:8])
    for place in (*range(0, 8 + header, 7), *range(8 + header, len(content), 5)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            tensors, about = load_tensors(path)
        except RunError:
            continue
        # Spaces that pad the header mean nothing.
        assert about == {"epoch": 4}
        assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


@pytest.mark.parametrize("keep", [0, 5, 40, -1])
def test_truncation_is_noticed(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RunError, match="damaged"):
        load_tensors(path)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, ("exploded", "w")


@pytest.mark.parametrize("content", [pickle.dumps(Bomb()), json.dumps({"a": 1}).encode(), b""])
def test_foreign_files_run_no_code(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign").write_bytes(content)
    with pytest.raises(RunError):
        load_tensors(tmp_path / "foreign")
    assert not (tmp_path / "exploded").exists()


def test_a_full_disk_is_an_error_and_leaves_the_old_file(path: Path) -> None:
    # The kernel itself refuses: no file may grow beyond 2000 bytes in that process.
    code = f"""
import resource, signal, torch
from pathlib import Path
from nodewise.errors import RunError
from nodewise.io import save_tensors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    save_tensors(Path({str(path)!r}), {{"big": torch.zeros(10000)}}, {{}})
except RunError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "what was there before is intact" in run.stdout
    assert load_tensors(path)[1] == {"epoch": 4}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_a_killed_process_has_left_is_swept_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    dead, other = tmp_path / ".a.json.0123abcd.part", tmp_path / ".b.json.0123abcd.part"
    for left in (dead, other):
        left.write_bytes(b"half")
    with replacing(tmp_path / "a.json") as first:
        first.write(b"1")
        assert not dead.exists() and other.exists()
        with replacing(tmp_path / "a.json") as second:
            second.write(b"2")
    assert (tmp_path / "a.json").read_bytes() == b"1"
    with lock_folder(tmp_path):
        assert not other.exists()


@pytest.mark.parametrize("read", [file_bytes, load_tensors, lambda p: read_json(p, dict, "w")])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, read: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((OSError, RunError), match="not a regular file"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize(
    "content", [b"", b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"1" * 10_000, b"[1]", b"{"]
)
def test_json_of_any_kind_is_a_typed_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(RunError, match="cannot be read"):
        read_json(tmp_path / "a", partial(checked, dict[str, Any]), "w")


@pytest.mark.parametrize("content", [b"a = " + b"[" * 100_000, b"\xff", b"a", b"a.b = 1\na = 2"])
def test_toml_of_any_kind_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):
        parse_toml(content)


def test_a_sealed_object_is_what_was_written(tmp_path: Path) -> None:
    content: dict[str, Any] = {"a": [1, 0.1], "b": {"c": None}}
    write_json(tmp_path / "a", content)
    assert read_json(tmp_path / "a", dict, "w") == content
    (tmp_path / "a").write_text((tmp_path / "a").read_text().replace("0.1", "0.2"))
    with pytest.raises(RunError, match="it was changed"):
        read_json(tmp_path / "a", dict, "w")


def test_without_the_locks_of_unix_nothing_is_renamed_or_deleted_while_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, which refuses both."""

    def is_open(path: Path) -> bool:
        links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
        return str(path) in [os.readlink(link) for link in links if os.path.lexists(link)]

    def refusing(call: Any) -> Any:
        def checked_call(path: Path, *arguments: Any, **options: Any) -> Any:
            if is_open(path):
                raise PermissionError(13, "used by another process")
            return call(path, *arguments, **options)

        return checked_call

    monkeypatch.setattr(nodewise.io, "fcntl", None)
    monkeypatch.setattr(Path, "replace", refusing(Path.replace))
    monkeypatch.setattr(Path, "unlink", refusing(Path.unlink))
    dead = tmp_path / ".a.json.0123abcd.part"
    dead.write_bytes(b"half")
    with replacing(tmp_path / "a.json") as first:
        first.write(b"1")
        assert not dead.exists()
        with replacing(tmp_path / "a.json") as second:
            second.write(b"2")
    assert (tmp_path / "a.json").read_bytes() == b"1"
    with pytest.raises(ValueError), replacing(tmp_path / "a.json"):
        raise ValueError
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.medium
def test_training_needs_no_module_and_no_signal_that_windows_has_not(tmp_path: Path) -> None:
    code = f"""
import os, signal, sys
import filelock, torch  # these have ways of their own
sys.modules["fcntl"] = None
del signal.SIGHUP, signal.pthread_sigmask, os.register_at_fork
import nodewise as nw
run = nw.train(nw.toy_graph(), "GCN", out={str(tmp_path / "run")!r}, settings={{"epochs": 2}})
print(len(run.predict(nw.toy_graph())))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip().isdigit(), run.stderr
