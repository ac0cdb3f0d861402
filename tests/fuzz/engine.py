"""Reads one damaged file after the other, and says what is wrong with how that ended."""

from __future__ import annotations

import resource
import signal
import time
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any
from unittest.mock import MagicMock

from matplotlib.figure import Figure

from nodewise.errors import NodewiseError
from tests.fuzz.coverage import Corpus
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import Target, quietly, targets

SECONDS, MEGABYTES = 10, 1024
_LONGEST = 2000  # characters of a message
_ROUND = 10  # inputs of a target before the next one has its turn


@dataclass(frozen=True)
class Work:
    """What is to be done.

    Attributes:
        seed: Draws the inputs.
        counts: How many inputs each target has had.
        until: The time at which it ends.
        inputs: How many each target is to have; infinite if only the time counts.
    """

    seed: int
    counts: dict[str, int]
    until: float
    inputs: float

    def next(self) -> str | None:
        """The target with the fewest inputs; None when all is done."""
        name = min(self.counts, key=self.counts.__getitem__)
        return name if time.time() < self.until and self.counts[name] < self.inputs else None


class TooLong(BaseException):
    """A call took more than ten seconds."""


def attempt(target: Target, content: bytes) -> str | None:
    """What is wrong with reading a file; None if it was read, or refused as it should be."""
    # Of processor time, since the machine may be busy; a call that only waits is ended, too.
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _raise)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(10 * SECONDS)
    before, outcome = _peak(), None
    try:
        quietly(target, content)
    except NodewiseError as error:
        if len(str(error)) > _LONGEST or "\n" in str(error):
            outcome = f"a message of {len(str(error))} characters"
    except (Exception, TooLong) as error:
        outcome = f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    if outcome is None and _peak() - before > MEGABYTES:
        outcome = f"{_peak() - before} MB"
    return outcome


def _raise(number: int, frame: FrameType | None) -> None:
    raise TooLong


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fuzz(work: Work, folder: str, results: Connection) -> None:
    """In a process of its own: rounds over all targets; each input is kept while it is read."""
    draw, known = Random(work.seed), targets()
    corpora = {name: Corpus(known[name].seeds()) for name in work.counts}
    for name, corpus in corpora.items():
        quietly(known[name], corpus.files[0])  # compiles and loads what all calls need
    _draw_seldom(draw)
    current = Path(folder) / "current"
    while (name := work.next()) is not None:
        for _ in range(_ROUND):
            corpus = corpora[name]
            content = mutated(draw, draw.choice(corpus.files), corpus.files)
            current.write_bytes(name.encode() + b"\n" + content)
            outcome = corpus.read(draw, content, partial(attempt, known[name]))
            results.send((name, outcome, content if outcome else b""))
            work.counts[name] += 1


def _draw_seldom(draw: Random) -> None:
    """Draw the plots of one page in twenty: they are most of its time."""
    add = Figure.add_subplot

    def add_subplot(self: Figure, *args: Any, **options: Any) -> Any:
        return add(self, *args, **options) if draw.random() < 0.05 else MagicMock()

    Figure.add_subplot = add_subplot  # type: ignore[method-assign]
    Figure.savefig = lambda _, stream, **__: stream.write("<svg></svg>")  # type: ignore[method-assign]
