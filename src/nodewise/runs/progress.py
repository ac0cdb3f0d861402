"""Progress bars on a terminal, elsewhere nothing or plain lines.

This module does not import torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from nodewise.runs.score_text import score_text

if TYPE_CHECKING:
    from rich.progress import Progress

    from nodewise.training.early_stopping import StoppingRule

Line = dict[str, Any]

# Called with what is trained and how fast, the seconds used, and the budget in seconds.
Show = Callable[[str, float, float], None]

# Rich forgets steps that are older than half a minute; runs take longer.
_A_DAY = 24 * 3600.0
_BETWEEN_LINES = 5.0  # seconds


def make_progress(quiet: bool, *fields: str, timed: bool = True, counts: bool = True) -> Progress:
    """A bar on stderr: description, bar, count, texts by the names of `fields`, and time left.

    Args:
        quiet: Show nothing.
        *fields: Texts that tasks have.
        timed: Whether to estimate the time left from the steps done, which assumes equal steps.
        counts: Whether to show how many steps are done, of how many.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    texts = [TextColumn(f"{{task.fields[{field}]}}") for field in fields]
    time_left = [TimeLeft()] if timed else []
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *([MofNCompleteColumn()] if counts else []),
        *texts,
        *time_left,
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
        speed_estimate_period=_A_DAY,
    )


class RunProgress(NamedTuple):
    """What shows how far a run is.

    Attributes:
        epoch: Called after every epoch; it shows loss, score, speed and time left.
        nodes: Called with how many nodes are computed when training has ended, of how many.
    """

    epoch: Callable[[Line], None]
    nodes: Callable[[int, int], None]


@contextmanager
def epoch_progress(
    description: str, rule: StoppingRule, quiet: bool, lines: bool = False
) -> Iterator[RunProgress]:
    """Yield what shows the epochs of a run, and then the nodes that are computed for its scores.

    Args:
        description: What is trained.
        rule: Its stopping rule.
        quiet: Show nothing.
        lines: Whether to print lines where there is no terminal.
    """
    with _progress(quiet, lines, "state") as (progress, report):
        task = progress.add_task(description, total=expected_epochs(rule, {}), state="")
        began, count = perf_counter(), 0

        def show(line: Line) -> None:
            nonlocal count
            count += 1
            speed = count / (perf_counter() - began)
            total, done = expected_epochs(rule, line), line["epoch"] + 1
            state = _state(line, rule.metric, speed)
            progress.update(task, total=total, completed=done, state=state)
            left = duration((total - done) / speed)
            report(f"{description}: epoch {done}, {state}, about {left} left")

        def show_nodes(done: int, total: int) -> None:
            progress.update(task, description="all nodes", total=total, completed=done, state="")

        yield RunProgress(show, show_nodes)


@contextmanager
def choosing_progress(budget: float, quiet: bool, lines: bool = False) -> Iterator[Show]:
    """Yield a function to call while a model is chosen; it shows which one, and the time.

    Args:
        budget: The seconds that it may take.
        quiet: Show nothing.
        lines: Whether to print lines where there is no terminal.
    """
    with _progress(quiet, lines, counts=False) as (progress, report):
        bar = progress.add_task("choosing", total=budget)

        def show(what: str, used: float, budget: float) -> None:
            progress.update(bar, description=what, completed=used, total=budget)
            report(f"{what}, {used:.0f} of {budget:.0f} s")

        yield show


@contextmanager
def part_progress(description: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with how many rows are done, and how many there are.

    Args:
        description: What is computed.
        quiet: Show nothing.
    """
    with make_progress(quiet, counts=False) as progress:
        bar = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


@contextmanager
def _progress(
    quiet: bool, lines: bool, *fields: str, counts: bool = True
) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """A bar, and a function that prints lines where there is no terminal for it."""
    progress = make_progress(quiet, *fields, counts=counts)
    with progress, _printed(lines and not quiet and progress.disable) as report:
        yield progress, report


@contextmanager
def _printed(wanted: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints the newest text every few seconds, and at the end."""
    newest, printed, at = "", "", perf_counter()

    def report(text: str) -> None:
        nonlocal newest, printed, at
        newest = text
        if wanted and perf_counter() - at >= _BETWEEN_LINES:
            print(text, flush=True)
            printed, at = text, perf_counter()

    yield report
    if wanted and newest != printed:
        print(newest, flush=True)


def expected_epochs(rule: StoppingRule, line: Line) -> int:
    """The epoch at which training ends if validation does not improve any more."""
    start = max(rule.start_record_epoch, int(line.get("epoch", -1)))
    return min(rule.epochs, start + 1 + rule.patience - int(line.get("waited", 0)))


def _state(line: Line, metric: str, speed: float) -> str:
    from nodewise.training.early_stopping import line_score

    terms = ("cross_entropy", "global_weights", "local_weights", "modulations")
    loss = sum(line[term] for term in terms)
    score = score_text(abs(line_score(line)), metric, " %") if "val_accuracy" in line else "-"
    return f"loss {loss:.3f}  val {score}  {speed:.0f} epochs/s"


def duration(seconds: float) -> str:
    """A time in words, with two units at most."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
