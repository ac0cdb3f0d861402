from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from nodewise._version import __version__
from nodewise.experiments.records import cell_runs, other_versions, suite_runs
from nodewise.experiments.suite import Suite, Variant, job_of
from nodewise.training.recipe import load_recipe
from tests.report.made_up import OFFICIAL, put_run, put_runs


def test_records_come_by_seed_with_their_files(tmp_path: Path) -> None:
    for seed in (10, 2, 0):
        put_run(tmp_path, "LGCN:global", seed, 0.8)
    found = cell_runs(tmp_path, "cora", "LGCN:global", OFFICIAL)
    assert [record["seed"] for record in found.records] == [0, 2, 10]
    assert [path.parent.name for path in found.paths] == ["seed-0", "seed-2", "seed-10"]
    assert not found.refused


def other_recipe() -> dict[str, Any]:
    return load_recipe("official", "LGCN", "cora", {"lambda_local": 0.5}).settings


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"results_version": 0}, "results_version"),
        ({"recipe": "paper"}, "recipe"),
        ({"settings": other_recipe()}, "lambda_local"),
        ({"seed": 5}, "seed"),
        ({"model": "GCN"}, "model"),
        ({"graph": {"dataset": "cora", "split": "random", "split_seed": 0}}, "split"),
        (
            {"graph": {"dataset": "cora", "split": "default", "split_seed": 0, "validation": 100}},
            "validation",
        ),
    ],
)
def test_the_record_of_another_run_is_left_out_and_told(
    tmp_path: Path, config: dict[str, Any], key: str
) -> None:
    put_run(tmp_path, "LGCN", 0, 0.8)
    put_run(tmp_path, "LGCN", 1, 0.1, config=config)
    found = cell_runs(tmp_path, "cora", "LGCN", OFFICIAL)
    assert [record["test_accuracy"] for record in found.records] == [0.8]
    (error,) = found.refused
    assert key in str(error) and "seed-1" in str(error)


def test_a_recipe_key_that_is_newer_than_the_record_had_its_default(tmp_path: Path) -> None:
    settings = load_recipe("official", "LGCN", "cora").settings
    assert settings.pop("edge_share") == 1.0
    folder = put_run(tmp_path, "LGCN", 0, 0.8, config={"settings": settings})
    change(folder / "result.json", settings=settings)
    assert len(cell_runs(tmp_path, "cora", "LGCN", OFFICIAL).records) == 1


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "citeseer"},
        {"recipe": "paper"},
        {"settings": other_recipe()},
        {"graph_sha256": "1"},
        {"split_sha256": "1"},
    ],
)
def test_a_record_beside_the_configuration_of_another_run_is_left_out(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    change(put_run(tmp_path, "LGCN", 0, 0.8) / "result.json", **changes)
    found = cell_runs(tmp_path, "cora", "LGCN", OFFICIAL)
    (error,) = found.refused
    assert not found.records and f"another {next(iter(changes))}" in str(error)


def test_damaged_records_do_not_hide_the_others(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.8, 0.81, 0.82, 0.83])
    folder = tmp_path / "runs" / "cora" / "LGCN" / "official"
    (folder / "seed-0" / "result.json").write_text("{")
    (folder / "seed-1" / "config.toml").unlink()
    change(folder / "seed-2" / "result.json", seed=7)
    found = cell_runs(tmp_path, "cora", "LGCN", OFFICIAL)
    assert [record["seed"] for record in found.records] == [3]
    assert len(found.refused) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("test_accuracy", 83.5),
        ("test_accuracy", "0.83"),
        ("test_accuracy", None),
        ("test_micro_f", float("nan")),
        ("val_accuracy", True),
        ("seconds", float("inf")),
        ("seconds", -1.0),
    ],
)
def test_a_number_that_cannot_be_right_leaves_a_record_out(
    tmp_path: Path, key: str, value: Any
) -> None:
    put_runs(tmp_path, "LGCN", [0.8, 0.81])
    folder = tmp_path / "runs" / "cora" / "LGCN" / "official"
    change(folder / "seed-0" / "result.json", **{key: value})
    found = cell_runs(tmp_path, "cora", "LGCN", OFFICIAL)
    assert [record["seed"] for record in found.records] == [1]
    (error,) = found.refused
    assert f"its {key} cannot be right" in str(error) and "seed-0" in str(error)


