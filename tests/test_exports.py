"""The public names of `nodewise` and of its packages for layers and models."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import nodewise
from nodewise import models, nn


@pytest.mark.parametrize("package", [nn, models])
def test_every_public_name_is_there(package: ModuleType) -> None:
    assert sorted(package.__all__) == sorted(set(package.__all__))
    assert all(not isinstance(getattr(package, name), ModuleType) for name in package.__all__)


def test_names_imported_on_first_use_are_those_that_type_checkers_see() -> None:
    tree = ast.parse(Path(nodewise.__file__).read_text("utf-8"))
    (checked,) = (part for part in tree.body if isinstance(part, ast.If))
    imports = [part for part in checked.body if isinstance(part, ast.ImportFrom)]
    seen = {name.asname: (part.module, name.name) for part in imports for name in part.names}
    assert seen == {name: (home, name) for name, home in nodewise._HOME.items()}
    assert sorted(nodewise.__all__) == sorted([*nodewise._HOME, "__version__"])


def test_layers_and_models_have_their_public_names() -> None:
    names = {"LocalizedConv", "FilmConv", "localize", "Penalty", "Aggregator", "BlockRule"}
    assert names | {"Modulation", "Modulations", "Gat", "GatV2", "GinSum"} <= {*nn.__all__}
    assert {"LGCN", "LGAT", "LGIN", "Classifier", "build_model", "ZOO"} <= {*models.__all__}


@pytest.mark.medium
def test_localize_is_the_function_whatever_was_imported_before() -> None:
    text = "import nodewise.nn.localize; from nodewise.nn import localize; localize(None)"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert "has a type whose localized twin is not known" in found.stderr
