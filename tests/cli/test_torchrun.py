"""`torchrun -m nodewise train`: the command itself, one of its processes killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from tests.training.processes import environment

_PATIENCE = 900.0  # seconds


def command(out: Path, count: int) -> list[str]:
    """What trains on the toy graph long enough for a checkpoint, which is written every 10 s."""
    start = ["--standalone", "--nproc-per-node", str(count), "--max-restarts", "2"]
    options = ["--engine", "minibatch", "--batch-size", "32", "--out", str(out), "--quiet"]
    settings = ["--set", "epochs=600", "--set", "patience=600"]
    train = ["-m", "nodewise", "train", "toy", *options, *settings]
    return [sys.executable, "-m", "torch.distributed.run", *start, *train]


def rank_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("RANK")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None


@pytest.mark.slow
def test_a_killed_worker_is_started_again_and_the_end_is_the_same(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    about = {"env": environment(), "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    subprocess.run(command(whole, 2), check=True, timeout=_PATIENCE, **about)
    with psutil.Popen(command(killed, 2), text=True, **about) as torchrun:
        checkpoint, ends = killed / "checkpoint" / "last.safetensors", monotonic() + _PATIENCE
        while not checkpoint.exists():
            assert torchrun.poll() is None and monotonic() < ends
            sleep(0.05)
        assert not (killed / "result.json").exists()
        (second,) = (one for one in torchrun.children(recursive=True) if rank_of(one) == "1")
        second.kill()
        _, said = torchrun.communicate(timeout=_PATIENCE)
        assert torchrun.returncode == 0, said
    assert "exitcode: -9" in said
    for name in ("model.safetensors", "history.jsonl"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
