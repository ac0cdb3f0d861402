"""Tasks from data sets: the graph, its split, and where both come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.data.datasets import load_dataset
from nodewise.data.splits import Split
from nodewise.errors import InputError
from nodewise.training.recipe import Recipe
from nodewise.training.run import Task

if TYPE_CHECKING:
    from torch_geometric.data import Data


def dataset_task(
    dataset: str,
    model: str,
    recipe: Recipe,
    split: str | None = None,
    split_seed: int = 0,
    root: str | Path | None = None,
    device: str = "cpu",
) -> Task:
    """A model of the zoo on a data set.

    Args:
        dataset: The data set's name.
        model: The model's name.
        recipe: How to train it.
        split: "public", "random", the number of a stored split, or None for the default.
        split_seed: Which random split.
        root: The folder of raw files.
        device: Where to compute.
    """
    source = dataset_source(dataset, split, split_seed)
    return make_task(load_source(source, root), source, model, recipe, device)


def dataset_source(
    dataset: str, split: str | None = None, split_seed: int = 0, validation: int = 0
) -> dict[str, Any]:
    """Where graph and split come from, as records have it.

    With `validation`, only so many of the validation nodes are used.
    """
    source = {"dataset": dataset, "split": split or "default", "split_seed": split_seed}
    return {**source, "validation": validation} if validation else source


def make_task(
    data: Data, source: Mapping[str, Any], model: str, recipe: Recipe, device: str = "cpu"
) -> Task:
    """A model of the zoo on a graph with masks, and where that comes from."""
    return Task(data.to(device), split_of(data), source, model, recipe)


def load_source(source: Mapping[str, Any], root: str | Path | None = None) -> Data:
    """The graph that a run's record names, with its split.

    Raises:
        InputError: The record names none.
    """
    if "dataset" not in source:
        raise InputError(
            "graph", "the run names no data set", way_out="name the graph to predict on"
        )
    name = str(source.get("split", "default"))
    split: Any = None if name == "default" else int(name) if name.isdigit() else name
    seed = int(source.get("split_seed", 0))
    data = load_dataset(source["dataset"], root, split=split, seed=seed)
    fewer = int(source.get("validation", 0))
    return split_of(data).with_validation(fewer).apply(data) if fewer else data


def split_of(data: Data) -> Split:
    """The split that a graph's masks make."""
    return Split.from_masks(data.train_mask, data.val_mask, data.test_mask)
