"""Epochs counted over many runs, so that a progress line can tell how far all of them are."""

from __future__ import annotations

from collections.abc import Callable

from nodewise.errors import DivergedError
from nodewise.experiments.trial import Trial
from nodewise.runs.run import Watch
from nodewise.training.loop import Epoch

# Told what is trained, the epochs done, and all there are.
Show = Callable[[str, int, int], None]


class EpochCounter:
    """Epochs done, of all that may be done.

    Args:
        total: How many there are, unless more is trained than that.
        show: Called after every epoch with what is trained, the epochs done, and all there are.
        stop: Asked after every epoch whether to save and stop.
    """

    def __init__(self, total: int, show: Show, stop: Callable[[], bool]) -> None:
        self.total, self._show, self._stop, self._done = total, show, stop, 0

    def train(self, trial: Trial, what: str, begin: int, end: int) -> bool:
        """Train a run from one epoch to another; whether it got there without diverging."""
        before = self._done - begin
        self.total = max(self.total, before + end)
        self._show(what, self._done, self.total)

        def note(line: Epoch) -> None:
            self._show(what, before + int(line["epoch"]) + 1, self.total)

        try:
            trial.train(end, Watch(note, self._stop))
        except DivergedError:
            return False
        finally:
            self._done += end - begin  # whatever was saved by stopping early
        return True
