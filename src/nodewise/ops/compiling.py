"""What happens while kernels are compiled: a line for whoever waits, and no garbage collected."""

from __future__ import annotations

import gc
import sys
from functools import cache
from threading import Timer

from numba.core.event import Event, Listener, register


@cache
def _say_once() -> None:
    line = "nodewise: compiling CPU kernels for this machine, once; takes about 15 seconds"
    print(line, file=sys.stderr)


class WhileCompiling(Listener):
    """Say so if it takes long. Meanwhile the collector of garbage rests.

    A compiler makes objects by the million, and nearly all of them stay until it is done.
    """

    def __init__(self) -> None:
        self._inside, self._collecting, self._notice = 0, False, Timer(0.0, _say_once)

    def on_start(self, event: Event) -> None:
        """A kernel, or a part of one, begins to be compiled."""
        if _is_ours(event):
            self._inside += 1
            if self._inside == 1:
                self._collecting, self._notice = gc.isenabled(), Timer(2.0, _say_once)
                gc.disable()
                self._notice.start()

    def on_end(self, event: Event) -> None:
        """It is done, or could not be."""
        if _is_ours(event):
            self._inside -= 1
            if self._inside == 0:
                self._notice.cancel()
                if self._collecting:
                    gc.enable()


def _is_ours(event: Event) -> bool:
    module: str = event.data["dispatcher"].py_func.__module__
    return module.partition(".")[0] == __name__.partition(".")[0]


@cache
def watch() -> None:
    """Be there whenever Numba compiles something of ours, from now on."""
    register("numba:compile", WhileCompiling())
