"""Which lines of nodewise an input reaches: inputs that reach new ones are damaged further.

Tracing costs about as much as reading, so it is done for some inputs only. There is no compiled
instrumentation such as atheris has: it would have to be had for every system and Python that runs
the tests, and with one target in each process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

import nodewise

_SOURCES = str(Path(nodewise.__file__).parent)
_TRACED = 0.1  # of inputs
_MOST = 200  # files of one kind; later ones replace earlier ones, but not the valid ones

Line = tuple[CodeType, int]


class Corpus:
    """The files that inputs are made of: valid ones, and damaged ones that reached new lines.

    Args:
        seeds: The valid files.
    """

    def __init__(self, seeds: Sequence[bytes]) -> None:
        self.files, self._valid = list(seeds), len(seeds)
        self._largest = 2 * max(map(len, seeds))  # or later inputs would take ever longer
        self._reached: set[Line] = set()

    def read(self, draw: Random, content: bytes, attempt: Callable[[bytes], str | None]) -> Any:
        """What `attempt` says of an input, which is kept if it was seen to reach a new line."""
        if draw.random() >= _TRACED:
            return attempt(content)
        lines: set[Line] = set()
        sys.settrace(_tracer(lines))
        try:
            outcome = attempt(content)
        finally:
            sys.settrace(None)
        if not lines <= self._reached and len(content) <= self._largest:
            self._keep(draw, content)
        self._reached |= lines
        return outcome

    def _keep(self, draw: Random, content: bytes) -> None:
        if len(self.files) < self._valid + _MOST:
            self.files.append(content)
        else:
            self.files[draw.randrange(self._valid, len(self.files))] = content


def _tracer(lines: set[Line]) -> Callable[..., Any]:
    """A trace function that notes the lines of nodewise."""

    def in_frame(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code, frame.f_lineno))
        return in_frame

    def in_call(frame: FrameType, event: str, _: Any) -> Any:
        return in_frame if frame.f_code.co_filename.startswith(_SOURCES) else None

    return in_call
