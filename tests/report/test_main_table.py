from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.experiments.suite import Suite, cell_folder
from nodewise.report.main_table import cell_text, deviates, suite_table


def put(results: Path, model: str, accuracies: list[float], variant: str = "official") -> None:
    for seed, accuracy in enumerate(accuracies):
        folder = cell_folder(results, "cora", model, variant) / f"seed-{seed}"
        folder.mkdir(parents=True)
        record = {
            "dataset": "cora",
            "model": model,
            "seed": seed,
            "test_accuracy": accuracy,
            "test_micro_f": accuracy - 0.01,
            "seconds": 2.0,
        }
        (folder / "result.json").write_text(json.dumps(record))


def test_a_cell_is_the_mean_of_its_records_beside_the_papers(tmp_path: Path) -> None:
    put(tmp_path, "LGCN", [0.83, 0.84])
    put(tmp_path, "LGCN", [0.1, 0.1], "official-plain")  # of another suite
    cell = suite_table(tmp_path, Suite.load("main"))["LGCN"]["cora"]
    assert cell["runs"] == 2
    assert cell["test_accuracy_mean"] == pytest.approx(0.835)
    assert cell["test_micro_f_mean"] == pytest.approx(0.825)
    assert cell["test_accuracy_std"] == pytest.approx(0.00707, abs=1e-5)
    assert (cell["paper_accuracy"], cell["paper_micro_f"]) == (0.835, 0.821)
    assert cell_text(cell) == "83.5 ± 0.7 (83.5)"


def test_a_star_marks_what_is_beyond_two_standard_errors(tmp_path: Path) -> None:
    put(tmp_path, "GCN", [0.85, 0.851, 0.849])
    put(tmp_path, "LGCN", [0.83, 0.84, 0.835])
    table = suite_table(tmp_path, Suite.load("main"))
    assert deviates(table["GCN"]["cora"])
    assert not deviates(table["LGCN"]["cora"])
    assert "*" in cell_text(table["GCN"]["cora"])


def test_the_command_prints_every_row_and_the_promised_keys(tmp_path: Path) -> None:
    put(tmp_path, "GCN", [0.8, 0.82])
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    cell = json.loads(result.stdout.splitlines()[-1])["main"]["GCN"]["cora"]
    keys = "runs test_accuracy_mean test_accuracy_std test_micro_f_mean test_micro_f_std"
    assert {*keys.split(), "paper_accuracy", "paper_micro_f"} <= cell.keys()
    assert "81.0 ± 1.4 (81.5)" in result.stdout
    assert all(model in result.stdout for model in Suite.load("main").models)
