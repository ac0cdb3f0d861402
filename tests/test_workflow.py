from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

import nodewise as nw
from nodewise.cli.app import app
from nodewise.data.fingerprints import graph_sha256
from nodewise.data.splits.drawn import random_split
from nodewise.errors import GraphError, InputError, RecipeError, RunError, SplitError
from nodewise.runs.run import train_in
from nodewise.runs.sources import dataset_source, load_source, split_of
from nodewise.runs.task import Task
from tests.test_estimator import QUICK, Sage
from tests.training.tasks import small_graph


@pytest.fixture
def data() -> Data:
    data = small_graph()
    return random_split(data.y, per_class=5, val=20, test=None, seed=0).apply(data)


def test_a_run_is_the_same_from_training_and_from_its_folder(tmp_path: Path, data: Data) -> None:
    run = nw.train(data, "LGCN", out=tmp_path / "run", settings=QUICK)
    again = nw.load_run(tmp_path / "run")
    assert isinstance(run, nw.SavedRun) and repr(run) == repr(again)
    assert run.folder == tmp_path / "run"
    assert run.record == again.record == json.loads((tmp_path / "run/result.json").read_text())
    assert run.recipe.settings["hidden_channels"] == 4 and len(run.history) == 15
    predicted = run.predict(data)
    assert (predicted == again.predict(data)).all()
    right = (predicted == data.y.numpy())[data.test_mask.numpy()]
    assert right.mean() == run.record["test_accuracy"]
    np.testing.assert_allclose(run.predict_proba(data).sum(1), 1, rtol=1e-5)


def test_it_is_the_classifier_of_the_same_seed(tmp_path: Path, data: Data) -> None:
    run = nw.train(data, "LGCN", out=tmp_path, settings=QUICK, seed=3)
    clf = nw.NodeClassifier("LGCN", random_state=3, settings=QUICK).fit(data)
    assert (run.predict_proba(data) == clf.predict_proba(data)).all()
    assert (nw.NodeClassifier.load(tmp_path).predict(data) == clf.predict(data)).all()


def test_classes_have_the_names_of_the_graph(tmp_path: Path, data: Data) -> None:
    data.class_names = ["ant", "bee", "cat"]
    run = nw.train(data, out=tmp_path, settings=QUICK)
    assert run.classes.tolist() == ["ant", "bee", "cat"]
    assert set(run.predict(data)) <= set(run.classes)


def test_of_several_runs_the_best_is_returned(tmp_path: Path, data: Data) -> None:
    lines: list[dict[str, float]] = []
    run = nw.train(data, "GCN", out=tmp_path, runs=2, seed=5, settings=QUICK, on_epoch=lines.append)
    records = json.loads((tmp_path / "summary.json").read_text())["runs"]
    assert [record["seed"] for record in records] == [5, 6] and len(lines) == 30
    assert run.record["val_accuracy"] == max(record["val_accuracy"] for record in records)


def test_a_folder_says_that_its_graph_was_in_memory(tmp_path: Path, data: Data) -> None:
    run = nw.train(data, out=tmp_path / "run", settings=QUICK)
    graph = run.config["graph"]
    assert (graph["source"], graph["sha256"]) == ("in memory", graph_sha256(data))
    with pytest.raises(InputError, match=r"in memory.*name a data set.*predict"):
        run.predict()
    result = CliRunner().invoke(app, ["predict", str(run.folder)])
    assert result.exit_code != 0 and "in memory" in f"{result.output}{result.exception}"


def test_the_graph_of_a_data_set_is_read_again(tmp_path: Path) -> None:
    source, recipe = dataset_source("toy"), nw.load_recipe("nodewise", "GCN", "toy", QUICK)
    data = load_source(source).data
    train_in(tmp_path, Task(data, split_of(data), source, "GCN", recipe), 0)
    run = nw.load_run(tmp_path)
    assert (run.predict() == run.predict(data)).all()


