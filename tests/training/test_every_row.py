"""Every model of the paper's table trains on every data set of it."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from nodewise.data.datasets import load_dataset
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import Suite
from nodewise.models.zoo import ZOO, Row
from nodewise.runs.sources import dataset_source
from nodewise.training.engines.base import Loss

MAIN = Suite.load("main")
STEPWISE = [name for name in MAIN.models if isinstance(ZOO[name], Row)]
AT_ONCE = [name for name in MAIN.models if name not in STEPWISE]


@pytest.mark.slow
@pytest.mark.parametrize("dataset", MAIN.datasets)
@pytest.mark.parametrize("model", STEPWISE)
def test_some_epochs_lower_the_loss(
    model: str, dataset: str, data_root: Path, tmp_path: Path
) -> None:
    settings = {"epochs": 30, "start_record_epoch": 20}
    record = Job(
        dataset_source(dataset), model, 0, tmp_path, "official", settings, root=data_root
    ).run()
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    losses = [sum(json.loads(line)[term] for term in Loss._fields) for line in lines]
    assert len(losses) == 30 and fmean(losses[-5:]) < losses[0]
    assert 0 < record["test_accuracy"] < 1


@pytest.mark.slow
@pytest.mark.parametrize("dataset", MAIN.datasets)
@pytest.mark.parametrize("model", AT_ONCE)
def test_embeddings_beat_chance(model: str, dataset: str, data_root: Path, tmp_path: Path) -> None:
    record = Job(dataset_source(dataset), model, 0, tmp_path, "official", root=data_root).run()
    labels = load_dataset(dataset, data_root).y
    labels = labels[labels >= 0]
    assert record["test_accuracy"] > 1.1 * labels.bincount().max() / len(labels)
