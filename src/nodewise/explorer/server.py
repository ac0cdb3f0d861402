"""The page's server, on this machine only unless it is asked for more."""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING, Any

from nodewise.errors import InputError

if TYPE_CHECKING:
    from dash import Dash


def make_server(app: Dash, host: str, port: int) -> Any:
    """A server that has its port, and serves with `serve_forever`.

    Args:
        app: The application.
        host: The address to bind to.
        port: The port; 0 for any that is free.

    Raises:
        InputError: The address cannot be used, or another program has the port.
    """
    from werkzeug.serving import make_server as make

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for every request, otherwise
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, port))
        except (OSError, OverflowError) as error:
            raise InputError(
                "--port",
                f"cannot be used on {host} ({error})",
                value=port,
                way_out="give another one, or 0 for any that is free",
            ) from None
        taken.listen(128)
        return make(host, taken.getsockname()[1], app.server, threaded=True, fd=taken.fileno())


def address(server: Any) -> str:
    """The address (URL) of a server's page."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}/"
