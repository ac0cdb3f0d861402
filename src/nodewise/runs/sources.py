"""Where graph and split come from: a data set or files, and the tasks made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.data.graph import GraphTable
from nodewise.data.options import ReadOptions
from nodewise.data.read_graph import read_opened
from nodewise.data.sources.input_file import find_files
from nodewise.data.sources.pyg_graph import describe
from nodewise.data.splits.drawn import describe_drawn, hold_out, stratified_split
from nodewise.data.splits.split import Split
from nodewise.data.stores.meta import META, is_store
from nodewise.data.variations import Variation
from nodewise.errors import InputError
from nodewise.runs.folder import RunFolder
from nodewise.runs.task import Task
from nodewise.training.engines.resources import Resources
from nodewise.training.recipe import Recipe

if TYPE_CHECKING:
    from torch_geometric.data import Data


def dataset_source(
    dataset: str,
    split: str | None = None,
    split_seed: int = 0,
    validation: int = 0,
    variation: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Where graph and split come from, as records have it.

    Args:
        dataset: The data set's name.
        split: "public", "random", "few", "many", the number of a stored split, or None for the
            default.
        split_seed: Which random split.
        validation: Use only so many of the validation nodes; 0 for all.
        variation: The fields of a `Variation` of the graph.
    """
    source = {"dataset": dataset, "split": split or "default", "split_seed": split_seed}
    optional = {"validation": validation, "variation": dict(variation or {})}
    return {**source, **{key: value for key, value in optional.items() if value}}


def files_source(
    files: Mapping[str, str], options: ReadOptions, split_seed: int = 0
) -> dict[str, Any]:
    """Where graph and split come from, as records have it; `load_source` adds the fingerprints.

    Args:
        files: The paths of `nodes`, of `edges`, or of both.
        options: How to read them.
        split_seed: Which split is drawn, where the tables have none.
    """
    return {"files": dict(files), "options": options.to_dict(), "split_seed": split_seed}


def make_task(graph: GraphTable, model: str, recipe: Recipe, device: str = "cpu") -> Task:
    """A model of the zoo on a graph with masks.

    Raises:
        InputError: The graph has weights of edges, and the model would leave them out.
    """
    data = graph.data.to(device)
    preprocessing = graph.preprocessing if "files" in graph.source else None
    task = Task(
        data,
        split_of(data),
        graph.source,
        model,
        recipe,
        ids=graph.ids,
        preprocessing=preprocessing,
        known_sha256=graph.sha256,
    )
    if task.graph.edge_weight is not None:
        task.fresh_model()  # raises before a folder is created
    return task


@dataclass(frozen=True)
class TaskMaker:
    """Makes tasks of one graph, which each process reads once.

    Attributes:
        source: Where graph and split come from, for `load_source`.
        root: The folder of raw files.
        device: Where to compute.
        resources: The processes, threads and time of its tasks.
    """

    source: Mapping[str, Any]
    root: Path | None = None
    device: str = "cpu"
    resources: Resources = field(default_factory=Resources)

    @property
    def graph(self) -> GraphTable:
        """The graph, the same object for the same source."""
        return _shared(json.dumps(self.source), self.root, file_stamps(self.source))

    def __call__(self, model: str, recipe: Recipe) -> Task:
        """A model of the zoo on that graph, which stays in files if it is a store's."""
        if "store" in self.source:
            from nodewise.runs.stored_task import stored_task

            task: Task = stored_task(self.source, model, recipe, self.device)
        else:
            task = make_task(self.graph, model, recipe, self.device)
        return replace(task, resources=self.resources)

    def check_auto(self, option: str = "recipe") -> None:
        """Check that the recipe "auto" can choose a model for this graph.

        Args:
            option: Where the recipe was named, for the error.

        Raises:
            InputError: The graph stays in files, or several processes train together.
        """
        way_out = "name a recipe, such as nodewise"
        if "store" in self.source:
            raise InputError(option, "'auto' needs the graph in memory", way_out=way_out)
        if self.resources.processes.count > 1:
            problem = "'auto' trains models one after the other, which processes cannot share"
            raise InputError(option, problem, way_out=way_out)


@lru_cache(maxsize=8)  # every random split is another graph
def _shared(source: str, root: Path | None, stamps: object) -> GraphTable:
    return load_source(json.loads(source), root)


