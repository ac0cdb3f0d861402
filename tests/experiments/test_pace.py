from __future__ import annotations

from pathlib import Path

from nodewise.experiments.pace import Pace
from nodewise.experiments.runner import Job
from nodewise.training.task import dataset_source


def job(dataset: str, model: str, seed: int = 0) -> Job:
    return Job(dataset_source(dataset), model, seed, Path("nowhere"))


def test_a_run_is_taken_to_be_like_those_of_its_row_or_its_data_set() -> None:
    pace = Pace()
    assert pace.seconds([job("cora", "LGCN")]) is None
    pace.learn(job("cora", "GCN"), 10.0)
    pace.learn(job("cora", "LGCN"), 50.0)
    pace.learn(job("cora", "LGCN", 1), 70.0)
    pace.learn(job("amazon", "LGCN"), 1000.0)
    assert pace.seconds([job("cora", "LGCN", 2)]) == 60.0
    assert pace.seconds([job("cora", "GAT")]) == (10 + 50 + 70) / 3
    assert pace.seconds([job("citeseer", "GAT")]) == (10 + 50 + 70 + 1000) / 4
    assert pace.seconds([job("cora", "GCN"), job("amazon", "LGCN", 5)]) == 1010.0
    assert pace.seconds([]) == 0.0
