"""No network: not in tests, and not when the package is imported."""

from __future__ import annotations

import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

from tests.network import is_here

# Addresses and a name that are reserved for examples.
ELSEWHERE = ("192.0.2.1", "2001:db8::1", "example.invalid")


@pytest.mark.parametrize("host", ELSEWHERE)
def test_a_test_that_calls_another_machine_fails(host: str) -> None:
    with pytest.raises(AssertionError, match=r"tests run without a network"):
        socket.create_connection((host, 80), timeout=1)
    name = f"[{host}]" if ":" in host else host
    with pytest.raises(AssertionError, match=r"tests run without a network"):
        urlopen(f"http://{name}/", timeout=1)


def test_this_machine_may_be_called() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
    assert all(map(is_here, ("localhost", b"127.0.0.1", "::1", None, socket.gethostname())))


EVERY_MODULE = """
import pkgutil, socket

def no_socket(*args, **kwargs):
    raise AssertionError("a socket at import")

socket.socket.connect = socket.socket.connect_ex = socket.socket.bind = no_socket
socket.getaddrinfo = socket.create_connection = no_socket
import nodewise
for module in pkgutil.walk_packages(nodewise.__path__, "nodewise."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
"""


@pytest.mark.medium
def test_no_module_opens_a_socket_when_it_is_imported() -> None:
    command = [sys.executable, "-c", EVERY_MODULE]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
