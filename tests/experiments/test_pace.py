from __future__ import annotations

from pathlib import Path

from nodewise.experiments.pace import Pace
from nodewise.experiments.records import read_runs
from nodewise.experiments.runner import Job
from nodewise.runs.sources import dataset_source
from tests.report.made_up import put_run


def job(dataset: str, model: str, seed: int = 0, variant: str = "official") -> Job:
    folder = Path("runs") / dataset / model / variant / f"seed-{seed}"
    return Job(dataset_source(dataset), model, seed, folder)


def test_the_time_of_a_run_is_that_of_its_cell_or_of_its_data_set() -> None:
    pace = Pace()
    assert pace.seconds([job("cora", "LGCN")]) is None
    pace.add(job("cora", "GCN"), 10.0)
    pace.add(job("cora", "LGCN"), 50.0)
    pace.add(job("cora", "LGCN", 1), 70.0)
    pace.add(job("amazon", "LGCN"), 1000.0)
    assert pace.seconds([job("cora", "LGCN", 2)]) == 60.0
    assert pace.seconds([job("cora", "GAT")]) == (10 + 50 + 70) / 3
    assert pace.seconds([job("citeseer", "GAT")]) == (10 + 50 + 70 + 1000) / 4
    assert pace.seconds([job("cora", "GCN"), job("amazon", "LGCN", 5)]) == 1010.0
    assert pace.seconds([]) == 0.0


def test_the_same_variant_is_closer_than_another() -> None:
    pace = Pace()
    pace.add(job("cora", "LGCN", variant="val100"), 10.0)
    pace.add(job("cora", "LGCN", variant="official"), 50.0)
    assert pace.seconds([job("cora", "LGCN", 1, "val100")]) == 10.0
    assert pace.seconds([job("cora", "LGCN", 1, "plain")]) == 30.0


def test_recorded_runs_count_and_damaged_ones_do_not(tmp_path: Path) -> None:
    assert Pace.of(read_runs(tmp_path)).seconds([job("cora", "GCN")]) is None
    for seed, seconds in enumerate((20.0, 40.0)):
        put_run(tmp_path, "LGCN:global", seed, 0.8, seconds=seconds)
    for seed, wrong in enumerate(("20", None, -1.0, float("nan"))):
        put_run(tmp_path, "GCN", seed, 0.8, seconds=wrong)
    pace = Pace.of(read_runs(tmp_path))
    assert pace.seconds([job("cora", "LGCN:global", 2)]) == 30.0
    assert pace.seconds([job("cora", "GCN")]) == 30.0
