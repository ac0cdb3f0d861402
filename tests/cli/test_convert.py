from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner, Result

import nodewise as nw
from nodewise.cli.app import app
from nodewise.errors import NodewiseError
from tests.cli.test_user_tables import write_karate

KARATE = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "club"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_karate(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


def answer(*arguments: object) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    return dict(json.loads(result.stdout.splitlines()[-1]))


def test_tables_to_npz_and_back() -> None:
    found = answer(*KARATE, "--weight", "w", "club.npz")
    assert found["files"] == ["club.npz"]
    assert (found["nodes"], found["edges"], found["classes"]) == (35, 78, 2)
    back = answer("--nodes", "club.npz", "--weight", "edge_weight", "back", "--format", "parquet")
    assert back["files"] == ["back/nodes.parquet", "back/edges.parquet"]
    own = nw.read_graph("nodes.csv", "edges.csv", label="club", weight="w")
    again = nw.read_graph(**back["read_with"])
    assert again.ids == own.ids and again.ids[-1] == "hermit"
    for name in ("x", "edge_index", "y", "edge_weight"):
        assert torch.equal(own.data[name], again.data[name]), name


def test_labels_that_mean_none() -> None:
    clubs = Path("nodes.csv").read_text().replace(",Officer,", ",NA,", 2).replace(",,", ",unknown,")
    Path("nodes.csv").write_text(clubs)
    assert answer(*KARATE, "club.npz")["classes"] == 4
    for i, given in enumerate((["NA,unknown"], ["NA", "--unlabeled", "unknown"])):
        assert answer(*KARATE, "--unlabeled", *given, f"{i}.npz")["classes"] == 2


def test_a_data_set_to_tables_with_its_split() -> None:
    found = answer("toy", "out/")
    graph = nw.read_graph(**found["read_with"])
    data = nw.load_dataset("toy")
    assert torch.equal(graph.data.x, data.x) and torch.equal(graph.data.edge_index, data.edge_index)
    assert torch.equal(graph.data.val_mask, data.val_mask)
    other = answer("toy", "other", "--split", "random", "--split-seed", 5)
    assert not torch.equal(nw.read_graph(**other["read_with"]).data.val_mask, data.val_mask)


def test_no_split_is_drawn_for_tables_that_have_none() -> None:
    assert "split" not in answer(*KARATE, "out")["read_with"]


@pytest.mark.slow
def test_the_printed_command_reads_the_files_back() -> None:
    output = invoke(*KARATE, "--directed", "a folder").stdout
    assert "nodes     35" in output
    command = shlex.split(output.split("read it with: nodewise ")[1])
    assert "--directed" in command and "--no-scale" in command
    quick = ["--set", "epochs=2", "--out", "run"]
    trained = CliRunner().invoke(app, [*command, *quick])
    assert trained.exit_code == 0, (trained.output, trained.exception)
    assert "78, directed" in trained.stdout


def test_what_the_released_format_lacks_is_reported() -> None:
    output = invoke(*KARATE, "released/graph.node").stdout
    assert "note: ids are not whole numbers" in output
    assert "written: released/graph.node, released/graph.edge" in output
    assert invoke(*KARATE, "quiet.npz", "--quiet").stdout == ""


def test_force_replaces_and_nothing_else_does(here: Path) -> None:
    answer(*KARATE, "club.npz")
    result = invoke("toy", "club.npz")
    assert "club.npz: is there already; use --force to replace it" in str(result.exception)
    assert answer("toy", "club.npz", "--force")["nodes"] == 1200


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("toyy", "out"), "did you mean 'toy'"),
        (("out",), "OUT: is missing"),
        (("toy", *KARATE, "out"), "given twice"),
        (("toy", "a", "b"), "too many"),
        (("toy", "out", "--format", "parquett"), "did you mean 'parquet'"),
        (("toy", "out.csv"), "name a folder"),
        ((*KARATE[:-1], "clubb", "out"), "did you mean 'club'"),
        ((*KARATE, "nodes.csv/out"), "cannot be written"),
        (("toy", "out", "--split", "7"), "0 stored splits"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    here: Path, arguments: tuple[str, ...], says: str
) -> None:
    before = sorted(here.rglob("*"))
    result = invoke(*arguments)
    assert isinstance(result.exception, NodewiseError), (result.output, result.exception)
    assert says in str(result.exception) and "\n" not in str(result.exception)
    assert sorted(here.rglob("*")) == before


def test_a_process_ends_with_code_2(here: Path) -> None:
    command = [sys.executable, "-m", "nodewise", "convert", "toy", "out.csv"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    assert ended.returncode == 2
    assert ended.stderr.startswith("nodewise: ") and ended.stderr.count("\n") == 1


def test_a_store_is_a_graph_like_its_tables() -> None:
    """Trained and predicted from a store as from the tables; the run knows the store again."""
    from nodewise.data.writers.store import write_store

    write_store(nw.read_graph("nodes.csv", "edges.csv", label="club"), Path("store"))
    quick = ["--recipe", "nodewise", "--set", "epochs=2", "--quiet", "--json"]
    scores = {}
    for name, graph in {"tables": KARATE, "store": ["--nodes", "store"]}.items():
        done = CliRunner().invoke(app, ["train", *graph, *quick, "--out", name])
        assert done.exit_code == 0, (done.output, done.exception)
        scores[name] = json.loads(done.stdout.splitlines()[-1])["test_accuracy_mean"]
        predicted = CliRunner().invoke(app, ["predict", name, "--out", f"{name}.csv"])
        assert predicted.exit_code == 0, (predicted.output, predicted.exception)
    assert scores["tables"] == scores["store"]
    assert Path("tables.csv").read_text() == Path("store.csv").read_text()
    Path("store/store.json").write_text(
        Path("store/store.json").read_text().replace('"sha256": "', '"sha256": "0')
    )
    result = CliRunner().invoke(app, ["predict", "store", "--out", "x.csv"])
    assert "has changed since the run was trained" in str(result.exception)
