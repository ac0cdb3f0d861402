"""Ctrl-C during training: finish the epoch, save, stop. Nothing here needs torch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended


@contextmanager
def asking_to_stop() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C (or a polite kill) came; a second one ends at once."""
    if not _may_listen():
        yield lambda: False
        return
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def delaying_interrupts() -> Iterator[None]:
    """What is in the block is done as a whole; Ctrl-C counts when it is over."""
    with asking_to_stop() as asked:
        yield
    if asked():
        raise KeyboardInterrupt


@contextmanager
def telling_interrupts() -> Iterator[None]:
    """Whatever goes wrong in the block after Ctrl-C came is told as Ctrl-C.

    In the midst of the import of a compiled module, Python makes an ImportError of it.
    """
    before = signal.getsignal(signal.SIGINT)
    if not (_may_listen() and callable(before)):
        yield
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Nothing happens at Ctrl-C inside the block, nor in processes that are started there."""
    if not _may_listen():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _may_listen() -> bool:
    """Python lets only its main thread deal with signals."""
    return threading.current_thread() is threading.main_thread()
