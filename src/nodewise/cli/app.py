"""The application: its commands, `--version`, and the handling of errors."""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from nodewise._version import __version__
from nodewise.cli import (
    bench,
    convert,
    datasets,
    demo,
    evaluate,
    explore,
    inspect,
    models,
    predict,
    report,
    reproduce,
    search,
    train,
)
from nodewise.cli.stopping import print_stopped
from nodewise.errors import NodewiseError, RunWarning, one_line
from nodewise.runs.interrupts import INTERRUPTED, unmasking_interrupts

app = typer.Typer(
    name="nodewise",
    help="Give every node of a graph its own GNN: a global model, localized by its context.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(datasets.datasets)
app.command()(models.models)
app.command()(train.train)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(inspect.inspect)
app.command()(explore.explore)
app.command()(reproduce.reproduce)
app.command()(report.report)
app.command()(search.search)
app.command()(convert.convert)
app.add_typer(bench.app, name="bench")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"nodewise {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    # A benchmark measures with the threads of an ordinary process.
    if context.invoked_subcommand != "bench":
        _share_the_machine()


def _share_the_machine() -> None:
    """Make torch's waiting threads spin for a moment only, and then sleep.

    Must be set before torch is loaded. By default they spin for several milliseconds: on a shared
    machine that made training ten times slower than on one thread. Threads that sleep at once are
    woken late, and at times on the core of the thread that waits for them.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="10000")


def main() -> None:
    """Run the command line; a `NodewiseError` becomes one line and exit code 2."""
    # Before torch is loaded: large tensors in large pages, if the system has them. Rows of a graph
    # larger than the caches are far apart, and translating the address of each page takes time.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files need not be UTF-8
    try:
        with unmasking_interrupts():
            _run()
    except KeyboardInterrupt:
        print_stopped("stopped by Ctrl-C")
        sys.exit(INTERRUPTED)
    except NodewiseError as error:
        _fail(str(error))
    except OSError as error:
        # Without a name it was stdout.
        file = "the output" if error.filename is None else os.fsdecode(error.filename)
        _fail(f"{file}: cannot be read or written ({error.strerror or error})")


def _run() -> None:
    """Run a command to the end of its output: a full disk shows when that is flushed."""
    try:
        app()
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            # Python would try again when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):  # as of `| head`
                raise


def _fail(message: str) -> NoReturn:
    with suppress(OSError):
        typer.echo(f"nodewise: {one_line(message)}", err=True)
    sys.exit(2)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object
) -> None:
    """Print a warning: ours in one line, others with their place, as Python does."""
    text = warnings.formatwarning(message, category, filename, lineno).rstrip()
    ours = issubclass(category, RunWarning)
    with suppress(OSError):
        typer.echo(f"nodewise: warning: {one_line(str(message))}" if ours else text, err=True)
