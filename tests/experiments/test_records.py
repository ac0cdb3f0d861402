from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from nodewise._version import __version__
from nodewise.errors import RunError
from nodewise.experiments.records import (
    CellRuns,
    cell_runs,
    missing_runs,
    other_versions,
    read_runs,
    run_table,
    suite_runs,
)
from nodewise.experiments.suite import Suite, Variant, job_of
from nodewise.training.recipe import load_recipe
from tests.report.made_up import OFFICIAL, put_run, put_runs


def runs_of(results: Path, model: str, variant: Variant = OFFICIAL) -> CellRuns:
    return cell_runs(read_runs(results), "cora", model, variant)


def test_records_come_by_seed_with_their_lines(tmp_path: Path) -> None:
    for seed in (10, 2, 0):
        path = put_run(tmp_path, "LGCN:global", seed, 0.8)
    found = runs_of(tmp_path, "LGCN:global")
    assert [record["seed"] for record in found.records] == [0, 2, 10]
    assert [str(line) for line in found.lines] == [f"{path}:{number}" for number in (3, 2, 1)]
    assert not found.refused


def test_a_run_is_in_the_table_of_the_first_suite_that_has_it(tmp_path: Path) -> None:
    names = {
        (model, variant): run_table(tmp_path, "cora", model, variant).path.name
        for model, variant in (
            ("LGCN", "official"),
            ("LGCN:global", "official"),
            ("LGCN", "official-plain"),
            ("LGCN", "official-lambda_local-1e-5"),
        )
    }
    assert list(names.values()) == [
        "main.jsonl",
        "ablation.jsonl",
        "matched.jsonl",
        "loose.jsonl",
    ]
    with pytest.raises(RunError, match="no suite has runs of LGCN on cora under mine"):
        run_table(tmp_path, "cora", "LGCN", "mine")


def test_a_line_in_the_table_of_another_suite_is_left_out_and_named(tmp_path: Path) -> None:
    path = put_run(tmp_path, "LGCN", 0, 0.8)
    path.rename(tmp_path / "val100.jsonl")
    (error,) = read_runs(tmp_path).refused
    assert "val100.jsonl:1: belongs to main.jsonl" in str(error)


def other_recipe() -> dict[str, Any]:
    return load_recipe("official", "LGCN", "cora", {"lambda_local": 0.5}).settings


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"results_version": 0}, "results_version"),
    ({"recipe": "paper"}, "recipe"),
    ({"settings": other_recipe()}, "lambda_local"),
    ({"graph": {"split": "random", "split_seed": 0}}, "split"),
    ({"graph": {"split": "default", "split_seed": 0, "validation": 100}}, "validation"),
]


@pytest.mark.parametrize(("changes", "key"), OTHERS)
def test_the_record_of_another_run_is_left_out_and_named(
    tmp_path: Path, changes: dict[str, Any], key: str
) -> None:
    put_run(tmp_path, "LGCN", 0, 0.8)
    put_run(tmp_path, "LGCN", 1, 0.1, **changes)
    found = runs_of(tmp_path, "LGCN")
    assert [record["test_accuracy"] for record in found.records] == [0.8]
    (error,) = found.refused
    assert key in str(error) and "main.jsonl:2" in str(error)


@pytest.mark.parametrize(("changes", "key"), OTHERS)
def test_a_suite_does_not_go_on_beside_the_record_of_another_run(
    tmp_path: Path, changes: dict[str, Any], key: str
) -> None:
    put_run(tmp_path, "LGCN", 0, 0.8, **changes)
    job = job_of(tmp_path, "cora", "LGCN", OFFICIAL, 0)
    with pytest.raises(RunError, match=rf"main.jsonl:1: is of a run with .*{key}"):
        missing_runs(read_runs(tmp_path), [job])


def test_runs_without_a_record_are_missing(tmp_path: Path) -> None:
    jobs = [job_of(tmp_path, "cora", "LGCN", OFFICIAL, seed) for seed in range(3)]
    assert missing_runs(read_runs(tmp_path), jobs) == jobs
    path = put_run(tmp_path, "LGCN", 1, 0.8, begun_with="99.0")
    assert missing_runs(read_runs(tmp_path), jobs) == [jobs[0], jobs[2]]
    path.write_text(path.read_text() + "{")
    with pytest.raises(RunError, match=r"main.jsonl:2: is not JSON"):
        missing_runs(read_runs(tmp_path), jobs)


def test_a_recipe_key_that_is_newer_than_the_record_had_its_default(tmp_path: Path) -> None:
    settings = load_recipe("official", "LGCN", "cora").settings
    assert settings.pop("edge_share") == 1.0
    put_run(tmp_path, "LGCN", 0, 0.8, settings=settings)
    assert len(runs_of(tmp_path, "LGCN").lines) == 1


