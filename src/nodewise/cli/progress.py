"""Progress bars on a terminal; nothing is shown elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nodewise.report.cells import cell

if TYPE_CHECKING:
    from rich.progress import Progress

    from nodewise.training.early_stopping import StoppingRule

Line = dict[str, Any]


# Rich forgets steps that are older than half a minute; runs take longer.
_A_DAY = 24 * 3600.0


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


@contextmanager
def epoch_progress(
    description: str, rule: StoppingRule, quiet: bool
) -> Iterator[Callable[[Line], None]]:
    """Yield a function to call after every epoch; it shows loss, score, speed and time left."""
    with make_progress(quiet, "state") as progress:
        task = progress.add_task(description, total=expected_epochs(rule, {}), state="")
        began, count = perf_counter(), 0

        def show(line: Line) -> None:
            nonlocal count
            count += 1
            speed = count / (perf_counter() - began)
            total, done = expected_epochs(rule, line), line["epoch"] + 1
            state = _state(line, rule.metric, speed)
            progress.update(task, total=total, completed=done, state=state)

        yield show


def expected_epochs(rule: StoppingRule, line: Line) -> int:
    """The epoch at which training ends if validation does not improve any more."""
    start = max(rule.start_record_epoch, int(line.get("epoch", -1)))
    return min(rule.epochs, start + 1 + rule.patience - int(line.get("waited", 0)))


def _state(line: Line, metric: str, speed: float) -> str:
    from nodewise.training.early_stopping import line_score

    terms = ("cross_entropy", "global_weights", "local_weights", "modulations")
    loss = sum(line[term] for term in terms)
    score = cell(abs(line_score(line)), metric, " %") if "val_accuracy" in line else "-"
    return f"loss {loss:.3f}  val {score}  {speed:.0f} epochs/s"


def duration(seconds: float) -> str:
    """A time in words, with two units at most."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
