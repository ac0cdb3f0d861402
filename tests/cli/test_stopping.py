"""After Ctrl-C a terminal shows what a command says on a line of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from nodewise.cli.stopping import print_stopped


def on_terminal(code: str, until: str, cwd: Path, seconds: float = 120.0) -> tuple[str, int]:
    """What a Python program prints on a terminal, where Ctrl-C is pressed once it shows a text."""
    terminal, inside = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(inside)
    shown, pressed, end = b"", False, time.monotonic() + seconds
    while time.monotonic() < end:
        ready = select.select([terminal], [], [], 0.1)[0]
        try:
            got = os.read(terminal, 1 << 16) if ready else b""
        except OSError:  # Linux: the program has ended
            break
        if ready and not got:
            break
        shown += got
        if until.encode() in shown and not pressed:
            os.write(terminal, b"\x03")
            pressed = True
    else:
        program.kill()
    os.close(terminal)
    return shown.decode(), program.wait()


def screen(shown: str) -> list[str]:
    """The lines of a terminal that has received these characters: returns, erasures, cursor up."""
    lines, row, column, i = [""], 0, 0, 0
    while i < len(shown):
        if shown.startswith("\x1b[", i):
            stop = next(k for k in range(i + 2, len(shown)) if shown[k].isalpha())
            number, what = shown[i + 2 : stop], shown[stop]
            if what == "K":
                lines[row] = "" if number == "2" else lines[row][:column]
            elif what == "A":
                row = max(0, row - int(number or 1))
            i = stop + 1
            continue
        if shown[i] == "\r":
            column = 0
        elif shown[i] == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] = lines[row][:column].ljust(column) + shown[i] + lines[row][column + 1 :]
            column += 1
        i += 1
    return [line.rstrip() for line in lines if line.strip()]


BEFORE_ANY_BAR = """
import time
from nodewise.cli import stopping
try:
    print("loading", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    stopping.print_stopped("stopped, all saved")
"""
BESIDE_A_BAR = """
import sys, time
from nodewise.cli import stopping
from nodewise.runs.progress import make_progress
try:
    with make_progress(False) as progress:
        progress.add_task("training", total=5)
        print("loading", flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    stopping.print_stopped("stopped, all saved")
"""
COMMAND = """
import sys
sys.argv = {arguments!r}
from nodewise.cli.app import main
main()
"""
ENDLESS = ["--set", "epochs=1000000", "--set", "patience=1000000"]


@pytest.mark.parametrize("program", [BEFORE_ANY_BAR, BESIDE_A_BAR])
def test_the_text_stands_alone(program: str, tmp_path: Path) -> None:
    shown, code = on_terminal(program, "loading", tmp_path)
    assert "^C" in shown and code == 0
    assert screen(shown)[-1] == "nodewise: stopped, all saved"


@pytest.mark.parametrize(
    ("command", "until", "says"),
    [
        ("train toy -m GCN --out run", "epochs/s", "stopped after"),
        ("train toy -r auto --workers 1 --out run", "epochs/s", "stopped while choosing"),
        ("train toy -r auto --workers 2 --out run", "side by side", "stopped while choosing"),
        ("search toy -m GCN --workers 1 --out run", "0/40", "stopped, all saved in run"),
        ("demo --workers 1", "0/20", "nothing was written"),
    ],
)
@pytest.mark.slow
def test_every_long_command_ends_so(command: str, until: str, says: str, tmp_path: Path) -> None:
    endless = ENDLESS if command.split()[0] in ("train", "search") else []
    arguments = ["nodewise", *command.split(), *endless]
    shown, code = on_terminal(COMMAND.format(arguments=arguments), until, tmp_path, 300.0)
    last = screen(shown)[-1]
    assert code == 130 and last.startswith("nodewise: ") and says in last, shown[-500:]


def test_without_a_terminal_there_are_no_codes(capsys: pytest.CaptureFixture[str]) -> None:
    print_stopped("stopped")
    assert capsys.readouterr().err == "nodewise: stopped\n"
