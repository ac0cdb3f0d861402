"""Imports point one way, as docs/architecture.md says."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nodewise

SRC = Path(nodewise.__file__).parent
ROOT = ("_version", "checked", "colors", "errors", "io", "randomness")
# A package may import those before it in one of these rows, and whatever those may import.
ROWS = (
    ("ops", "nn", "models", "training", "runs", "experiments", "analysis", "report", "cli"),
    ("ops", "data", "training"),
    ("training", "testing"),
    ("analysis", "explorer", "cli"),
    ("experiments", "workflow", "estimator"),
    ("runs", "bound_graph", "estimator"),
    ("runs", "bench", "experiments"),
)


def may_import() -> dict[str, set[str]]:
    """For each package, all that lie below it."""
    below: dict[str, set[str]] = {name: set() for row in ROWS for name in row}
    for _ in below:
        for row in ROWS:
            for lower, upper in pairwise(row):
                below[upper] |= {lower, *below[lower]}
    return below


def imports() -> Iterator[tuple[Path, str]]:
    """Every file with every module of ours that it imports, also in functions and for types."""
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nodewise"):
                module = str(node.module)
                for alias in node.names:
                    inner = SRC.joinpath(*module.split(".")[1:], alias.name)
                    found = inner.exists() or inner.with_suffix(".py").exists()
                    yield path, f"{module}.{alias.name}" if found else module
            elif isinstance(node, ast.Import):
                yield from ((path, a.name) for a in node.names if a.name.startswith("nodewise."))


def package(module: str) -> str:
    """The package, or the module beside the packages, that a module belongs to."""
    return [*module.split("."), "__init__"][1]


def wrong_way() -> list[str]:
    """Imports against the order of the packages."""
    below, wrong = may_import(), []
    for path, module in imports():
        ours, theirs = path.relative_to(SRC).parts[0].removesuffix(".py"), package(module)
        if ours in ("__init__", "__main__") or theirs in (ours, "__init__", *ROOT):
            continue
        if theirs not in below.get(ours, set()):
            wrong.append(f"{path.relative_to(SRC)} imports {module}")
    return wrong


def test_imports_point_one_way() -> None:
    assert wrong_way() == []


def test_every_package_has_its_place() -> None:
    packages = {path.parent.name for path in SRC.glob("*/__init__.py")}
    assert packages <= may_import().keys()


def test_nothing_below_data_and_models_reads_files_of_runs() -> None:
    below = may_import()
    assert "runs" not in below["training"] and "models" not in below["data"]


def test_no_two_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
