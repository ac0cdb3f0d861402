"""Checks that keep other pages of the browser, and other machines, away from the page.

Any web page may send requests to 127.0.0.1, and its domain name may resolve to that address (DNS
rebinding): the Host header must be an address or a name of this machine, and a POST must come from
the page itself. Scripts run from files of the packages only, never from names in the graph.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def secure(server: Any, script_hashes: Sequence[str], bound: str = "localhost") -> None:
    """Check every request to a Flask application, and add headers to its answers.

    Args:
        server: The application.
        script_hashes: The hashes of its inline scripts, as a policy has them.
        bound: The name or address that the server binds to, which is one of this machine's.
    """
    from flask import Response, abort, request

    policy = content_policy(script_hashes)

    @server.before_request  # type: ignore[untyped-decorator, unused-ignore]
    def check() -> None:
        host = request.headers.get("Host", "")
        if not is_ours(host, bound):
            abort(403, "The Host header names another machine.")
        origin = request.headers.get("Origin")
        if request.method not in ("GET", "HEAD") and not is_same(origin, host):
            abort(403, "The request comes from another page.")

    @server.after_request  # type: ignore[untyped-decorator, unused-ignore]
    def add_headers(response: Response) -> Response:
        response.headers.update({**_HEADERS, "Content-Security-Policy": policy})
        return response


def content_policy(script_hashes: Sequence[str]) -> str:
    """The Content-Security-Policy: everything from this server, inline scripts by their hashes.

    plotly.js sets styles of elements. Our build of it compiles nothing from text.
    """
    rules = {
        "default-src": ["'none'"],
        "script-src": ["'self'", *script_hashes],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    return "; ".join(" ".join([rule, *sources]) for rule, sources in rules.items())


def is_ours(host: str, bound: str = "localhost") -> bool:
    """Whether a Host header is an address, or a name of this machine: no name of a stranger's."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    ours = ("localhost", bound.lower(), socket.gethostname().lower())
    return name in ours or _is_address(name)


def is_same(origin: str | None, host: str) -> bool:
    """Whether an Origin header is the page that is served at a host."""
    return origin in (f"http://{host}", f"https://{host}")


def is_local(host: str) -> bool:
    """Whether a server that binds to a host can be reached from this machine only."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
