from __future__ import annotations

from pathlib import Path

import make_results
import pytest

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.peers import peers_section
from tests.report.made_up import put_run, put_runs
from tests.report.suite_sections.cells import cell

SUITE = Suite.load("peers")
FEW, MANY, PUBLIC = SUITE.variants
LEFT = "auto, training nodes only"


def put_auto(results: Path, values: list[float], dataset: str = "cora", **figures: float) -> None:
    for seed, accuracy in enumerate(values):
        before = {"unrefit_test_accuracy": accuracy - 0.02, "budget": FEW.budget_of(dataset)}
        put_run(results, "auto", seed, accuracy, dataset, FEW, **{**before, **figures})


def test_auto_is_compared_with_the_best_peer_of_each_data_set(tmp_path: Path) -> None:
    put_auto(tmp_path, [0.84, 0.85])
    put_runs(tmp_path, "PyG-GCN-64", [0.80, 0.82], "cora", FEW)
    put_runs(tmp_path, "Logistic", [0.60, 0.60], "cora", FEW)
    put_runs(tmp_path, "GCN-strong", [0.9, 0.9], "cora", FEW)  # no peer
    put_auto(tmp_path, [0.5, 0.5], "actor")
    put_runs(tmp_path, "Boosting", [0.51, 0.52], "actor", FEW)
    section = peers_section(tmp_path, SUITE)
    assert not section.refused
    assert cell(section, 0, "auto", "cora") == "84.5 ± 0.7"
    assert cell(section, 0, LEFT, "cora") == "82.5 ± 0.7"
    assert cell(section, 0, "Majority", "cora") == "missing"
    assert "cornell" not in section.tables[0].columns  # it has too few nodes for that split
    assert cell(section, 2, "auto", "cora") == "missing"  # other runs than on drawn splits
    assert {"auto", LEFT, *PUBLIC.models} == {title for title, _ in section.tables[2].rows}
    assert cell(section, 3, "cora", "few labels").startswith("+3.5 [")
    assert cell(section, 3, "cora", "few labels").endswith(", PyG-GCN-64")
    assert cell(section, 3, "actor", "few labels").endswith(", Boosting")
    assert cell(section, 4, "cora", "few labels").startswith("+1.5 [")
    assert (
        cell(section, 3, "mean", "few labels") == "+1.0 (0 significant for auto, 0 against, of 2)"
    )
    assert cell(section, 3, "mean", "many labels") == "-"
    shown = dict(section.tables[3].rows)["actor"][0]
    assert (shown.count, shown.wanted, len(shown.records)) == (2, 5, 4)
    data = section.data["peers-few"]
    assert data["means"]["auto"]["cora"]["mean"] == pytest.approx(0.845)
    assert data["auto minus best peer"]["datasets"]["actor"]["peer"] == "Boosting"
    assert data["auto minus best peer"]["mean"] == pytest.approx(0.01)
    assert section.figure is not None


def test_an_imbalanced_data_set_is_compared_by_its_metric(tmp_path: Path) -> None:
    put_auto(tmp_path, [0.8], "minesweeper", test_roc_auc=0.7, unrefit_test_roc_auc=0.65)
    section = peers_section(tmp_path, SUITE)
    assert not section.refused
    assert cell(section, 0, "auto", "minesweeper, ROC AUC") == "70.0"
    assert cell(section, 0, LEFT, "minesweeper, ROC AUC") == "65.0"
    assert section.data["peers-few"]["means"]["auto"]["minesweeper"]["metric"] == "roc_auc"


def test_the_short_table_has_the_better_model_of_scikit_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_runs(tmp_path, "Boosting", [0.51, 0.52], "actor", FEW)
    put_runs(tmp_path, "Logistic", [0.41, 0.42], "actor", FEW)
    put_auto(tmp_path, [0.6], "cora")
    monkeypatch.setattr(make_results, "section", lambda name: peers_section(tmp_path, SUITE))
    text = make_results.peers()
    assert "| test score, % (few labels) | actor | cora |\n|---|--:|--:|\n" in text
    assert "| scikit-learn on features, the better of two | 51.5 | - |" in text
    assert "| nodewise, as it comes (`auto`) | - | 60.0 |" in text
