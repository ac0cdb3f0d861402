"""The last line of a command that Ctrl-C has ended."""

from __future__ import annotations

import sys

import typer

from nodewise.runs.interrupts import INTERRUPTED

# To the start of the line, and erase it: the terminal has written ^C there, perhaps beside a bar.
_CLEAN_LINE = "\r\x1b[2K"


def print_stopped(text: str) -> None:
    """Print that the command was stopped, on a separate line."""
    start = _CLEAN_LINE if sys.stderr.isatty() else ""
    typer.echo(f"{start}nodewise: {text}", err=True)


def stopped(text: str) -> typer.Exit:
    """Print that the command was stopped, and return the exception that ends it."""
    print_stopped(text)
    return typer.Exit(INTERRUPTED)
