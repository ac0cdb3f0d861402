"""The public names of the packages for layers and models."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from nodewise import models, nn


@pytest.mark.parametrize("package", [nn, models])
def test_every_public_name_is_there(package: ModuleType) -> None:
    assert sorted(package.__all__) == sorted(set(package.__all__))
    assert all(not isinstance(getattr(package, name), ModuleType) for name in package.__all__)


def test_layers_and_models_have_their_public_names() -> None:
    names = {"LocalizedConv", "FilmConv", "localize", "Penalty", "Aggregator", "BlockRule"}
    assert names | {"Modulation", "Modulations", "Gat", "GatV2", "GinSum"} <= {*nn.__all__}
    assert {"LGCN", "LGAT", "LGIN", "Classifier", "build_model", "ZOO"} <= {*models.__all__}


def test_localize_is_the_function_whatever_was_imported_before() -> None:
    text = "import nodewise.nn.localize; from nodewise.nn import localize; localize(None)"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert "has a type whose localized twin is not known" in found.stderr
