from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch_geometric.data import Data

from nodewise.data.drawn_splits import random_split
from nodewise.data.splits import Split
from nodewise.report.run import write_report
from nodewise.runs.run import Task, train_in
from nodewise.training.recipe import load_recipe
from tests.training.tasks import OFFICIAL_SMALL, small_graph

CLASSES = ["中文", "$5 to $9", "<b>a very long name of a class</b>"]


def run_in(folder: Path, model: str = "LGCN", seed: int = 0, test: bool = True) -> Path:
    data: Data = small_graph()
    data.class_names = CLASSES
    split = random_split(data.y, per_class=5, val=20, test=None, seed=0)
    if not test:
        split = Split(split.train, split.val, [])
    recipe = load_recipe("official", model, None, OFFICIAL_SMALL)
    ids = [f"node <{n}>" for n in range(60)]
    train_in(folder, Task(data, split, {"dataset": "small"}, model, recipe, ids=ids), seed)
    return folder


def page_of(*folders: Path) -> str:
    path = folders[0].parent / "page.html"
    write_report(path, folders)
    return path.read_text("utf-8")


def test_a_page_tells_all_and_reads_names_as_text(tmp_path: Path) -> None:
    page = page_of(run_in(tmp_path / "run"))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert f"<td>{100 * result['test_accuracy']:.1f}</td>" in page
    for heading in (
        "Scores",
        "Confusion matrix (test nodes)",
        "confidence",
        "Learning",
        "localized",
    ):
        assert heading in page
    assert page.count("<svg") == 5
    assert "<td>中文</td>" in page and "$5 to $9" in page and "&lt;b&gt;a very" in page
    most = json.loads((tmp_path / "run" / "diagnostics.json").read_text())["localization"]["most"]
    assert most[0]["id"].replace("<", "&lt;").replace(">", "&gt;") in page
    assert "<b>" not in page and "node <" not in page


def test_a_model_without_localization_has_no_such_section(tmp_path: Path) -> None:
    page = page_of(run_in(tmp_path / "run", "GCN"))
    assert "Scores" in page and "localized" not in page


def test_without_test_nodes_validation_is_shown(tmp_path: Path) -> None:
    page = page_of(run_in(tmp_path / "run", test=False))
    assert "(validation nodes)" in page and "(test nodes)" not in page
    assert "test accuracy" not in page


def test_several_runs_share_a_page(tmp_path: Path) -> None:
    folders = [run_in(tmp_path / f"seed-{seed}", seed=seed) for seed in (0, 1)]
    page = page_of(*folders)
    assert "<td>seed 0</td>" in page and "<td>seed 1</td>" in page and "<td>mean</td>" in page
    told = [json.loads((folder / "diagnostics.json").read_text()) for folder in folders]
    both = sum(run["confusion"][0][0] for run in told)
    assert "summed over 2 runs" in page and f">{both}</text>" in page


def test_a_run_of_before_diagnostics_still_has_its_scores(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run")
    (folder / "diagnostics.json").unlink()
    page = page_of(folder)
    assert "Scores" in page and "Confusion matrix" not in page


@pytest.mark.parametrize("model", ["LGAT", "GCN-FiLM"])
def test_other_models_have_a_page_too(tmp_path: Path, model: str) -> None:
    assert "Scores" in page_of(run_in(tmp_path / "run", model))
