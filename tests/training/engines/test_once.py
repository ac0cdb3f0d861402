from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.data.fingerprints import logits_sha256
from nodewise.errors import InputError
from nodewise.runs.run import train_in
from nodewise.runs.saved import load_run
from tests.training.tasks import small_graph, small_task, weighted_task


@pytest.mark.medium
@pytest.mark.parametrize("model", ["DeepWalk", pytest.param("Planetoid", marks=pytest.mark.slow)])
def test_models_of_one_epoch_learn_and_come_back_from_files(tmp_path: Path, model: str) -> None:
    record = train_in(tmp_path, small_task(model, epochs=1, start_record_epoch=-1), 0)
    assert record["epochs"] == 1
    assert record["val_accuracy"] > 0.4  # of three classes, whose features lean apart
    logits = load_run(tmp_path).logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"]


@pytest.mark.parametrize("model", ["Majority", "Logistic", "Boosting", "Boosting-neighbors"])
def test_models_of_scikit_learn_are_runs_like_others(tmp_path: Path, model: str) -> None:
    settings = {"epochs": 1, "start_record_epoch": -1, "metric": "macro_f"}
    task = small_task(model, class_weight="balanced", **settings)
    record = train_in(tmp_path, task, 0)
    assert record["epochs"] == 1 and record["parameters"] == 0
    assert (record["val_roc_auc"] > 0.5) == (model != "Majority")
    logits = load_run(tmp_path).logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"]
    assert train_in(tmp_path / "again", task, 0)["logits_sha256"] == record["logits_sha256"]
    weighted_task(model).fresh_model()


def test_a_model_of_one_epoch_refuses_weights_of_classes() -> None:
    with pytest.raises(InputError, match="class_weight"):
        small_task("DeepWalk", class_weight="balanced").engine()
