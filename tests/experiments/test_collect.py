"""Finished runs in folders, and files of earlier releases, become lines of tables."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import tomli_w

from nodewise.errors import NodewiseError, RunError
from nodewise.experiments import collect as module
from nodewise.experiments.collect import add_run, collect, run_and_record
from nodewise.experiments.cost import read_costs
from nodewise.experiments.records import cell_runs, read_runs
from nodewise.experiments.run_record import run_record
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import Suite, Variant, job_of
from nodewise.experiments.tsne import read_tsne
from tests.experiments.test_run_record import files_of
from tests.report.made_up import OFFICIAL, put_cost, put_run, put_tsne

NEIGHBORS = Suite.load("neighbors").variants[1]

# These runs are as earlier releases wrote them.
pytestmark = pytest.mark.filterwarnings("ignore:.*has no manifest:nodewise.errors.RunWarning")


def finished(
    results: Path, seed: int, accuracy: float = 0.8, variant: Variant = OFFICIAL, name: str = ""
) -> Path:
    """The folder of a finished run on Chameleon; `name` is what its variant is called there."""
    scratch = results / "scratch"
    put_run(scratch, "LGCN:global", seed, accuracy, "chameleon", variant)
    (line,) = read_runs(scratch).lines.values()
    line.path.unlink()
    scratch.rmdir()
    config, result = files_of(line.record)
    folder = job_of(results, "chameleon", "LGCN:global", variant, seed).folder
    if name:
        folder = folder.parents[1] / name / folder.name
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def seeds(results: Path, variant: Variant = OFFICIAL) -> list[int]:
    found = cell_runs(read_runs(results), "chameleon", "LGCN:global", variant)
    assert not found.refused
    return [record["seed"] for record in found.records]


def test_a_folder_of_an_earlier_release_becomes_tables(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for seed in (0, 1):
        finished(old, seed)
    folder = finished(old, 2, variant=NEIGHBORS, name="official-all_neighbours")
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("max_neighbors", "max_neighbours"))
    cost = json.loads(put_cost(tmp_path / "a", "cora", "GCN").read_text())
    tsne = json.loads(put_tsne(tmp_path / "b").read_text())
    for place, record in (("cost/cora/GCN.json", cost), ("tsne/cora.json", tsne)):
        (old / place).parent.mkdir(parents=True)
        (old / place).write_text(json.dumps(record, indent=2))
    assert collect(new, old) == (5, [])
    assert collect(new, old) == (0, [])
    assert seeds(new) == [0, 1] and seeds(new, NEIGHBORS) == [2]
    copied, original = (
        read_costs(path, Suite.load("cost")).lines["cora", "GCN"].record
        for path in (new, tmp_path / "a")
    )
    assert copied == original and {**original, "settings": cost["settings"]} == cost
    assert read_tsne(new, ["cora"]).lines["cora",].record == tsne
    names = {"ablation.jsonl", "neighbors.jsonl", "cost.jsonl", "tsne.jsonl", ".lock"}
    assert {path.name for path in new.iterdir()} == names


def test_what_cannot_be_added_is_named_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    put_run(new, "LGCN:global", 0, 0.9, "chameleon")
    folders = [finished(old, seed) for seed in range(4)]
    copytree(folders[1], folders[1].with_name("seed-01"))
    copytree(folders[1], folders[1].parents[1] / "mine" / "seed-1")
    (folders[2] / "result.json").write_text("{")
    (folders[3] / "result.json").unlink()  # it has not ended
    (old / "cost" / "cora").mkdir(parents=True)
    (old / "cost" / "cora" / "GCN.json").write_text("[1]")
    added = collect(new, old)
    assert added.new == 1 and seeds(new) == [0, 1]
    messages = "\n".join(map(str, added.refused))
    assert len(added.refused) == 5
    assert "seed-01: holds seed 1 of LGCN:global on chameleon" in messages
    assert "no suite has runs of LGCN:global on chameleon under mine" in messages
    assert "seed-2/result.json: cannot be read" in messages
    assert "GCN.json: cannot be read" in messages
    assert "ablation.jsonl:1: already has another record of chameleon LGCN:global" in messages
    assert (
        read_runs(new).lines["chameleon", "LGCN:global", "official", 0].record["test_accuracy"]
        == 0.9
    )


def test_a_damaged_table_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    finished(tmp_path, 0)
    (tmp_path / "ablation.jsonl").write_text("{\n")
    (error,) = collect(tmp_path).refused
    assert "ablation.jsonl:1: is not JSON" in str(error)
    assert (tmp_path / "ablation.jsonl").read_text() == "{\n"


def test_a_recorded_run_of_the_folder_itself_is_not_read_again(tmp_path: Path) -> None:
    folder = finished(tmp_path, 0)
    assert collect(tmp_path).new == 1
    (folder / "result.json").write_text("{")
    assert collect(tmp_path) == (0, [])


def test_finished_runs_are_recorded_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job_of(tmp_path, "chameleon", "LGCN:global", OFFICIAL, seed) for seed in range(4)]
    outcomes: list[tuple[Job, dict[str, Any] | NodewiseError]] = [
        (jobs[0], {"interrupted": True}),
        (jobs[1], RunError("seed-1", "failed", way_out="look")),
        *((job, {"interrupted": False}) for job in jobs[2:]),
    ]
    finished(tmp_path, 2)
    finished(tmp_path, 3)
    put_run(tmp_path, "LGCN:global", 3, 0.9, "chameleon")  # another process was faster
    monkeypatch.setattr(module, "run_all", lambda jobs, workers: iter(outcomes))
    found = [outcome for _, outcome in run_and_record(tmp_path, jobs, workers=2)]
    assert seeds(tmp_path) == [2, 3]
    assert found[:3] == [outcome for _, outcome in outcomes[:3]]
    assert "already has another record" in str(found[3])


def test_a_run_is_added_with_all_that_its_folder_has(tmp_path: Path) -> None:
    folder = finished(tmp_path, 5)
    add_run(tmp_path, job_of(tmp_path, "chameleon", "LGCN:global", OFFICIAL, 5))
    (line,) = read_runs(tmp_path).lines.values()
    assert line.record == run_record(folder, "official")
