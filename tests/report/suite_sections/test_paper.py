from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.experiments.records import suite_runs
from nodewise.experiments.suite import Suite, Variant
from nodewise.report.suite_sections.paper import (
    Cells,
    cell_text,
    deviates,
    paper_section,
    suite_cells,
)
from tests.report.made_up import put_runs


def cells_of(results: Path) -> Cells:
    return suite_cells(suite_runs(results, Suite.load("main")))


def test_a_cell_is_the_mean_of_its_records_beside_the_papers(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.83, 0.84])
    plain = Variant("official-plain", settings={"stopping_loss": "plain"})
    put_runs(tmp_path, "LGCN", [0.1, 0.1], variant=plain)  # of another suite
    cell = cells_of(tmp_path)["LGCN"]["cora"]
    assert cell["runs"] == 2
    assert cell["test_accuracy_mean"] == pytest.approx(0.835)
    assert cell["test_micro_f_mean"] == pytest.approx(0.825)
    assert cell["test_accuracy_std"] == pytest.approx(0.00707, abs=1e-5)
    assert (cell["paper_accuracy"], cell["paper_micro_f"]) == (0.835, 0.821)
    assert cell_text(cell) == "83.5 ± 0.7 (83.5)"


def test_a_star_marks_what_is_beyond_two_standard_errors(tmp_path: Path) -> None:
    put_runs(tmp_path, "GCN", [0.85, 0.851, 0.849])
    put_runs(tmp_path, "LGCN", [0.83, 0.84, 0.835])
    put_runs(tmp_path, "GAT", [0.99])
    cells = cells_of(tmp_path)
    assert deviates(cells["GCN"]["cora"]) and deviates(cells["GCN"]["cora"], "micro_f")
    assert not deviates(cells["LGCN"]["cora"])
    assert cell_text(cells["GCN"]["cora"]) == "85.0 ± 0.1* (81.5)"
    assert cell_text(cells["GAT"]["cora"]) == "99.0 (82.9)"  # one run has no standard error


@pytest.mark.parametrize(("shift", "starred"), [(0.0091, False), (0.0095, True)])
def test_the_standard_error_is_that_of_both_means(
    tmp_path: Path, shift: float, starred: bool
) -> None:
    # GCN on Cora is printed as 81.5 ± 0.7 of ten runs; ours deviates by 1.0 over six. Two standard
    # errors: 2 sqrt(0.7^2 / 10 + 1.0^2 / 6) = 0.93 points.
    half = 0.01 * (5 / 6) ** 0.5
    put_runs(tmp_path, "GCN", [0.815 + shift + sign * half for sign in (1, -1) * 3])
    cell = cells_of(tmp_path)["GCN"]["cora"]
    assert cell["test_accuracy_std"] == pytest.approx(0.01)
    assert deviates(cell) is starred


def test_what_is_missing_is_called_missing_and_partial_cells_say_how_many(tmp_path: Path) -> None:
    put_runs(tmp_path, "GCN", [0.8, 0.82])
    put_runs(tmp_path, "LGCN", [0.83] * 10)
    section = paper_section(tmp_path, Suite.load("main"))
    accuracy = dict(section.tables[0].rows)
    assert accuracy["GCN"][0].plain == "81.0 ± 1.4 (81.5) n=2"
    assert accuracy["GCN"][0].counted == "2 of 10 runs"
    assert accuracy["LGCN"][0].counted == "10 runs"
    assert accuracy["LGCN"][0].plain == accuracy["LGCN"][0].text
    assert accuracy["GAT"][0].plain == "missing"
    assert (section.count, section.wanted) == (12, 680)
    assert "reproduce main" in section.state


def test_a_cell_without_records_says_so() -> None:
    assert cell_text(None) == "missing"