def test_what_is_finished_is_not_trained_again(tmp_path: Path, data: Data) -> None:
    lines: list[object] = []
    first = nw.train(data, "GCN", out=tmp_path, settings=QUICK)
    again = nw.train(data, "GCN", out=tmp_path, settings=QUICK, on_epoch=lines.append)
    assert again.record == first.record and not lines
    with pytest.raises(RunError, match="model = 'GCN', not 'LGCN'"):
        nw.train(data, "LGCN", out=tmp_path, settings=QUICK)


def test_after_ctrl_c_the_same_call_continues(tmp_path: Path, data: Data) -> None:
    def press(line: dict[str, float]) -> None:
        if line["epoch"] == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        nw.train(data, "GCN", out=tmp_path / "one", settings=QUICK, on_epoch=press)
    one = nw.train(data, "GCN", out=tmp_path / "one", settings=QUICK)
    two = nw.train(data, "GCN", out=tmp_path / "two", settings=QUICK)
    assert one.record["logits_sha256"] == two.record["logits_sha256"]
    assert [line["epoch"] for line in one.history] == list(range(15))


def test_a_recipe_is_a_name_or_an_object(tmp_path: Path, data: Data) -> None:
    recipe = nw.load_recipe("paper", "LGCN", settings=QUICK)
    run = nw.train(data, "LGCN", recipe, out=tmp_path, settings={"epochs": 3})
    assert isinstance(run.recipe, nw.Recipe)
    assert run.recipe.settings == {**recipe.settings, "epochs": 3} and run.recipe.name == "paper"


def test_a_model_of_the_users_needs_its_function_to_come_back(tmp_path: Path, data: Data) -> None:
    run = nw.train(data, Sage, out=tmp_path, settings=QUICK)
    assert (nw.load_run(tmp_path, Sage).predict(data) == run.predict(data)).all()
    with pytest.raises(RecipeError, match="models of the zoo"):
        nw.train(data, Sage, "auto", out=tmp_path)


@pytest.mark.medium
def test_mini_batches_are_a_setting_and_the_classifier_has_it_too(
    tmp_path: Path, data: Data
) -> None:
    few = {**QUICK, "engine": "minibatch", "batch_size": 5, "fanout": [3, 2]}
    run = nw.train(data, "LGCN", out=tmp_path, settings=few, sampling_workers=2)
    assert run.record["engine"] == "minibatch" and run.recipe.settings["fanout"] == "3,2"
    classifier = nw.NodeClassifier("LGCN", settings=few, random_state=0).fit(data)
    np.testing.assert_array_equal(run.predict_proba(data), classifier.predict_proba(data))
    assert nw.train(data, "LGCN", out=tmp_path / "b", settings=QUICK).record["engine"] == "field"


@pytest.mark.slow
def test_a_recipe_can_be_chosen(tmp_path: Path, data: Data) -> None:
    run = nw.train(data, recipe="auto", out=tmp_path, runs=2, settings=QUICK)
    choice = json.loads((tmp_path / "choice.json").read_text())
    assert run.record["model"] == choice["model"] and run.record["recipe"] == "auto"
    assert {path.name for path in tmp_path.glob("seed-*")} == {"seed-0", "seed-1"}


def test_bad_input_is_refused_before_anything_is_written(tmp_path: Path, data: Data) -> None:
    empty = data.clone()
    empty.train_mask = torch.zeros(60, dtype=torch.bool)
    with pytest.raises(SplitError, match="train_mask"):
        nw.train(empty, out=tmp_path / "run")
    unlabeled = data.clone()
    del unlabeled.y
    with pytest.raises(GraphError, match="y: is missing"):
        nw.train(unlabeled, out=tmp_path / "run")
    with pytest.raises(RecipeError, match="hidden_channels"):
        nw.train(data, out=tmp_path / "run", settings={"hidden_chanels": 3})
    with pytest.raises(InputError, match="did you mean 'official'"):
        nw.train(data, recipe="oficial", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
