"""A graph with its split, from its source alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import nodewise as nw
from nodewise.data.variations import Variation
from nodewise.experiments.runner import Job
from nodewise.runs.folder import RunFolder
from nodewise.runs.sources import (
    TaskMaker,
    dataset_source,
    files_source,
    load_source,
    read_source,
    split_of,
)


def test_the_ratio_of_a_drawn_split_is_kept_in_the_source(tmp_path: Path) -> None:
    rows = "".join(f"n{i},{'xy'[i % 2]},{i}\n" for i in range(40))
    (tmp_path / "nodes.csv").write_text(f"id,topic,age\n{rows}")
    (tmp_path / "edges.csv").write_text("source,target\nn0,n1\n")
    files = {what: str(tmp_path / f"{what}.csv") for what in ("nodes", "edges")}
    options = nw.ReadOptions(label="topic", split_ratio="8/1/1")
    graph = load_source(files_source(files, options, split_seed=3))
    expected = nw.stratified_split(graph.data.y, 3, "8/1/1")
    assert split_of(graph.data) == expected and len(expected.train) == 32
    assert "32 train, 4 validate, 4 test" in str(graph.summary)
    assert split_of(load_source(graph.source).data) == expected


def test_a_named_split_is_drawn_again() -> None:
    graph = load_source(dataset_source("toy", "few", split_seed=2))
    expected = split_of(nw.load_dataset("toy", split="few", seed=2))
    assert split_of(graph.data) == expected != split_of(nw.load_dataset("toy", split="few"))


def test_a_varied_graph_is_varied_again_to_predict(tmp_path: Path) -> None:
    changes = {"node_order": 2, "repeated_edges": 5}
    job = Job(dataset_source("toy", variation=changes), "GCN", 0, tmp_path, settings={"epochs": 2})
    job.run()
    run = nw.load_run(tmp_path)
    expected = Variation(**changes).apply(nw.load_dataset("toy"))
    assert run.config["graph"]["variation"] == changes
    assert torch.equal(read_source(run.config["graph"], RunFolder(tmp_path)).data.y, expected.y)


def test_the_same_paths_with_other_content_are_another_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = TaskMaker(files_source({"edges": "edges.csv"}, nw.ReadOptions()))
    monkeypatch.setattr("nodewise.runs.sources.load_source", lambda source, root: object())
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "edges.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path / "one")
    first = maker.graph
    assert maker.graph is first
    monkeypatch.chdir(tmp_path / "two")
    second = maker.graph
    assert second is not first
    Path("edges.csv").write_text("a,b\n1,2\n2,3\n")
    assert maker.graph is not second
