from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.errors import RunError
from nodewise.experiments import tsne
from nodewise.experiments.records import Runs
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import run_key
from nodewise.experiments.table import Line
from nodewise.experiments.tsne import (
    job_with_model,
    make_tsne,
    node_weights,
    plane,
    read_tsne,
    train_models,
)
from nodewise.runs.folder import MODEL
from nodewise.runs.saved import load_run
from nodewise.runs.sources import dataset_source
from tests.report.made_up import put_run, put_tsne

QUICK = {"epochs": 3, "start_record_epoch": 0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Job]]:
    results = tmp_path_factory.mktemp("results")
    jobs = [
        Job(dataset_source("toy"), model, 0, results / "runs" / model, "official", QUICK)
        for model in ("GCN", "LGCN")
    ]
    for job in jobs:
        job.run()
    yield jobs


def test_the_record_has_points_for_every_node_and_for_w(
    trained: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tsne, "plane", lambda rows: [[0.0, 0.5]] * len(rows))
    make_tsne(tmp_path, trained)
    record = read_tsne(tmp_path, ["toy"]).lines["toy",].record
    data = trained[0].task().data
    assert record["labels"] == data.y.tolist()
    assert list(record["representations"]) == ["GCN", "LGCN"]
    for job in trained:
        kept = record["representations"][job.model]
        rows = load_run(job.folder).embeddings(data).numpy()
        assert len(kept["points"]) == data.num_nodes
        assert kept["silhouette"] == pytest.approx(silhouette_score(rows, data.y), abs=1e-4)
        assert len(kept["silhouette_by_class"]) == len(record["classes"])
    weights = record["weights"]
    assert len(weights["points"]) == data.num_nodes + 1
    assert 0 < weights["distance_median"] <= weights["distance_highest"]


def test_w_v_is_w_scaled_and_shifted_as_the_model_does(trained: list[Job]) -> None:
    saved, data = load_run(trained[1].folder), trained[1].task().data
    own, everywhere = node_weights(saved, data)
    with torch.no_grad():
        _, made = saved.model(*saved.inputs(data), return_modulations=True)
    second = [modulation for modulation in made if modulation.level == "node"][1]
    scale, shift = second.scale[7].detach().numpy(), second.shift[7].detach().numpy()
    weight = saved.model.layers[1].weight.detach().numpy()  # type: ignore[union-attr, index]
    expected = weight * scale[:, None, :] + shift[:, None, :]
    np.testing.assert_allclose(own[7], expected.ravel(), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(everywhere, weight.ravel())


def test_a_recorded_run_without_its_model_is_trained_once_more(
    trained: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tsne, "plane", lambda rows: [[0.0, 0.5]] * len(rows))
    whole, lost = trained[0], replace(trained[1], folder=tmp_path / "runs" / "LGCN")
    assert job_with_model(tmp_path, whole) == whole
    train_models(tmp_path, [whole, lost], workers=1)
    again = job_with_model(tmp_path, lost)
    assert again.folder == tmp_path / "tsne" / "runs" / "toy" / "LGCN"
    assert (again.folder / MODEL).exists() and not lost.folder.exists()
    make_tsne(tmp_path, [whole, lost])
    other = Line(tmp_path / "main.jsonl", 3, run_key(lost), {"logits_sha256": "0"})
    monkeypatch.setattr(tsne, "read_runs", lambda *args: Runs({run_key(lost): other}))
    with pytest.raises(RunError, match=r"other logits than its record, .*main.jsonl:3"):
        make_tsne(tmp_path, [whole, lost])


def test_the_plane_is_the_same_every_time_and_keeps_groups_apart() -> None:
    make = np.random.default_rng(0)
    centres = np.repeat(np.eye(3), 20, 0)
    rows = 1 + 1e-5 * (centres + 0.05 * make.standard_normal((60, 3)))
    points = plane(rows)
    assert points == plane(rows)
    assert all(round(number, 2) == number for point in points for number in point)
    assert silhouette_score(points, np.repeat(range(3), 20)) > 0.8


def why(results: Path) -> str:
    """Why the only record is refused."""
    lines, (error,) = read_tsne(results, ["cora"])
    assert not lines
    return str(error)


def test_a_record_of_another_version_or_of_other_runs_is_refused(tmp_path: Path) -> None:
    assert read_tsne(tmp_path, ["cora"]) == ({}, [])
    put_tsne(tmp_path, results_version=0)
    assert "tsne.jsonl:1: was made by another results version" in why(tmp_path)
    path = put_tsne(tmp_path)
    put_run(tmp_path, "GCN", 0, 0.8)
    assert list(read_tsne(tmp_path, ["cora"]).lines) == [("cora",)]
    put_run(tmp_path, "LGCN", 0, 0.8, logits_sha256="1")
    assert "another run of LGCN" in why(tmp_path)
    path.write_text("{")
    assert "tsne.jsonl:1: is not JSON" in why(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [{"representations": 3}, {"representations": {"GCN": {}}}, {"weights": {}}, {"weights": None}],
)
def test_a_record_that_lacks_something_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    put_tsne(tmp_path, **changes)
    assert "lacks" in why(tmp_path)


def test_the_picture_needs_both_models(tmp_path: Path) -> None:
    command = ["reproduce", "tsne", "--models", "GCN", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert "together" in str(result.exception) and not list(tmp_path.iterdir())
    put_tsne(tmp_path)
    result = CliRunner().invoke(app, ["reproduce", "tsne", "--out", str(tmp_path)])
    assert result.exit_code == 0 and "1 done, 0 left" in result.stdout