@pytest.mark.parametrize("table", ["graph", "settings"])
def test_a_configuration_without_its_tables_leaves_a_record_out(tmp_path: Path, table: str) -> None:
    put_run(tmp_path, "LGCN", 0, 0.8, config={table: 3})
    found = cell_runs(tmp_path, "cora", "LGCN", OFFICIAL)
    (error,) = found.refused
    assert not found.records and f"no table {table}" in str(error)


def test_a_copy_of_a_run_is_not_a_second_one(tmp_path: Path) -> None:
    folder = put_run(tmp_path, "LGCN", 3, 0.8)
    copytree(folder, folder.with_name("seed-03"))
    found = cell_runs(tmp_path, "cora", "LGCN", OFFICIAL)
    assert [path.parent.name for path in found.paths] == ["seed-3"]
    assert "seed-03" in str(found.refused[0])


def test_records_of_several_versions_are_told(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.8, 0.81, 0.82])
    told, folder = [], tmp_path / "runs" / "cora" / "LGCN" / "official"
    for seed in range(3):
        told.append(suite_runs(tmp_path, Suite.load("main")).notes)
        change(folder / f"seed-{seed}" / "result.json", versions={"torch": f"{seed + 2}.0"})
    assert told == [
        [],
        ["records made with torch 1.0 and 2.0"],
        ["records made with torch 1.0, 2.0 and 3.0"],
    ]


def test_runs_that_another_version_has_begun_are_told(tmp_path: Path) -> None:
    folders = [put_run(tmp_path, "LGCN", seed, 0.8, config={"nodewise": "2.0"}) for seed in (0, 1)]
    told = []
    for ended in ("2.0", "2.1"):
        change(folders[0] / "result.json", versions={"nodewise": "2.0"})
        change(folders[1] / "result.json", versions={"nodewise": ended})
        told.append(suite_runs(tmp_path, Suite.load("main")).notes)
    assert told == [
        [],
        [
            "records made with nodewise 2.0 and 2.1",
            "1 run was begun with one version of nodewise and ended with another",
        ],
    ]


def test_versions_are_found_in_runs_that_ended_and_in_those_that_did_not(tmp_path: Path) -> None:
    ended = put_run(tmp_path, "LGCN", 0, 0.8, config={"nodewise": __version__})
    change(ended / "result.json", versions={"nodewise": "2.1"})
    begun = put_run(tmp_path, "LGCN", 1, 0.8, config={"nodewise": "2.0"})
    (begun / "result.json").unlink()
    assert other_versions([ended, begun, tmp_path / "nothing"]) == ["2.0", "2.1"]


@pytest.mark.parametrize("per_seed", [False, True])
def test_runs_of_a_cell_share_graph_and_split(tmp_path: Path, per_seed: bool) -> None:
    variant = Variant("mine", split="random", per_seed=per_seed)
    sources = [job_of(tmp_path, "cora", "LGCN", variant, seed).source for seed in range(3)]
    of_runs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"split_sha256": "1"}, {"split_sha256": "1"}),
        ({"graph_sha256": "1"}, {"graph": {**sources[2], "sha256": "1"}}),
    ]
    for seed, (of_record, of_config) in enumerate(of_runs):
        folder = put_run(tmp_path, "LGCN", seed, 0.8, variant=variant, config=of_config)
        change(folder / "result.json", **of_record)
    found = cell_runs(tmp_path, "cora", "LGCN", variant)
    assert [record["seed"] for record in found.records] == ([0, 1] if per_seed else [0])


def test_a_suite_counts_what_it_has_and_wants(tmp_path: Path) -> None:
    suite = Suite.load("ablation")
    assert suite_runs(tmp_path, suite).there == 0
    put_runs(tmp_path, "LGCN", [0.8] * 10)  # more than the three it asks for
    runs = suite_runs(tmp_path, suite)
    assert (runs.there, runs.wanted) == (3, 12 * 4 * 3)
    assert len(runs.cell("cora", "LGCN").records) == 10
