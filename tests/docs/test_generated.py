"""What is made from the program has all of it: commands, options, settings, public names."""

from __future__ import annotations

import re
import runpy
from typing import Any

import pytest
from typer.main import get_command

import nodewise
from nodewise.cli.app import app
from nodewise.report.sections import read_section
from nodewise.training.recipe import known_keys, recipe_names
from tests.docs.pages import ROOT


def extension(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "_ext" / f"{name}.py"))


def test_every_command_and_option_is_in_the_reference() -> None:
    made = extension("command_reference")
    text = made["reference"]()
    found = dict(made["commands"](get_command(app), "nodewise"))
    assert {"nodewise", "nodewise train", "nodewise bench messages"} <= set(found)
    for path, command in found.items():
        assert f"## {path}\n" in text
        assert all(option in text for param in command.params for option in param.opts[1:])


def test_a_command_tells_its_panels_and_defaults() -> None:
    made = extension("command_reference")
    text = made["markdown"]("nodewise train", get_command(app).commands["train"])  # type: ignore[attr-defined]
    assert "nodewise train [OPTIONS] [DATASET]" in text
    assert "| Your own graph | | default |" in text
    assert "| `--seed` | The (first) seed. | `0` |" in text


def test_every_setting_is_in_the_table_of_recipes() -> None:
    text = extension("recipe_tables")["table"]("LGCN")
    assert all(f"| `{key}` |" in text for key in known_keys())
    assert all(f"`{recipe}`" in text for recipe in recipe_names())


def test_beside_another_model_only_differences_are_told() -> None:
    text = extension("recipe_tables")["table"]("LGAT", "LGCN")
    assert "| `attention_dropout` |" in text and "hidden_channels" not in text


def test_recorded_runs_are_told_with_their_number() -> None:
    made = extension("recorded_results")
    text = made["markdown_section"](read_section(made["RESULTS"], "main"))
    assert re.search(r"^\| LGCN \| \d+\.\d ± \d\.\d\*? \(83\.5\)", text, re.MULTILINE)


@pytest.mark.parametrize("name", nodewise.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    lines = (ROOT / "docs" / "api.md").read_text("utf-8").split()
    assert f"nodewise.{name}" in lines


def test_bars_are_escaped_outside_of_code() -> None:
    escape = extension("bars_in_docstrings")["escape_bars"]
    assert escape("|A| and `a | b`") == r"\|A\| and `a | b`"
