from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nodewise.bench import memory
from nodewise.cli.app import app
from nodewise.errors import RunError
from nodewise.experiments import cost
from nodewise.experiments.cost import cost_path, measure_cost, read_cost
from nodewise.experiments.suite import Suite, Variant
from tests.report.made_up import OFFICIAL, put_cost


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure in this process: starting others takes seconds each."""

    def added(make: Callable[..., Callable[[], None]], *args: Any) -> float:
        make(*args)()
        return 1.5

    monkeypatch.setattr(cost, "_alone", lambda work, *args: work(*args))
    monkeypatch.setattr(memory, "extra_peak_mb", added)


@pytest.mark.usefixtures("here")
def test_a_record_has_counts_times_memory_and_the_weather(tmp_path: Path) -> None:
    records = {
        model: measure_cost(tmp_path, ("toy", model, OFFICIAL), repeats=1)
        for model in ("GCN", "LGCN")
    }
    gcn, lgcn = records["GCN"], records["LGCN"]
    assert lgcn == json.loads(cost_path(tmp_path, "toy", "LGCN").read_text())
    assert lgcn == read_cost(tmp_path, "toy", "LGCN", OFFICIAL)
    assert lgcn["mflops"] > lgcn["mflops_sparse"] > gcn["mflops_sparse"] > 0
    assert lgcn["train_ms"] > 0 and lgcn["test_ms"] > 0
    assert (lgcn["train_extra_mb"], lgcn["test_extra_mb"]) == (1.5, 1.5)
    assert {"threads", "load_average", "cpus", "repeats", "versions"} <= lgcn.keys()


def test_a_record_of_another_recipe_or_version_is_refused(tmp_path: Path) -> None:
    put_cost(tmp_path, "cora", "LGCN")
    assert read_cost(tmp_path, "cora", "LGCN", OFFICIAL) is not None
    other = Variant("other", settings={"hidden_channels": 16})
    with pytest.raises(RunError, match="settings"):
        read_cost(tmp_path, "cora", "LGCN", other)
    put_cost(tmp_path, "cora", "LGCN", results_version=0)
    with pytest.raises(RunError, match="results_version"):
        read_cost(tmp_path, "cora", "LGCN", OFFICIAL)
    put_cost(tmp_path, "cora", "LGCN", settings=3)
    with pytest.raises(RunError, match="settings"):
        read_cost(tmp_path, "cora", "LGCN", OFFICIAL)
    put_cost(tmp_path, "cora", "LGCN", train_ms=None)
    with pytest.raises(RunError, match="its train_ms cannot be right"):
        read_cost(tmp_path, "cora", "LGCN", OFFICIAL)
    cost_path(tmp_path, "cora", "LGCN").write_text("[")
    with pytest.raises(RunError, match="cannot be read"):
        read_cost(tmp_path, "cora", "LGCN", OFFICIAL)


def test_what_is_measured_is_not_measured_again(tmp_path: Path) -> None:
    paths = [put_cost(tmp_path, d, m) for d, m, _ in Suite.load("cost").cells()]
    before = [path.read_bytes() for path in paths]
    result = CliRunner().invoke(app, ["reproduce", "cost", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout.splitlines()[-1])
    assert (answer["records"], answer["measured"]) == (12, 0)
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.usefixtures("here")
def test_what_is_left_is_measured_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [("toy", model, OFFICIAL) for model in ("GCN", "GIN")]
    monkeypatch.setattr(Suite, "cells", lambda self: iter(cells))
    put_cost(tmp_path, "toy", "GCN")
    command = ["reproduce", "cost", "--out", str(tmp_path), "--runs", "1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "1 measured, 1 left" in result.stdout and "1 of 1: toy GIN" in result.stdout
    assert cost_path(tmp_path, "toy", "GIN").exists()
