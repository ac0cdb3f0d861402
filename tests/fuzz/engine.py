"""Reads one damaged file after the other, and says what is wrong with how that ended."""

from __future__ import annotations

import resource
import signal
import time
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from matplotlib.figure import Figure

from nodewise.errors import NodewiseError
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import Target, quietly, targets

SECONDS, MEGABYTES = 10, 1024
_LONGEST = 2000  # characters of a message
_ROUND = 10  # inputs of a target before the next one has its turn


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


def _draw_nothing(self: Figure, stream: Any, **_: Any) -> None:
    stream.write("<svg></svg>")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fuzz(names: list[str], seed: int, until: float, folder: str, queue: Any) -> None:
    """In a process of its own: rounds over all targets; each input is kept while it is read."""
    draw, known = Random(seed), targets()
    seeds = {name: known[name].seeds() for name in names}
    Figure.savefig = _draw_nothing  # type: ignore[method-assign]  # most of a page's time
    for name in names:
        quietly(known[name], seeds[name][0])  # compiles and loads what all calls need
    current = Path(folder) / "current"
    while time.time() < until:
        for name in names:
            for _ in range(_ROUND):
                content = mutated(draw, draw.choice(seeds[name]), seeds[name])
                current.write_bytes(name.encode() + b"\n" + content)
                queue.put((name, attempt(known[name], content), content))
