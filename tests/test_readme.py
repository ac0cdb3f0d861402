"""The README's code blocks run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)


def test_the_examples_do_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, names)
    accuracy = float(capsys.readouterr().out.split()[-1])
    assert 0.6 < accuracy <= 1.0
    assert names["logits"].shape == (1200, 3)  # type: ignore[attr-defined]
    assert type(names["conv"]).__name__ == "LocalizedConv"
