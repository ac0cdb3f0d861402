"""Two hosts with addresses of their own on this machine: network namespaces, joined by a cable."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.training.processes import environment


@dataclass
class Host:
    """A network namespace.

    Attributes:
        name: Its name.
        address: Its address, which the other host reaches.
        device: The end of the cable in it.
    """

    name: str
    address: str
    device: str

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command on this host."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, *command],
            env={
                **environment(),
                "GLOO_SOCKET_IFNAME": self.device,
                # Else torchrun on a host that comes back waits for an address that is not told
                # again.
                "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self) -> None:
        """End all its processes at once, as a power cut does."""
        pids = subprocess.run(
            ["ip", "netns", "pids", self.name], capture_output=True, text=True, check=False
        )
        for pid in map(int, pids.stdout.split()):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts that reach each other and nothing else; skips the test where there can be none."""
    if shutil.which("ip") is None:
        _run("apt-get", "install", "-y", "iproute2")
    tag = f"nw{os.getpid() % 100_000}"
    hosts = tuple(Host(f"{tag}-{i}", f"10.77.0.{i}", f"{tag}e{i}") for i in (1, 2))
    try:
        for host in hosts:
            _run("ip", "netns", "add", host.name)
        _run("ip", "link", "add", hosts[0].device, "type", "veth", "peer", hosts[1].device)
        for host in hosts:
            inside = ("ip", "-n", host.name)
            _run("ip", "link", "set", host.device, "netns", host.name)
            _run(*inside, "addr", "add", f"{host.address}/24", "dev", host.device)
            for device in (host.device, "lo"):
                _run(*inside, "link", "set", device, "up")
        yield hosts[0], hosts[1]
    finally:
        for host in hosts:
            host.kill()
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True, check=False)


def _run(*command: str) -> None:
    """Run a command; where it fails, there is no such thing on this machine."""
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        pytest.skip(f"no two hosts on this machine: {' '.join(command)}: {said.strip()}")
