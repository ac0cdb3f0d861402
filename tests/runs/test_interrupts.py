from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from nodewise.runs.interrupts import (
    asking_to_stop,
    shielding_new_processes,
    unmasking_interrupts,
)


def interrupted_import() -> None:
    """What Python makes of Ctrl-C in the midst of the import of a compiled module."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt as interrupt:
        raise ImportError("initialization failed") from interrupt


def test_an_import_that_ctrl_c_ended_raises_keyboard_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), unmasking_interrupts(), unmasking_interrupts():
        interrupted_import()


def test_other_errors_are_raised_unchanged() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ImportError), unmasking_interrupts():
        raise ImportError("initialization failed")
    assert signal.getsignal(signal.SIGINT) is before


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with unmasking_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_a_process_is_started_is_not_lost_and_the_process_ignores_it() -> None:
    wait = "import time; print('waiting', flush=True); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt), shielding_new_processes():
        process = subprocess.Popen([sys.executable, "-c", wait], stdout=subprocess.PIPE)
        # For this thread: one for the process may reach another thread, and Python, a moment later.
        signal.raise_signal(signal.SIGINT)
    assert process.stdout is not None and process.stdout.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2)
    process.kill()
    process.communicate()


# A command whose imports are interrupted, as by somebody who has thought better of it.
PROGRAM = """
import os, signal
from nodewise.cli import app
def commands():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt as interrupt:
        raise ImportError("initialization failed") from interrupt
app.app = commands
app.main()
"""


def test_the_command_line_ends_with_130() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        # Whatever runs the tests may ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, "nodewise: stopped by Ctrl-C\n")


def test_a_terminal_that_is_closed_asks_to_stop_unless_that_is_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with asking_to_stop() as asked:
            signal.raise_signal(signal.SIGHUP)
            assert asked()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
        with asking_to_stop() as asked:
            signal.raise_signal(signal.SIGHUP)
            assert not asked()
    finally:
        signal.signal(signal.SIGHUP, before)
