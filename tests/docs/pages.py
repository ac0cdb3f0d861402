"""The code on the pages of docs/: found, run in order, and held against the output shown.

A `python` block runs as it stands, all of a page in one namespace; a `text` block right behind it
is what it prints. In a `console` block a line with `$` is a command, the lines below are its
output. What is shown may have `...` for anything; decimal fractions may differ a little, because a
trained model is not the same to the last bit on every machine.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nodewise.cli.app import main

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FRACTION = re.compile(r"-?\d+\.\d+")
CLOSE = 0.3


@dataclass(frozen=True)
class Step:
    """Something to run: its kind, its code, the output shown (None: none is), its line."""

    kind: str
    code: str
    shown: str | None
    line: int


def steps(text: str) -> Iterator[Step]:
    """Everything on a page that runs, from top to bottom."""
    fences = list(_FENCE.finditer(text))
    for i, fence in enumerate(fences):
        kind, code = fence.groups()
        line = text[: fence.start()].count("\n") + 2
        if kind == "python":
            yield Step(kind, code, _text_behind(text, fence, fences[i + 1 :]), line)
        if kind == "console":
            yield from _commands(code, line)


def _text_behind(text: str, fence: re.Match[str], later: list[re.Match[str]]) -> str | None:
    is_next = later and later[0][1] == "text" and not text[fence.end() : later[0].start()].strip()
    return later[0][2] if is_next else None


def _commands(code: str, line: int) -> Iterator[Step]:
    for part in re.split(r"^(?=\$ )", code, flags=re.MULTILINE):
        if part.strip():
            command, _, output = part.removeprefix("$ ").partition("\n")
            yield Step("console", command, output if output.strip() else None, line)
        line += part.count("\n")


def run(step: Step, names: dict[str, Any]) -> str:
    """What the step prints to stdout; a command that fails is an error."""
    out, errors = io.StringIO(), io.StringIO()
    if step.kind == "console" and not step.code.startswith("nodewise "):
        done = subprocess.run(step.code, shell=True, check=True, capture_output=True, text=True)
        return done.stdout
    with redirect_stdout(out), redirect_stderr(errors):
        if step.kind == "python":
            # Lines before the block, so that an error names the line of the page.
            exec(compile("\n" * (step.line - 1) + step.code, "<page>", "exec"), names)
        else:
            code = _exit_code(shlex.split(step.code))
            assert code in (0, None), f"{step.code!r} ended with {code}: {errors.getvalue()}"
    return out.getvalue()


def _exit_code(words: list[str]) -> object:
    with patch.object(sys, "argv", words):
        try:
            main()
        except SystemExit as end:
            return end.code
    return 0


def agree(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed."""
    fractions: list[float] = []
    pattern = r"\s+".join(_pattern(word, fractions) for word in shown.split())
    found = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    if found is None:
        return False
    return all(
        isclose(float(ours), theirs, rel_tol=CLOSE)
        for ours, theirs in zip(found.groups(), fractions, strict=True)
    )


def _pattern(word: str, fractions: list[float]) -> str:
    """A word as a pattern; its fractions become groups, and are kept."""
    if word == "...":
        return ".*?"
    fractions += map(float, _FRACTION.findall(word))
    return r"(-?\d+\.\d+)".join(re.escape(part) for part in _FRACTION.split(word))
