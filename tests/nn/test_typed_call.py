"""What mypy infers of a call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SNIPPET = """
from typing import assert_type
import torch
from torch import Tensor
import nodewise as nw
from nodewise.models import Classifier
from nodewise.nn import FilmConv, Modulations

x, edges = torch.randn(3, 5), torch.tensor([[0, 1], [1, 2]])
for layer in (nw.LocalizedConv(5, 4),):
    assert_type(layer(x, edges), Tensor)
    assert_type(layer(x, edges, None, False), Tensor)
    assert_type(layer(x, edges, return_modulations=True), tuple[Tensor, Modulations])
    assert_type(layer((x, x), edges, None, True), tuple[Tensor, Modulations])
film = FilmConv(5, 4)
assert_type(film(x, edges), Tensor)


def scores(model: Classifier, both: bool) -> Tensor:
    out, modulations = model(x, edges, return_modulations=True)
    assert_type(modulations, Modulations)
    assert_type(model(x, edges, return_modulations=both), Tensor | tuple[Tensor, Modulations])
    return model(model.receptive_field(edges, 3, edges[0]).take(x), edges) + out


model = nw.LGCN(5, 4, 3)
assert_type(nw.Penalty().of(model, model(x, edges, return_modulations=True)[1]), Tensor)
{wrong}
"""


def mypy(tmp_path: Path, text: str) -> tuple[int, str]:
    (tmp_path / "snippet.py").write_text(text)
    root = Path(__file__).parents[2]
    options = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(tmp_path / "snippet.py")],
        cwd=root,
        env={**os.environ, "MYPYPATH": str(root / "src")},
        capture_output=True,
        text=True,
    )
    return found.returncode, found.stdout + found.stderr


@pytest.mark.slow
def test_mypy_tells_a_tensor_from_a_pair(tmp_path: Path) -> None:
    code, output = mypy(tmp_path, SNIPPET.format(wrong=""))
    assert code == 0, output
    code, output = mypy(tmp_path, SNIPPET.format(wrong="model(x, edges)[1].scales"))
    assert code == 1 and "snippet.py" in output and '"scales"' in output
