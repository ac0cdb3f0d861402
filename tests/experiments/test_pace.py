from __future__ import annotations

import json
from pathlib import Path

from nodewise.experiments.pace import Pace
from nodewise.experiments.runner import Job
from nodewise.runs.task import dataset_source


def job(dataset: str, model: str, seed: int = 0, variant: str = "official") -> Job:
    folder = Path("runs") / dataset / model / variant / f"seed-{seed}"
    return Job(dataset_source(dataset), model, seed, folder)


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


def test_the_same_variant_is_closer_than_another() -> None:
    pace = Pace()
    pace.learn(job("cora", "LGCN", variant="val100"), 10.0)
    pace.learn(job("cora", "LGCN", variant="official"), 50.0)
    assert pace.seconds([job("cora", "LGCN", 1, "val100")]) == 10.0
    assert pace.seconds([job("cora", "LGCN", 1, "plain")]) == 30.0


def test_the_runs_of_a_folder_teach_and_damaged_ones_do_not(tmp_path: Path) -> None:
    for seed, seconds in enumerate((20.0, 40.0)):
        one = job("cora", "LGCN:global", seed)
        folder = tmp_path / str(one.folder).replace(":", "_")
        folder.mkdir(parents=True)
        record = {"dataset": "cora", "model": "LGCN:global", "seconds": seconds}
        (folder / "result.json").write_text(json.dumps(record))
    for seed, text in enumerate(("", "[]", "{}", '{"dataset": "cora", "model": "GCN"}')):
        folder = tmp_path / "runs" / "cora" / "GCN" / "official" / f"seed-{seed}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(text)
    pace = Pace.of(tmp_path)
    assert pace.seconds([job("cora", "LGCN:global", 2)]) == 30.0
    assert pace.seconds([job("cora", "GCN")]) == 30.0
    assert Pace.of(tmp_path / "none").seconds([job("cora", "GCN")]) is None
