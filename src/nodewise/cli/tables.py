"""Tables and JSON objects on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer

_NO_LIMIT = 10_000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], footer: str = "") -> None:
    """Print a table without rules: the first column to the left, the others to the right.

    Rows are neither cut nor folded, whatever the terminal's width.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(width=_NO_LIMIT)
    console.print(table)
    if footer:
        console.print(footer, highlight=False, soft_wrap=True, markup=False)


def print_json(content: Mapping[str, Any], wanted: bool) -> None:
    """Print an object in one line if `--json` is given, at once: a program may wait for it."""
    if wanted:
        typer.echo(json.dumps(content))
        sys.stdout.flush()
