"""`nodewise evaluate`: the scores of a trained model, computed again from its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from nodewise.cli.options import (
    AllowChanges,
    Device,
    Json,
    Memory,
    Quiet,
    Root,
    Run,
    Threads,
    set_threads_for,
    set_up,
)
from nodewise.cli.tables import print_json, print_table
from nodewise.runs.score_text import heading, interval_text, percent_text

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from nodewise.runs.saved import SavedRun
    from nodewise.runs.task import Task
    from nodewise.runs.whole_graph import WholeGraph


def evaluate(
    run: Run,
    root: Root = None,
    device: Device = "cpu",
    memory: Memory = None,
    threads: Threads = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Load a trained model, compute its scores again, and print them beside the recorded ones.

    Next to them are 95 % intervals (Wilson's for accuracy, DeLong's for ROC AUC, a jackknife for
    others), and the controls of `nodewise train`: the majority class, and the features alone.

    **Examples**

    - `nodewise evaluate runs/mine`
    - `nodewise evaluate runs/mine --json | tail -n 1`
    """
    set_up(threads, device)
    from nodewise.data.fingerprints import logits_sha256
    from nodewise.models.memory import memory_budget
    from nodewise.runs.controls import controls_of
    from nodewise.runs.progress import part_progress
    from nodewise.runs.record import scores_of
    from nodewise.runs.saved import load_run
    from nodewise.training.inference import Inference

    budget = memory_budget(memory, "--memory")
    model = load_run(run, device=device, allow_changes=allow_changes)
    task, graph = _graph(model, root, device)
    set_threads_for(graph.num_edges, threads)
    _check(model.config["split_sha256"], task.split.sha256())
    with part_progress("evaluating", quiet) as watch:
        logits = model.logits(graph.data, Inference(budget, watch=watch))
    scores = _unlearned(scores_of(logits, task.data.y, task.split), "refit" in model.config)
    controls = controls_of(task)
    same = logits_sha256(logits) == model.record.get("logits_sha256")
    _print_scores(model, scores, controls, "" if quiet else _footer(model, same))
    about: dict[str, Any] = {"run": str(model.folder), **scores, **controls, "same_bits": same}
    print_json(about, json)


def _print_scores(
    model: SavedRun, scores: Mapping[str, Any], controls: Mapping[str, Any], footer: str
) -> None:
    """Print the table of scores beside the recorded ones and those of the controls."""
    majority, features = controls["majority"], controls["features_only"]
    names = [name for name in scores if name != "intervals" and not name.endswith("micro_f")]
    rows = [
        [
            heading(name),
            percent_text(scores, name),
            interval_text(scores, name),
            *(percent_text(others, name) for others in (model.record, majority, features)),
        ]
        for name in names
    ]
    if "skipped" in features:
        typer.echo(f"features only: skipped, {features['skipped']}")
    columns = ("", "now", "95 % interval", "recorded", "majority", "features only")
    print_table(columns, rows, footer)


def _footer(model: SavedRun, same: bool) -> str:
    return f"{model.folder}; logits {'are' if same else 'are not'} those of training, bit for bit"


def _graph(model: SavedRun, root: Path | None, device: str) -> tuple[Task, WholeGraph]:
    """The task of a run, and its graph; a store's stays in its files."""
    from nodewise.runs.sources import load_source, split_of
    from nodewise.runs.stored_task import stored_task
    from nodewise.runs.task import Task
    from nodewise.runs.whole_graph import WholeGraph, open_training_store

    source, name = model.config["graph"], model.config["model"]
    if "store" in source:
        graph = WholeGraph.of_store(open_training_store(source))
        return stored_task(source, name, model.recipe, device), graph
    graph = WholeGraph.of_table(load_source(source, root, model.folder), device)
    data = cast("Data", graph.data)
    return Task(data, split_of(data), source, name, model.recipe), graph


def _unlearned(scores: dict[str, Any], refit: bool) -> dict[str, Any]:
    """The scores of nodes that the model has not learned from; after a refit, not of validation."""
    return {name: value for name, value in scores.items() if not (refit and name[:4] == "val_")}


def _check(recorded: str, found: str) -> None:
    from nodewise.errors import SplitError

    if recorded != found:
        raise SplitError(
            "split",
            "is not the one the run was trained with",
            value=found[:12],
            way_out="restore the data set, or train again",
        )
