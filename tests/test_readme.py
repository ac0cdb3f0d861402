"""The README's code blocks run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_first_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    exec(BLOCKS[0], {})
    accuracy = float(capsys.readouterr().out.split()[-1])
    assert 0.6 < accuracy <= 1.0


def test_second_example_gives_a_twin() -> None:
    names: dict[str, object] = {}
    exec("import nodewise as nw\n" + BLOCKS[1], names)
    assert type(names["conv"]).__name__ == "LocalizedConv"