def file_stamps(source: Mapping[str, Any]) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change of a source's files: equal for the same content."""
    found = (Path(path).resolve() for path in source.get("files", {}).values())
    files = (path / META if is_store(path) else path for path in found)
    stats = ((path, path.stat()) for path in files if path.exists())
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in stats)


def load_source(
    source: Mapping[str, Any], root: str | Path | None = None, run: Path | None = None
) -> GraphTable:
    """The graph of a source, with labels and a split, to train on or to score.

    Args:
        source: What `dataset_source` or `files_source` returned, or a run's record has.
        root: The folder of raw files.
        run: The run's folder; tables are also looked for in the folders above it.

    Raises:
        InputError: The source names no graph, or there are no labels.
        TableError: A table is wrong, or is not the one that the source has a fingerprint of.
    """
    source = _in_memory(source)
    if "files" not in source:
        return _load_dataset(source, root)
    files = find_files(source, run)
    options = ReadOptions.from_dict(source["options"])
    graph = read_opened(files.get("nodes"), files.get("edges"), options, needs_labels=True)
    seed = int(source["split_seed"])
    about = {**graph.source, "files": dict(source["files"]), "split_seed": seed}
    return replace(_with_split(graph, seed, options.split_ratio), source=about)


def read_source(
    source: Mapping[str, Any], run: RunFolder, root: str | Path | None = None
) -> GraphTable:
    """The graph of a source, to predict with a run: no split is drawn, and labels may be missing.

    Tables, perhaps larger and later than those of the run, are read into the features of the run.

    Args:
        source: What a run's record has, or `files` or a `dataset` alone.
        run: The run's files.
        root: The folder of raw files.

    Raises:
        InputError: The source names no graph.
        RunError: The source names tables, and the run was not trained on tables.
        TableError: A table is wrong, or is not the one that the source has a fingerprint of.
    """
    source = _in_memory(source)
    if "files" not in source:
        from nodewise.data.datasets import load_without_split  # not for tables

        data = load_without_split(_dataset_name(source), root)
        return describe(_varied(data, source), dict(source))
    fitted = run.preprocessing
    files = find_files(source, run.path)
    return read_opened(files.get("nodes"), files.get("edges"), ReadOptions(), fitted)


def _in_memory(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source by which a store is read into memory, as tables are; other sources as they are."""
    if "store" not in source:
        return source
    return {**files_source({"nodes": source["store"]}, ReadOptions(), int(source["split_seed"]))}


def split_of(data: Data) -> Split:
    """The split that a graph's masks make."""
    return Split.from_masks(data.train_mask, data.val_mask, data.test_mask)


def _load_dataset(source: Mapping[str, Any], root: str | Path | None) -> GraphTable:
    from nodewise.data.datasets import load_dataset

    dataset, name = _dataset_name(source), str(source.get("split", "default"))
    split: Any = None if name == "default" else int(name) if name.isdigit() else name
    data = load_dataset(dataset, root, split=split, seed=int(source.get("split_seed", 0)))
    fewer = int(source.get("validation", 0))
    if fewer:
        split_of(data).with_validation(fewer).apply(data)
    return describe(_varied(data, source), dict(source))


def _varied(data: Data, source: Mapping[str, Any]) -> Data:
    return Variation(**source["variation"]).apply(data) if "variation" in source else data


def _dataset_name(source: Mapping[str, Any]) -> str:
    if "dataset" not in source:
        raise InputError(
            "graph",
            "the run was trained on a graph in memory, which its folder does not contain",
            way_out="name a data set with the same features, or give the graph in Python: "
            "nodewise.load_run(folder).predict(data)",
        )
    return str(source["dataset"])


def _with_split(graph: GraphTable, seed: int, ratio: str) -> GraphTable:
    """The graph with the split that it lacks, and a summary that says how it was drawn."""
    data = graph.data
    if "train_mask" not in data:
        split = stratified_split(data.y, seed, ratio)
        sentence = describe_drawn(split, data.y, seed)
    else:
        given = split_of(data)
        if len(given.val):
            return graph
        split = hold_out(given.train, data.y, given.test)
        sentence = f"the split has no nodes to validate on, so {len(split.val)} were held out"
    split.apply(data)
    return replace(graph, summary=replace(graph.summary, drawn_split=sentence))
