"""Tests reach this machine only: a connection to another one, or a look-up of its name, fails them.

The error is an AssertionError and not an OSError, which code that copes without a network would
catch. What a test starts as another process is not covered.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any

import pytest


def is_here(host: object) -> bool:
    """Whether a host is this machine, by one of its names or by address."""
    name = host.decode() if isinstance(host, bytes) else host
    if not isinstance(name, str) or name in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse(host: object) -> None:
    assert is_here(host), f"a test tried to reach {host!r}; tests run without a network"


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    def guarded(connect: Callable[..., Any]) -> Callable[..., Any]:
        def connect_here(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                refuse(address[0])
            return connect(self, address)

        return connect_here

    look_up = socket.getaddrinfo

    def look_up_here(host: Any, *args: Any, **kwargs: Any) -> Any:
        refuse(host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", look_up_here)
        yield