def test_a_recipe_key_may_have_an_earlier_name(tmp_path: Path) -> None:
    settings = load_recipe("official", "LGCN", "cora").settings
    settings["max_neighbours"] = settings.pop("max_neighbors")
    put_run(tmp_path, "LGCN", 0, 0.8, settings=settings)
    assert len(runs_of(tmp_path, "LGCN").lines) == 1


def test_damaged_lines_do_not_hide_the_others(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.8, 0.81])
    path = put_run(tmp_path, "LGCN", 2, 0.82, graph=3)
    first, second, third = path.read_text().splitlines()
    path.write_text("\n".join((first[:100], second, third, "<<<<<<< ours", "")))
    runs = suite_runs(tmp_path, Suite.load("main"))
    assert [record["seed"] for record in runs.cell("cora", "LGCN").records] == [1]
    messages = [str(error).removeprefix(f"{path}:") for error in runs.refused]
    assert [line.partition(" (")[0] for line in messages] == [
        "3: has no table graph; delete the line, and run again",
        "1: is not JSON",
        "4: is not JSON",
    ]


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
    put_run(tmp_path, "LGCN", 0, 0.8, **{key: value})
    found = runs_of(tmp_path, "LGCN")
    assert [record["seed"] for record in found.records] == [1]
    (error,) = found.refused
    assert f"its {key} cannot be right" in str(error) and "main.jsonl:1" in str(error)


@pytest.mark.parametrize("table", ["graph", "settings", "versions"])
def test_a_record_without_its_tables_is_left_out(tmp_path: Path, table: str) -> None:
    put_run(tmp_path, "LGCN", 0, 0.8, **{table: 3})
    found = runs_of(tmp_path, "LGCN")
    (error,) = found.refused
    assert not found.records and f"no table {table}" in str(error)


def test_records_of_several_versions_are_noted(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.8, 0.81, 0.82])
    notes = []
    for seed in range(3):
        notes.append(suite_runs(tmp_path, Suite.load("main")).notes)
        put_run(tmp_path, "LGCN", seed, 0.8, versions={"torch": f"{seed + 2}.0"})
    assert notes == [
        [],
        ["records made with torch 1.0 and 2.0"],
        ["records made with torch 1.0, 2.0 and 3.0"],
    ]


def test_runs_that_another_version_has_begun_are_noted(tmp_path: Path) -> None:
    notes = []
    for ended in ("2.0", "2.1"):
        for seed, version in ((0, "2.0"), (1, ended)):
            versions = {"nodewise": version}
            put_run(tmp_path, "LGCN", seed, 0.8, begun_with="2.0", versions=versions)
        notes.append(suite_runs(tmp_path, Suite.load("main")).notes)
    assert notes == [
        [],
        [
            "records made with nodewise 2.0 and 2.1",
            "1 run was begun with one version of nodewise and ended with another",
        ],
    ]


def test_versions_are_found_in_runs_that_ended_and_in_those_that_did_not(tmp_path: Path) -> None:
    put_run(tmp_path, "LGCN", 0, 0.8, begun_with=__version__, versions={"nodewise": "2.1"})
    jobs = [job_of(tmp_path, "cora", "LGCN", OFFICIAL, seed) for seed in range(3)]
    jobs[1].folder.mkdir(parents=True)
    graph = {"nodes": 1, "features": 1, "classes": ["a"]}
    begun = {"nodewise": "2.0", "model": "LGCN", "recipe": "official", "seed": 1, "graph": graph}
    begun |= {"split_sha256": "1", "settings": {}}
    (jobs[1].folder / "config.toml").write_text(tomli_w.dumps(begun))
    assert other_versions(read_runs(tmp_path), jobs) == ["2.0", "2.1"]


@pytest.mark.parametrize(("suite", "seeds"), [("matched", [0]), ("splits", [0, 1])])
def test_runs_of_a_cell_share_graph_and_split(tmp_path: Path, suite: str, seeds: list[int]) -> None:
    variant = Suite.load(suite).variants[0]
    put_run(tmp_path, "LGCN", 0, 0.8, variant=variant)
    put_run(tmp_path, "LGCN", 1, 0.8, variant=variant, split_sha256="1")
    source = dict(job_of(tmp_path, "cora", "LGCN", variant, 2).source)
    put_run(tmp_path, "LGCN", 2, 0.8, variant=variant, graph={**source, "sha256": "1"})
    found = runs_of(tmp_path, "LGCN", variant)
    assert [record["seed"] for record in found.records] == seeds


def test_a_suite_counts_what_it_has_and_wants(tmp_path: Path) -> None:
    suite = Suite.load("ablation")
    assert suite_runs(tmp_path, suite).count == 0
    put_runs(tmp_path, "LGCN", [0.8] * 10)  # more than the three it asks for
    runs = suite_runs(tmp_path, suite)
    assert (runs.count, runs.wanted) == (3, 12 * 4 * 3)
    assert len(runs.cell("cora", "LGCN").records) == 10
