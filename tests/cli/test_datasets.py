from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.utils import homophily
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.data.datasets import load_dataset
from nodewise.data.published.catalog import DATASETS
from tests.data.raw_files import mini_dataset, planetoid_files, write_files


@pytest.fixture
def mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog of one data set, and the root its files lie under."""
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path / "cache"))
    files = planetoid_files()
    write_files(files, tmp_path / "root" / "mini")
    for name in list(DATASETS):
        monkeypatch.delitem(DATASETS, name)
    monkeypatch.setitem(DATASETS, "mini", mini_dataset(files))
    return tmp_path / "root"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["datasets", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def records(*arguments: str) -> dict[str, dict[str, Any]]:
    last = run("--json", *arguments).splitlines()[-1]
    return {record["name"]: record for record in json.loads(last)["datasets"]}


def test_a_present_data_set_is_measured(mini: Path) -> None:
    record = records("--root", str(mini))["mini"]
    assert (record["present"], record["state"], record["license"]) == (True, "present", "MIT")
    assert (record["nodes"], record["edges"]) == (611, 610)
    assert (record["features"], record["classes"]) == (4, 3)
    assert record["density"] == pytest.approx(610 / (611 * 4))
    assert record["edge_homophily"] == 0  # along the path, labels go 0, 1, 2, 0, ...


def test_an_absent_one_is_listed_from_the_catalog_and_not_downloaded(tmp_path: Path) -> None:
    listed = records("--root", str(tmp_path))
    assert listed["amazon"]["edges"] == 245778 and listed["amazon"]["state"] == "absent"
    assert not listed["cora"]["present"] and "density" not in listed["cora"]
    assert listed["toy"]["present"]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_one_does_not_stop_the_list(mini: Path) -> None:
    (mini / "mini" / "ind.mini.x").write_bytes(b"")
    record = records("--root", str(mini))["mini"]
    assert record["state"] == "damaged" and not record["present"]


def test_the_table(mini: Path) -> None:
    lines = run("--root", str(mini)).splitlines()
    header = "data set nodes edges features classes density edge homophily state license"
    assert lines[0].split() == header.split()
    assert lines[1].split() == ["mini", "611", "610", "4", "3", "24.96%", "0.000", "present", "MIT"]
    assert lines[2] == f"raw files: {mini}"
    assert run("--root", str(mini), "--quiet").splitlines() == lines[:2]


def test_the_table_has_dashes_for_what_is_not_known(mini: Path) -> None:
    (mini / "mini" / "ind.mini.x").unlink()
    row = run("--root", str(mini)).splitlines()[1]
    assert row.split() == ["mini", "611", "610", "4", "3", "-", "-", "absent", "MIT"]


def test_real_data_sets(data_root: Path) -> None:
    listed = records()
    assert all(record["present"] for record in listed.values())
    assert listed["cora"]["edge_homophily"] == pytest.approx(0.81, abs=0.005)
    chameleon = load_dataset("chameleon")
    reference = homophily(chameleon.edge_index, chameleon.y, method="edge")
    assert listed["chameleon"]["edge_homophily"] == pytest.approx(reference)
    assert listed["amazon"]["density"] == pytest.approx(0.35, abs=0.01)


def test_help_has_examples_and_imports_no_torch() -> None:
    assert "nodewise datasets --root" in run("--help")
    program = "import sys, nodewise.cli.app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
