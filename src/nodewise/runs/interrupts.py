"""Ctrl-C during training: finish the epoch, save, stop. This module does not import torch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended
_HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none, and blocks no signals
_CAN_BLOCK = hasattr(signal, "pthread_sigmask")


@contextmanager
def asking_to_stop() -> Iterator[Callable[[], bool]]:
    """A function that returns whether SIGINT, SIGTERM or SIGHUP came; a second one ends at once.

    SIGHUP comes when a terminal is closed; under `nohup` it is ignored, and stays so.
    """
    if not _can_handle_signals():
        yield lambda: False
        return
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    numbers = [signal.SIGINT, signal.SIGTERM]
    if _HANGUP is not None and signal.getsignal(_HANGUP) is not signal.SIG_IGN:
        numbers.append(_HANGUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def delaying_interrupts() -> Iterator[None]:
    """Run the block to its end; a Ctrl-C during it is raised afterwards."""
    with asking_to_stop() as asked:
        yield
    if asked():
        raise KeyboardInterrupt


@contextmanager
def unmasking_interrupts() -> Iterator[None]:
    """Raise any error in the block that follows a Ctrl-C as KeyboardInterrupt.

    During the import of a compiled module, Python turns a Ctrl-C into an ImportError.
    """
    before = signal.getsignal(signal.SIGINT)
    if not (_can_handle_signals() and callable(before)):
        yield
        return
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def shielding_new_processes() -> Iterator[None]:
    """Processes that are started in the block ignore Ctrl-C; one during it is raised afterwards.

    They inherit that it is blocked and ignored; `unblock_interrupts` ends the former.
    """
    if not _can_handle_signals():
        yield
        return
    # Blocked first: a signal that came while it is only ignored would be lost.
    if _CAN_BLOCK:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        unblock_interrupts()


def unblock_interrupts() -> None:
    """Deliver Ctrl-C to this process again, to whatever handles it."""
    if _CAN_BLOCK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _can_handle_signals() -> bool:
    """Whether this is the main thread: Python allows no other to handle signals."""
    return threading.current_thread() is threading.main_thread()
