"""`nodewise predict` and `evaluate` of graphs in files, at once and in parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from nodewise.bench.planted import PlantedGraph
from nodewise.cli.app import app
from nodewise.errors import InputError

NODES = 300


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [*map(str, args)])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a store, beside the store."""
    folder = tmp_path_factory.mktemp("stored")
    PlantedGraph(NODES, width=16, labeled=0.5).write(folder / "graph")
    args = ("--model", "LGCN", "--set", "epochs=2", "--threads", 1, "--quiet")
    result = run("train", folder / "graph", "--out", folder / "run", *args)
    assert result.exit_code == 0, result.output
    return folder


def test_predictions_of_a_store_in_parts_are_those_of_one_pass(
    trained: Path, tmp_path: Path
) -> None:
    for name, memory in (("whole.csv", "1GB"), ("parts.csv", "10kB")):
        rows = (tmp_path / name).with_suffix(".parquet")
        args = ("--out", tmp_path / name, "--embeddings", rows, "--memory", memory, "--quiet")
        result = run("predict", trained / "run", *args, "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["nodes"] == NODES
    for read, ending in ((pd.read_csv, "csv"), (pd.read_parquet, "parquet")):
        whole, parts = (read(tmp_path / f"{name}.{ending}") for name in ("whole", "parts"))
        assert whole["id"].tolist() == parts["id"].tolist() == [*range(NODES)]
        numbers = [frame.select_dtypes("number").to_numpy() for frame in (whole, parts)]
        np.testing.assert_allclose(*numbers, rtol=1e-4, atol=1e-5)


def test_another_store_is_named_like_a_data_set(trained: Path, tmp_path: Path) -> None:
    PlantedGraph(2 * NODES, width=16, seed=1).write(tmp_path / "later")
    result = run("predict", trained / "run", tmp_path / "later", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == 2 * NODES
    PlantedGraph(NODES, width=8).write(tmp_path / "narrow")
    result = run("predict", trained / "run", tmp_path / "narrow", "--out", tmp_path / "p.csv")
    assert isinstance(result.exception, InputError) and "16 features" in str(result.exception)


def test_evaluate_scores_a_store_without_reading_it_into_memory(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "nodewise.runs.sources.load_source", lambda *_: pytest.fail("read into memory")
    )
    result = run("evaluate", trained / "run", "--memory", "10kB", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout.splitlines()[-1])
    recorded = json.loads((trained / "run" / "result.json").read_text())
    assert found["test_accuracy"] == pytest.approx(recorded["test_accuracy"], abs=0.05)


def test_a_store_that_has_changed_is_refused(trained: Path, tmp_path: Path) -> None:
    folder = trained / "graph"
    kept = (folder / "store.json").read_text()
    about = json.loads(kept)
    try:
        (folder / "store.json").write_text(json.dumps({**about, "sha256": "0" * 64}))
        result = run("predict", trained / "run", "--out", tmp_path / "p.csv")
    finally:
        (folder / "store.json").write_text(kept)
    assert isinstance(result.exception, InputError) and "not the graph" in str(result.exception)
    assert [*tmp_path.iterdir()] == []
