from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from torch_geometric.data import Data

from nodewise.data.splits.drawn import random_split
from nodewise.data.splits.split import Split
from nodewise.report.run import write_report
from nodewise.report.run_sections.classes import class_curves
from nodewise.report.run_sections.records import RunGroup
from nodewise.runs.controls import controls_in
from nodewise.runs.run import train_in
from nodewise.runs.score_text import score_text
from nodewise.runs.task import Task
from nodewise.training.metrics import METRICS, TITLES
from nodewise.training.recipe import load_recipe
from tests.runs.earlier import as_of_earlier_release
from tests.training.tasks import OFFICIAL_SMALL, small_graph

CLASSES = ["中文", "$5 to $9", "<b>a very long name of a class</b>"]


def run_in(
    folder: Path, model: str = "LGCN", seed: int = 0, test: bool = True, unlabeled: int = 0
) -> Path:
    data: Data = small_graph()
    data.class_names = CLASSES
    split = random_split(data.y, per_class=5, val=20, test=None, seed=0)
    if not test:
        split = Split(split.train, split.val, [])
    if unlabeled:
        data.y[split.test[:unlabeled].tolist()] = -1
    split = Split(split.train, split.val, split.test[unlabeled:])
    recipe = load_recipe("official", model, None, OFFICIAL_SMALL)
    ids = [f"node <{n}>" for n in range(60)]
    task = Task(data, split, {"dataset": "small"}, model, recipe, ids=ids)
    train_in(folder, task, seed)
    controls_in(folder, task)
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
        "What to make of it",
        "Scores (test nodes)",
        "Confusion matrix (test nodes)",
        "Precision and recall (test nodes)",
        "confidence",
        "Learning",
        "localized",
    ):
        assert heading in page
    assert page.count("<svg") == 8 and page.count("<script") == 0
    assert "<td>中文</td>" in page and "$5 to $9" in page and "&lt;b&gt;a very" in page
    most = json.loads((tmp_path / "run" / "diagnostics.json").read_text())["localization"]["most"]
    assert most[0]["id"].replace("<", "&lt;").replace(">", "&gt;") in page
    assert "<b>" not in page and "node <" not in page


def test_a_model_without_localization_has_no_such_section(tmp_path: Path) -> None:
    page = page_of(run_in(tmp_path / "run", "GCN"))
    assert "Scores" in page and "localized" not in page


def test_without_test_nodes_validation_is_shown(tmp_path: Path) -> None:
    page = page_of(run_in(tmp_path / "run", test=False))
    assert "Scores (validation nodes)" in page and "(test nodes)" not in page
    assert "test accuracy" not in page and "<th scope='col'>validation</th>" not in page


def test_several_runs_share_a_page(tmp_path: Path) -> None:
    folders = [run_in(tmp_path / f"seed-{seed}", seed=seed) for seed in (0, 1)]
    page = page_of(*folders)
    assert "<td>seed 0</td>" in page and "<td>seed 1</td>" in page and "<td>mean</td>" in page
    diagnostics = [json.loads((folder / "diagnostics.json").read_text()) for folder in folders]
    both = sum(run["confusion"][0][0] for run in diagnostics)
    assert "summed over 2 runs" in page and f">{both}</text>" in page


def test_a_run_of_before_diagnostics_still_has_its_scores(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run")
    diagnostics = json.loads((folder / "diagnostics.json").read_text())
    for new in ("curves", "train_accuracy"):
        del diagnostics[new]
    (folder / "diagnostics.json").write_text(json.dumps(diagnostics))
    as_of_earlier_release(folder)
    (folder / "controls.json").unlink()
    page = page_of(folder)
    assert "Confusion matrix" in page and "Precision and recall" not in page
    (folder / "diagnostics.json").unlink()
    page = page_of(folder)
    assert "Scores" in page and "Confusion matrix" not in page


def test_every_metric_stands_beside_controls_and_interval(tmp_path: Path) -> None:
    page = page_of(run_in(tmp_path / "run", "GCN"))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    controls = json.loads((tmp_path / "run" / "controls.json").read_text())
    parts = [controls["majority"], controls["features_only"]]
    for metric in METRICS:
        name = f"test_{metric}"
        low, high = (score_text(end, name) for end in result["intervals"][name])
        values = [
            score_text(record[name], name) for record in (*parts, {name: result[f"val_{metric}"]})
        ]
        row = [score_text(result[name], name), f"{low}\u00a0to\u00a0{high}", *values]
        assert "".join(f"<td>{value}</td>" for value in row) in page
        assert f"<td>{TITLES[metric]}" in page
    assert "calibration error % (lower is better)" in page and "icro-F" not in page
    assert f"majority: {html.escape(controls['majority']['class'])}" in page


def test_predictions_for_unlabeled_nodes_are_in_the_page(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "run", "GCN", unlabeled=8)
    page = page_of(folder)
    unlabeled = json.loads((folder / "diagnostics.json").read_text())["unlabeled"]
    first = [
        unlabeled["ids"][0],
        CLASSES[unlabeled["first"][0]],
        f"{100 * unlabeled['first_p'][0]:.1f}",
    ]
    assert "".join(f"<td>{html.escape(value)}</td>" for value in first) in page
    assert "All 8, the surest first." in page and "nodewise predict" in page
    assert page.count("<script") == 1 and "<option>中文</option>" in page
    unlabeled["count"] = 1008
    about = json.loads((folder / "diagnostics.json").read_text())
    (folder / "diagnostics.json").write_text(json.dumps({**about, "unlabeled": unlabeled}))
    as_of_earlier_release(folder)
    page = page_of(folder)
    assert "The 8 surest of 1,008" in page and "1,000 more nodes are not on this page" in page


def test_several_runs_draw_their_mean_curve(tmp_path: Path) -> None:
    folders = [run_in(tmp_path / f"seed-{seed}", "GCN", seed) for seed in (0, 1)]
    group = RunGroup.of(folders, tmp_path)
    tables = [about["curves"]["classes"] for about in group.diagnostics]
    curve = class_curves(group)[1]
    both = [table[1]["average_precision"] for table in tables]
    assert curve.average_precision == pytest.approx(sum(both) / 2)
    assert curve.precision[9] == pytest.approx(sum(t[1]["precision"][9] for t in tables) / 2)
    assert curve.name == CLASSES[1]


@pytest.mark.parametrize("model", ["LGAT", "GCN-FiLM"])
def test_other_models_have_a_page_too(tmp_path: Path, model: str) -> None:
    assert "Scores" in page_of(run_in(tmp_path / "run", model))
