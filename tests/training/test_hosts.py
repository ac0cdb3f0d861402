"""Two hosts train one model; one of them fails and comes back."""

from __future__ import annotations

import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.training.hosts import Host, two_hosts
from tests.training.processes import command, torchrun
from tests.training.test_processes import assert_same_bits

EPOCHS = 30


def start(folder: Path, host: Host, at: Host) -> subprocess.Popen[str]:
    """Start torchrun on a host; both meet at the address of one."""
    patience = "join_timeout=400,keep_alive_interval=1,keep_alive_max_attempt=5"
    patience += f",is_host={int(host is at)}"
    return host.start(
        command(
            folder.with_suffix(".py"),
            folder,
            *("--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "5"),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{at.address}:29411"),
            *("--rdzv-id", "test", "--rdzv-conf", patience, "--local-addr", host.address),
            epochs=EPOCHS,
            pause=0.3,
        )
    )


def wait_for_epochs(folder: Path, count: int, host: subprocess.Popen[str]) -> None:
    """Wait until so many epochs are in the history."""
    history, ends = folder / "history.jsonl", monotonic() + 400
    while not history.exists() or len(history.read_text().splitlines()) < count:
        assert host.poll() is None, host.communicate()[0][-3000:]
        assert monotonic() < ends, "training does not begin"
        sleep(0.2)


@pytest.mark.slow
def test_a_host_that_fails_and_comes_back_changes_nothing(tmp_path: Path) -> None:
    torchrun(tmp_path / "whole", 2, epochs=EPOCHS)
    folder = tmp_path / "hosts"
    with two_hosts() as (first, second):
        one, other = (start(folder, host, first) for host in (first, second))
        wait_for_epochs(folder, 5, one)
        second.kill()
        other.communicate(timeout=60)
        assert other.returncode != 0
        again = start(folder, second, first)
        for process in (one, again):
            said, _ = process.communicate(timeout=600)
            assert process.returncode == 0, said[-3000:]
    done = len((folder / "history.jsonl").read_text().splitlines())
    assert done == EPOCHS
    assert_same_bits(folder, tmp_path / "whole")
