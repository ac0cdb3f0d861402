"""Generated parts of pages are current and complete: records, commands, settings, public names."""

from __future__ import annotations

import json
import re
import tomllib
from email.message import Message
from pathlib import Path

import draw_imports
import make_licenses
import make_reference
import make_results
import make_stability
import markers
import pytest
from bars_in_docstrings import escape_bars
from markers import ROOT
from typer.main import get_command

import nodewise
from nodewise.cli.app import app
from nodewise.training.recipe import known_keys, recipe_names


def test_parts_made_from_records_are_current() -> None:
    assert markers.outdated(make_results.MAKERS) == [], "run `python docs/make_results.py`"


def test_parts_made_from_the_program_are_current() -> None:
    assert markers.outdated(make_reference.MAKERS) == [], "run `python docs/make_reference.py`"


def test_the_table_of_licenses_is_current_and_complete() -> None:
    assert markers.outdated(make_licenses.MAKERS) == [], "run `python docs/make_licenses.py`"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"]]
    wanted += [
        name for extra in make_licenses.EXTRAS for name in project["optional-dependencies"][extra]
    ]
    rows = make_licenses.licenses().splitlines()
    for name in wanted:
        package = re.split("[<>=!~]", name)[0]
        assert any(row.startswith(f"| {package} |") for row in rows), package


def test_a_license_is_what_the_metadata_say() -> None:
    metadata = Message()
    assert make_licenses.license_of(metadata) == "not named"
    metadata["License"] = "BSD\nand its text"
    assert make_licenses.license_of(metadata) == "BSD"
    metadata["Classifier"] = "License :: OSI Approved :: MIT License"
    assert make_licenses.license_of(metadata) == "MIT License"
    metadata["License-Expression"] = "MIT"
    assert make_licenses.license_of(metadata) == "MIT"


def test_public_names_and_file_formats_do_not_change_silently() -> None:
    assert markers.outdated(make_stability.MAKERS) == [], (
        "a public name, an argument or a key of a file has changed: if that is meant, say so in "
        "CHANGELOG.md and run `python docs/make_stability.py`"
    )


def test_every_part_has_a_maker() -> None:
    known = make_results.MAKERS | make_reference.MAKERS
    known |= make_licenses.MAKERS | make_stability.MAKERS
    for path, text in markers.pages({}):
        assert set(re.findall(r"<!-- generated: ([\w-]+)", text)) <= known.keys(), path


def test_only_parts_with_a_known_maker_are_filled() -> None:
    parts = ("sum 1 2 -->\nold", "other -->\nkept")
    page = "a\n" + "".join(f"<!-- generated: {part}\n<!-- end -->\n" for part in parts)
    filled = markers.fill(page, {"sum": lambda a, b: str(int(a) + int(b))})
    assert filled == page.replace("old", "\n3\n")


def test_the_headline_has_the_paper_s_numbers_and_ours() -> None:
    text = make_results.headline()
    assert text.count("\n| ") == 4
    assert re.search(r"^\| LGCN, in the paper \| 83\.5 ± 0\.3 ", text, re.MULTILINE)
    assert re.search(r"^\| tuned global GCN .* \(\*\*\+5\.0\*\*\) \|$", text, re.MULTILINE)


def test_twins_stand_beside_their_convs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = {"dataset": "cora", "part": "all", "conv": "GCNConv", "features": "raw", "epochs": 5}
    plain = [{"form": "plain", "seed": seed, "test_accuracy": 0.5 + seed} for seed in (0, 1)]
    localized = {"form": "localized", "seed": 0, "test_accuracy": 0.75, "largest_scale": 0.25}
    lines = [json.dumps({**cell, "nodes": 9, **one}) for one in (*plain, localized)]
    (tmp_path / "localize.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(make_results, "RESULTS", tmp_path)
    text = make_results.twins("cora", "all")
    assert "| `GCNConv` | 100.0 / 75.0 |" in text
    assert "on 9 nodes of Cora: means of 1 to 2 runs of 5 epochs" in text
    assert "at most 0.2." in text


def test_every_command_and_option_is_in_the_reference() -> None:
    text = make_reference.reference()
    found = dict(make_reference.commands(get_command(app), "nodewise"))
    assert {"nodewise", "nodewise train", "nodewise bench messages"} <= set(found)
    for path, command in found.items():
        assert f"## {path}\n" in text
        assert all(option in text for param in command.params for option in param.opts[1:])


def test_a_command_has_its_panels_and_defaults() -> None:
    command = get_command(app).commands["train"]  # type: ignore[attr-defined]
    text = make_reference.section("nodewise train", command)
    assert "nodewise train [OPTIONS] [DATASET]" in text
    assert "| Your own graph | | default |" in text
    assert "| `--seed` | The (first) seed. | `0` |" in text


def test_every_setting_is_in_the_table_of_recipes() -> None:
    text = make_reference.recipe_table("LGCN")
    assert all(f"| `{key}` |" in text for key in known_keys())
    assert all(f"`{recipe}`" in text for recipe in recipe_names())


def test_beside_another_model_only_differences_are_shown() -> None:
    text = make_reference.recipe_table("LGAT", "LGCN")
    assert "| `attention_dropout` |" in text and "hidden_channels" not in text


@pytest.mark.parametrize("name", nodewise.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    lines = (ROOT / "docs" / "api.md").read_text("utf-8").split()
    assert f"nodewise.{name}" in lines


def test_bars_are_escaped_outside_of_code() -> None:
    assert escape_bars("|A| and `a | b`") == r"\|A\| and `a | b`"


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    asked = {re.split(r"[<>=\[]", name)[0] for names in lists for name in names} - {"nodewise"}
    _, _, table = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("| why |")
    cells = (line.split("|")[1] for line in table.splitlines() if line.count("|") == 3)
    assert asked <= {word for cell in cells for word in re.findall(r"[\w-]+", cell)}


def test_every_package_is_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    packages = {path.parent.name for path in (ROOT / "src" / "nodewise").glob("*/__init__.py")}
    assert packages <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_imports_that_follow_from_others_are_not_drawn() -> None:
    graph = {"cli": {"nn", "ops"}, "nn": {"ops"}, "data": {"ops"}, "ops": set()}
    assert draw_imports.reduced(graph)["cli"] == {"nn"}
    assert draw_imports.spine(graph) == ["cli", "nn", "ops"]
