"""Tasks: the graph, its split, and where both come from, a data set or somebody's own tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.data.datasets import load_dataset
from nodewise.data.loaded_graph import LoadedGraph
from nodewise.data.own_graph import OwnGraph
from nodewise.data.splits import Split
from nodewise.errors import InputError
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Task
from nodewise.training.recipe import Recipe

if TYPE_CHECKING:
    from torch_geometric.data import Data


def dataset_source(
    dataset: str, split: str | None = None, split_seed: int = 0, validation: int = 0
) -> dict[str, Any]:
    """Where graph and split come from, as records have it.

    Args:
        dataset: The data set's name.
        split: "public", "random", the number of a stored split, or None for the default.
        split_seed: Which random split.
        validation: Use only so many of the validation nodes; 0 for all.
    """
    source = {"dataset": dataset, "split": split or "default", "split_seed": split_seed}
    return {**source, "validation": validation} if validation else source


def make_task(
    graph: LoadedGraph, source: Mapping[str, Any], model: str, recipe: Recipe, device: str = "cpu"
) -> Task:
    """A model of the zoo on a graph with masks, and where that comes from.

    Raises:
        InputError: The graph has weights of edges, and the model would leave them out.
    """
    data, about = graph.data.to(device), (graph.ids, graph.preprocessing, graph.sha256)
    task = Task(data, split_of(data), source, model, recipe, None, *about)
    if task.graph.edge_weight is not None:
        task.fresh_model()  # refuses now rather than in a folder half made
    return task


def load_source(
    source: Mapping[str, Any], root: str | Path | None = None, run: Path | None = None
) -> LoadedGraph:
    """The graph that a run's record names, with its split.

    Args:
        source: What the record says of it.
        root: The folder of raw files of data sets.
        run: The run's folder; tables are also looked for in the folders above it.

    Raises:
        InputError: The record names none.
        TableError: It names tables that are gone, or not the same any more.
    """
    if "files" in source:
        return OwnGraph.from_source(source, run).load()
    if "dataset" not in source:
        raise InputError(
            "graph", "the run names no data set", way_out="name the graph to predict on"
        )
    name = str(source.get("split", "default"))
    split: Any = None if name == "default" else int(name) if name.isdigit() else name
    seed = int(source.get("split_seed", 0))
    data = load_dataset(source["dataset"], root, split=split, seed=seed)
    fewer = int(source.get("validation", 0))
    if fewer:
        split_of(data).with_validation(fewer).apply(data)
    return LoadedGraph(data, range(int(data.x.size(0))))


def read_tables(files: Mapping[str, str], run: Path) -> LoadedGraph:
    """Tables, perhaps bigger and later than those of a run, with the features of that run.

    Args:
        files: The paths of `nodes` and `edges`.
        run: The run's folder.

    Raises:
        RunError: The run was not trained on tables.
        TableError: Something is wrong with a table.
    """
    table = OwnGraph(files).read(RunFolder(run).preprocessing)
    return LoadedGraph(table.data, table.ids, table.preprocessing, str(table.summary))


def split_of(data: Data) -> Split:
    """The split that a graph's masks make."""
    return Split.from_masks(data.train_mask, data.val_mask, data.test_mask)
