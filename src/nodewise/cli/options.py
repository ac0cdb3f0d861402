"""The options that every command shares, each defined once."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object as the last line of stdout.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results only.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="CPU threads to use (default: all cores).")
]
