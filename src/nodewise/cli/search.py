"""`nodewise search`: a model's settings, chosen on the validation nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.graph_options import graph_source, name_of, with_graph_options
from nodewise.cli.options import (
    ClassWeight,
    DatasetName,
    Device,
    Json,
    MetricName,
    Model,
    Quiet,
    RecipeName,
    Root,
    Seed,
    Set,
    SplitName,
    SplitSeed,
    Workers,
    check_device,
    with_keys,
)
from nodewise.cli.stopping import stopped
from nodewise.cli.tables import print_json
from nodewise.cli.training_graph import keys_of_graph, labels_of, print_summary
from nodewise.runs.interrupts import unmasking_interrupts
from nodewise.runs.progress import make_progress
from nodewise.runs.score_text import score_text

if TYPE_CHECKING:
    from optuna import Study

    from nodewise.experiments.search.search import Search
    from nodewise.training.metrics import Metric

Trials = Annotated[int, typer.Option("--trials", min=1, help="The number of settings to try.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", min=0, help="Stop after so many seconds.")
]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Seeds to average over.")]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder (default: runs/search-GRAPH-MODEL).")
]


@with_graph_options
def search(
    tables: Mapping[str, Any],
    dataset: DatasetName = None,
    model: Model = "LGCN",
    recipe: RecipeName = "nodewise",
    trials: Trials = 40,
    timeout: Timeout = None,
    runs: Runs = 1,
    seed: Seed = 0,
    settings: Set = None,
    metric: MetricName = None,
    class_weight: ClassWeight = None,
    split: SplitName = None,
    split_seed: SplitSeed = 0,
    out: Out = None,
    workers: Workers = None,
    device: Device = "cpu",
    root: Root = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search a model's settings on the validation nodes, with optuna; test nodes are not used.

    Ctrl-C stops; the same command continues. A key given with `--set` is not searched. The graph is
    a data set or your own tables, with the options of `nodewise train`, which takes the result.

    **Examples**

    - `nodewise search cora --model GCN --trials 60`
    - `nodewise search toy --timeout 120 --set hidden_channels=8`
    - `nodewise search --nodes nodes.csv --edges edges.csv --label topic --trials 30`
    """
    from nodewise.experiments.runner import Job
    from nodewise.experiments.search.search import Search
    from nodewise.training.recipe import load_recipe, parse_settings

    check_device(device)
    fixed = parse_settings(with_keys(settings, metric=metric, class_weight=class_weight))
    load_recipe(recipe, model, dataset, fixed)
    source = graph_source(dataset, tables, split, split_seed)
    name = name_of(source)
    folder = out or Path("runs") / f"search-{name}-{model.replace(':', '_')}"
    job = Job(source, model, seed, folder, recipe, fixed, root, device)
    graph = job.load()
    print_summary(graph, quiet)
    of_graph = keys_of_graph(
        labels_of(graph), lambda keys: load_recipe(recipe, model, dataset, fixed, keys), quiet
    )
    job = replace(job, settings={**of_graph, **fixed})
    rule = load_recipe(recipe, model, dataset, job.settings).stopping
    request = Search(job, runs, workers or os.cpu_count() or 1)
    best = _run(request, f"{model} on {name}", trials, timeout, quiet, rule.metric)
    _print_best(best, rule.metric, f"--model {model} --recipe {quote(recipe)}")
    print_json(best, json)


def _print_best(best: Mapping[str, Any], metric: Metric, options: str) -> None:
    """Print the best score, and the options of `nodewise train` that lead to it."""
    from nodewise.training.metrics import TITLES
    from nodewise.training.recipe import format_settings

    figure = score_text(best[f"val_{metric}"], metric, " %")
    typer.echo(f"best validation {TITLES[metric]} {figure}, with")
    typer.echo(f"  {options}")
    for setting in format_settings(best["settings"]):
        typer.echo(f"  --set {setting}")


def _run(
    search: Search, name: str, trials: int, timeout: float | None, quiet: bool, metric: Metric
) -> dict[str, Any]:
    from nodewise.errors import InputError
    from nodewise.experiments.search.search import ended_trials, rounded, run_search

    try:
        with unmasking_interrupts(), make_progress(quiet, "best") as progress:
            bar = progress.add_task(name, total=trials, best="")
            for study in run_search(search, trials, timeout):
                progress.update(bar, completed=ended_trials(study), best=_best(study, metric))
    except KeyboardInterrupt:
        folder = search.job.folder
        raise stopped(f"stopped, all saved in {folder}; run the same command to continue") from None
    if not _best(study, metric):
        if ended_trials(study):
            way_out = "look at the features, or allow more with --trials"
            raise InputError("search", "every trial failed", way_out=way_out)
        raise InputError("search", "no trial came to an end", way_out="give it more time")
    return {
        f"val_{metric}": _value(study, metric),
        "settings": {**search.job.settings, **rounded(study.best_params)},
        "trials": ended_trials(study),
        "out": str(search.job.folder),
    }


def _value(study: Study, metric: Metric) -> float:
    """The metric of the best trial; the study maximizes minus the log loss."""
    return -study.best_value if metric == "log_loss" else study.best_value


def _best(study: Study, metric: Metric) -> str:

    try:
        return f"best {score_text(_value(study, metric), metric, ' %')}"
    except ValueError:  # no trial has ended well yet
        return ""
