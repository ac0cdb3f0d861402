from __future__ import annotations

import json
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nodewise.errors import RunError
from nodewise.io import load_tensors, save_tensors

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
