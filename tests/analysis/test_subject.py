"""What may be analyzed: a run, its folder, a classifier, a model; and how nodes are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import nodewise
from nodewise.analysis.view import View, analyze
from nodewise.data.graph import GraphTable
from nodewise.data.read_graph import from_pandas
from nodewise.errors import GraphError, InputError
from nodewise.estimator import NodeClassifier
from nodewise.models.zoo import build_model
from nodewise.runs.run import train_in
from nodewise.runs.saved import load_run
from tests.training.tasks import OFFICIAL_SMALL, small_graph, small_task


def test_a_run_its_folder_its_classifier_and_its_model_have_the_same_view(tmp_path: Path) -> None:
    task = small_task()
    train_in(tmp_path, task, 0)
    run, data = load_run(tmp_path), task.data
    expected = run.predict_proba(data)
    for given in (run, tmp_path, str(tmp_path), NodeClassifier.load(tmp_path)):
        found = analyze(given, data).probabilities()
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert set(analyze(run, data).to_frame()["part"]) == {""}  # another split than any known
    task.split.apply(data)
    assert set(analyze(run, data).to_frame()["part"]) == {"train", "val", "test"}


def test_a_fitted_classifier_has_a_view() -> None:
    data = small_graph()
    data.train_mask, data.test_mask = torch.arange(60) < 40, torch.arange(60) >= 50
    data.val_mask = torch.zeros(60, dtype=torch.bool)
    classifier = NodeClassifier("LGCN", "official", 0, settings=OFFICIAL_SMALL).fit(data)
    view = nodewise.analyze(classifier, data)
    assert view.to_frame()["prediction"].tolist() == classifier.predict(data).astype(str).tolist()
    assert set(view.to_frame()["part"]) == {"train", "val", "test", ""}


def test_nodes_are_found_by_their_ids_and_unknown_ones_name_the_nearest() -> None:
    nodes = pd.DataFrame(
        {"id": ["p1", "p17", "q2", "q3"], "size": [1.0, 2, 3, 1], "topic": list("xyxy")}
    )
    edges = pd.DataFrame({"source": ["p1", "p17"], "target": ["p17", "q2"]})
    table: GraphTable = from_pandas(nodes, edges, label="topic")
    torch.manual_seed(0)
    view = View(build_model("LGCN", table.data.x.size(1), 2), table)
    assert view.node("p17").id == "p17" and view.node("p17").label == "y"
    with pytest.raises(InputError, match=r"nearest are p1"):
        view.node("p18")


def test_what_cannot_be_analyzed_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a run"):
        analyze(7, small_graph())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"nodewise.analyze\(model, data\)"):
        analyze(build_model("LGCN", 7, 3))
    train_in(tmp_path, small_task(), 0)
    data = small_graph()
    data.x = data.x[:, :5]
    with pytest.raises(GraphError, match="trained on 7 features"):
        analyze(tmp_path, data)
