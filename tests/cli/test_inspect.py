from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from nodewise.cli.app import app
from nodewise.data.toy import toy_graph
from nodewise.errors import InputError

QUICK = [
    "--recipe",
    "nodewise",
    "--set",
    "epochs=5",
    "--set",
    "hidden_channels=4",
    "--threads",
    "1",
]


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    data = toy_graph(120)
    nodes = pd.DataFrame(data.x.int().numpy(), columns=data.feature_names)
    nodes.insert(0, "id", [f"p{i}" for i in range(120)])
    nodes["topic"] = [data.class_names[label] for label in data.y]
    source, target = (data.edge_index[:, data.edge_index[0] < data.edge_index[1]]).tolist()
    edges = pd.DataFrame({"source": [f"p{i}" for i in source], "target": [f"p{i}" for i in target]})
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    tables = ("--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv")
    invoke("train", *tables, "--label", "topic", *QUICK, "--out", folder / "run", "--quiet")
    return folder / "run"


def test_a_node_is_explained_in_tables_and_as_json(run: Path) -> None:
    result = invoke("inspect", run, "p17", "--top", 3, "--json")
    lines = result.stdout.splitlines()
    found = json.loads(lines[-1])
    assert lines[0] == found["sentence"] and lines[0].startswith("p17 is predicted ")
    assert found["id"] == "p17" and found["without_localization"].keys() == {
        "global",
        "node",
        "edge",
    }
    assert [len(found[name]) for name in ("features", "neighbors", "similar")] == [3, 3, 3]
    assert found["features"][0].keys() >= {"name", "global", "local"}
    assert found["neighbors"][0].keys() >= {"id", "strength"}
    assert found["features"][0]["name"] in toy_graph(120).feature_names
    assert 1 <= found["distance_rank"] <= 120 and found["distance"] > 0
    for heading in ("with", "feature", "neighbor", "similar weights"):
        assert any(line.startswith(heading) for line in lines)


def test_quiet_leaves_the_paragraph_out(run: Path) -> None:
    assert "is predicted" not in invoke("inspect", run, "p17", "--quiet").stdout


def test_without_a_node_the_graph_is_summarized(run: Path) -> None:
    result = invoke("inspect", run, "--top", 2, "--json")
    found = json.loads(result.stdout.splitlines()[-1])
    counts = found["counts"]["labeled"]
    assert counts["nodes"] == 120 and counts["corrected"] == len(found["corrected"])
    assert len(found["most_localized"]) == 2 and found["clusters"]
    parts = [counts["nodes"] for name, counts in found["counts"].items() if name != "labeled"]
    assert sum(parts) == 120 and len(parts) == 3
    for name in ("corrected", "spoiled"):
        listed = [row["id"] for row in sorted(found[name], key=lambda row: -row["confidence"])]
        assert all(f"\n{id} " in result.stdout for id in listed[:2])
    assert "most localized" in result.stdout and "similar weights 1:" in result.stdout


def test_an_unknown_node_names_the_nearest(run: Path) -> None:
    with pytest.raises(InputError, match="nearest are p22"):
        invoke("inspect", run, "p122")


def test_later_tables_are_inspected_too(run: Path) -> None:
    nodes, edges = run.parent / "nodes.csv", run.parent / "edges.csv"
    later = pd.read_csv(nodes).drop(columns="topic")
    later.loc[len(later)] = ["new", *[1] * (later.shape[1] - 1)]
    later.to_csv(run.parent / "later.csv", index=False)
    tables = ("--nodes", run.parent / "later.csv", "--edges", edges)
    result = invoke("inspect", run, "new", *tables, "--json")
    found = json.loads(result.stdout.splitlines()[-1])
    assert found["label"] is None and found["correct"] is None and found["num_nodes"] == 121
