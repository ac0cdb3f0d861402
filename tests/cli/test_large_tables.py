"""`nodewise train`: tables that outgrow `--memory`, and predictions at the end."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import nodewise as nw
from nodewise.cli import large_tables
from nodewise.cli.app import app
from nodewise.data.stores.store import GraphStore
from nodewise.errors import InputError, RunError
from tests.cli.test_convert import KARATE
from tests.cli.test_user_tables import write_karate

TRAIN = ["train", *KARATE, "--set", "epochs=2", "--out", "run"]
TO_FILES = [*TRAIN, "--memory", "1GB", "--predictions", "p.csv"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_karate(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if reading a kilobyte took gigabytes."""
    monkeypatch.setattr(large_tables, "_IN_MEMORY", 10**7)


def told(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.mark.usefixtures("little_memory")
def test_tables_that_outgrow_memory_are_trained_on_from_files_to_predictions() -> None:
    said = told(*TO_FILES)
    assert "more than 1 GB: they are written into files first" in said
    assert "engine    mini-batches, since the graph is in files" in said
    assert nw.load_run("run").record["engine"] == "minibatch"
    told("predict", "run", "--out", "again.csv")
    assert Path("p.csv").read_text() == Path("again.csv").read_text()
    assert sorted(pd.read_csv("p.csv").id) == sorted(pd.read_csv("nodes.csv").iloc[:, 0])


@pytest.mark.usefixtures("little_memory")
def test_the_files_are_written_once_for_the_same_tables() -> None:
    told(*TO_FILES)
    about = Path("run", large_tables.GRAPH, "store.json")
    before = about.stat().st_mtime_ns
    Path("p.csv").unlink()
    told(*TO_FILES)
    assert about.stat().st_mtime_ns == before and Path("p.csv").exists()
    first = GraphStore.open(about.parent).sha256
    lines = Path("nodes.csv").read_text().splitlines()
    Path("nodes.csv").write_text("\n".join(line for line in lines if "hermit" not in line) + "\n")
    with pytest.raises(RunError, match=r"graph\.nodes = 35, not 34"):
        told(*TO_FILES)
    assert GraphStore.open(about.parent).sha256 != first


def test_tables_that_fit_stay_in_memory() -> None:
    said = told(*TO_FILES, "--recipe", "nodewise")
    assert "written into files" not in said and not Path("run", large_tables.GRAPH).exists()
    assert nw.load_run("run").record["engine"] == "field"
    told("predict", "run", "--out", "again.csv")
    assert Path("p.csv").read_text() == Path("again.csv").read_text()


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    "options",
    [["--recipe", "auto", "--budget", "1s"], ["--recipe", "nodewise", "--engine", "full"]],
)
def test_what_needs_the_graph_in_memory_gets_it(options: list[str]) -> None:
    assert "written into files" not in told(*TRAIN, "--memory", "1GB", *options)


def test_predictions_are_those_of_one_run_and_a_table() -> None:
    with pytest.raises(InputError, match="those of one run"):
        told(*TRAIN, "--predictions", "p.csv", "--runs", "2")
    with pytest.raises(InputError, match="CSV or a Parquet"):
        told(*TRAIN, "--predictions", "p.txt")
    assert not Path("run").exists()
