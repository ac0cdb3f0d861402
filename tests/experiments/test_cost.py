from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nodewise.bench import memory
from nodewise.cli.app import app
from nodewise.experiments import cost
from nodewise.experiments.cost import cost_table, measure_cost, read_costs
from nodewise.experiments.suite import Suite, Variant
from tests.report.made_up import OFFICIAL, put_cost


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure in this process: starting others takes seconds each."""

    def added(make: Callable[..., Callable[[], None]], *args: Any) -> float:
        make(*args)()
        return 1.5

    monkeypatch.setattr(cost, "_in_process", lambda work, *args: work(*args))
    monkeypatch.setattr(memory, "extra_peak_mb", added)


@pytest.mark.usefixtures("here")
def test_a_record_has_counts_times_memory_and_conditions(tmp_path: Path) -> None:
    records = {
        model: measure_cost(tmp_path, ("toy", model, OFFICIAL), repeats=1)
        for model in ("GCN", "LGCN")
    }
    gcn, lgcn = records["GCN"], records["LGCN"]
    lines = cost_table(tmp_path).read().lines
    assert [lines["toy", model].record for model in ("GCN", "LGCN")] == [gcn, lgcn]
    assert lgcn["mflops"] > lgcn["mflops_sparse"] > gcn["mflops_sparse"] > 0
    assert lgcn["train_ms"] > 0 and lgcn["test_ms"] > 0
    assert (lgcn["train_extra_mb"], lgcn["test_extra_mb"]) == (1.5, 1.5)
    assert {"threads", "load_average", "cpus", "repeats", "versions"} <= lgcn.keys()


def test_a_record_of_another_recipe_or_version_is_refused(tmp_path: Path) -> None:
    suite = Suite.load("cost").only(["LGCN"], ["cora"])
    put_cost(tmp_path, "cora", "LGCN")
    assert list(read_costs(tmp_path, suite).lines) == [("cora", "LGCN")]
    other = Variant("other", settings={"hidden_channels": 16})
    wrong = "another settings than expected"
    assert wrong in why(tmp_path, replace(suite, variants=[other]))
    put_cost(tmp_path, "cora", "LGCN", results_version=0)
    assert "results_version" in why(tmp_path, suite)
    put_cost(tmp_path, "cora", "LGCN", settings=3)
    assert wrong in why(tmp_path, suite)
    put_cost(tmp_path, "cora", "LGCN", train_ms=None)
    assert "cost.jsonl:1: its train_ms cannot be right" in why(tmp_path, suite)
    cost_table(tmp_path).path.write_text("[")
    assert "cost.jsonl:1: is not JSON" in why(tmp_path, suite)


def why(results: Path, suite: Suite) -> str:
    """Why the only record is refused."""
    lines, (error,) = read_costs(results, suite)
    assert not lines
    return str(error)


def test_what_is_measured_is_not_measured_again(tmp_path: Path) -> None:
    for dataset, model, _ in Suite.load("cost").cells():
        path = put_cost(tmp_path, dataset, model)
    before = path.read_bytes()
    result = CliRunner().invoke(app, ["reproduce", "cost", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout.splitlines()[-1])
    assert (answer["records"], answer["measured"]) == (12, 0)
    assert path.read_bytes() == before


@pytest.mark.usefixtures("here")
def test_what_is_left_is_measured_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [("toy", model, OFFICIAL) for model in ("GCN", "GIN")]
    monkeypatch.setattr(Suite, "cells", lambda self: iter(cells))
    put_cost(tmp_path, "toy", "GCN")
    command = ["reproduce", "cost", "--out", str(tmp_path), "--runs", "1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "1 measured, 1 left" in result.stdout and "1 of 1: toy GIN" in result.stdout
    assert ("toy", "GIN") in cost_table(tmp_path).read().lines
