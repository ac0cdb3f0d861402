"""`nodewise train`: one model, one graph, some seeds; folders of records and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.engine_options import engine_settings, with_engine_options
from nodewise.cli.graph_options import graph_source, with_graph_options
from nodewise.cli.options import (
    ClassWeight,
    Device,
    Json,
    MetricName,
    Quiet,
    Root,
    Threads,
    check_device,
    set_threads,
    with_keys,
)
from nodewise.cli.stopping import stopped
from nodewise.cli.tables import print_table
from nodewise.cli.train_request import AutoOptions, TrainRequest
from nodewise.runs.interrupts import asking_to_stop
from nodewise.runs.progress import epoch_progress
from nodewise.training.cells import between, heading, percent

if TYPE_CHECKING:
    from nodewise.runs.run import Callbacks, Task

DatasetName = Annotated[
    str | None,
    typer.Argument(
        help="A data set, see `nodewise datasets`, or a folder of `nodewise convert --to`. "
        "Or give --edges."
    ),
]
Model = Annotated[str, typer.Option("--model", "-m", help="The model: LGCN, LGAT, LGIN, GCN, ...")]
AnyModel = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="LGCN, LGAT, LGIN, GCN, ... (default: LGCN; with auto, any)."
    ),
]
RecipeName = Annotated[
    str,
    typer.Option("--recipe", "-r", help="paper, official, nodewise, or the path of a TOML file."),
]
AnyRecipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        "-r",
        help="paper, official, nodewise, the path of a TOML file, or auto to choose model and "
        "settings (default: auto for your own tables, nodewise for a data set).",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        help="The time that auto may take: 90s, 5m, 2h (default: 100s for fewer than 5,000 nodes "
        "and 100,000 edges, else 270s).",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="How many candidates auto trains side by side (default: by cores and edges).",
    ),
]
Refit = Annotated[
    bool,
    typer.Option(
        "--refit/--no-refit", help="Whether auto's model learns from validation nodes too."
    ),
]
Runs = Annotated[
    int | None,
    typer.Option("--runs", min=1, help="The number of runs, in OUT/seed-S, OUT/seed-S+1, ..."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The (first) seed.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe; repeatable."),
]
Temperature = Annotated[
    bool,
    typer.Option(
        "--temperature", help="Calibrate probabilities on validation nodes (temperature scaling)."
    ),
]
SplitName = Annotated[
    str | None,
    typer.Option(
        "--split", help="Of a data set: public, random, few, many, or a stored split's number."
    ),
]
SplitSeed = Annotated[int, typer.Option("--split-seed", min=0, help="Which of the drawn splits.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the run (default: runs/GRAPH-MODEL-RECIPE)."),
]
Track = Annotated[
    str | None, typer.Option("--track", help="Write the history to tensorboard or mlflow, too.")
]


@with_graph_options
@with_engine_options
def train(
    tables: Mapping[str, Any],
    batching: Mapping[str, Any],
    dataset: DatasetName = None,
    model: AnyModel = None,
    recipe: AnyRecipe = None,
    budget: Budget = None,
    refit: Refit = True,
    workers: Workers = None,
    runs: Runs = None,
    seed: Seed = 0,
    settings: Set = None,
    metric: MetricName = None,
    class_weight: ClassWeight = None,
    temperature: Temperature = False,
    split: SplitName = None,
    split_seed: SplitSeed = 0,
    out: Out = None,
    track: Track = None,
    root: Root = None,
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model and keep its record, history and weights in a folder.

    Ctrl-C finishes the epoch, saves and stops; the same command continues from there. A finished
    run is not trained again. With `--runs`, every seed has its folder.

    The graph is a data set, or your own: a table of edges, and one of nodes with a column of
    labels, which is empty where the class is to be predicted. A summary of it is printed first.

    Scores stand beside two controls: always saying the majority class, and logistic regression on
    the features without the graph. `--metric` says what decides which epoch is kept.

    Your own graph is trained by `--recipe auto`, unless you name a recipe: within `--budget` it
    trains an MLP without the graph, global models (GCN, SAGE, GAT, ...), variations of the best,
    and its localized forms. Localization is chosen only where it is clearly better on validation
    nodes than the best global model. The chosen model is then trained once more, on training and
    validation nodes (`--no-refit`: not). Models of scikit-learn are trained for comparison, and
    where one is better it is said. With `--model`, only settings of that model are tried; `--set`
    fixes a key for all. With `--runs` it chooses once, with the first seed. `choice.json` and
    `report.html` have the details.

    Graphs that outgrow memory are trained by mini-batches, with `--engine minibatch`, or by
    themselves where a step would not fit `--memory`. torchrun starts several processes, which
    share every batch: `torchrun --nproc-per-node 2 -m nodewise train ... --engine minibatch`.

    **Examples**

    - `nodewise train toy`
    - `nodewise train cora --model LGCN --recipe official --runs 10`
    - `nodewise train --nodes nodes.csv --edges edges.csv --label topic --out runs/mine`
    - `nodewise train --nodes nodes.csv --edges edges.csv --label topic --budget 2m`
    - `nodewise train cora --recipe auto --budget 2m`
    - `nodewise train cora -m LGAT --set lambda_local=5e-4 --set hidden_channels=16 -o runs/wide`
    - `nodewise train amazon --engine minibatch --fanout 10,10 --batch-size 512`
    """
    set_threads(threads)
    check_device(device)
    from nodewise.training.engines.resources import Resources
    from nodewise.training.processes import joined_processes

    source = graph_source(dataset, tables, split, split_seed)
    calibration = "temperature" if temperature else None
    keys = {"metric": metric, "class_weight": class_weight, "calibration": calibration}
    fixed = (*with_keys(settings, **keys), *engine_settings(batching))
    auto = AutoOptions(budget, workers, refit)
    request = TrainRequest(source, model, recipe, fixed, seed, root, device, auto)
    request.recipes()
    with joined_processes(device) as processes:
        resources = Resources(workers=batching["sampling_workers"], processes=processes)
        request = replace(request, resources=resources)
        summary = _train(request, out, runs, track, quiet, fixed_threads=threads is not None)
        if json and processes.is_first:
            from json import dumps

            typer.echo(dumps(summary))


def _train(
    request: TrainRequest,
    out: Path | None,
    runs: int | None,
    track: str | None,
    quiet: bool,
    fixed_threads: bool,
) -> dict[str, Any]:
    """Train what is asked for; returns what `--json` prints. Only one process of several prints."""
    from nodewise.experiments.selection import candidate_folder
    from nodewise.runs.controls import FEATURES_ONLY, controls_in
    from nodewise.runs.run import follow, train_in
    from nodewise.runs.seeds import seed_folder, summarize, train_seeds
    from nodewise.runs.tracking import make_tracker
    from nodewise.training.freed_memory import keep_freed_memory

    is_first, seed = request.processes.is_first, request.seed
    folder, quiet = out or Path("runs") / request.name, quiet or not is_first
    first = folder if runs is None else seed_folder(folder, seed)
    make_tracker(track, folder, seed).close()  # fails here rather than after training
    task, choice = request.prepared(folder, first, quiet, fixed_threads)
    keep_freed_memory()
    seeds = range(seed, seed + (runs or 1))
    with _run_callbacks(task, quiet, folder, track if is_first else None) as callbacks_of:
        if not is_first:
            return {"runs": [follow(task, each, callbacks_of(each)) for each in seeds]}
        if runs is None:
            records = [train_in(folder, task, seed, callbacks_of(seed))]
        else:
            records = train_seeds(folder, task, seeds, callbacks_of)
    if records[-1]["interrupted"]:
        epochs = records[-1]["epochs"]
        raise stopped(
            f"stopped after {epochs} epochs of seed {records[-1]['seed']}, all saved in {folder}; "
            "run the same command to continue"
        )
    controls = controls_in(first, task, candidate_folder(folder, FEATURES_ONLY))
    report = _write_report(folder, records, several=runs is not None)
    chosen = {} if choice is None else _about_choice(choice)
    about = {"controls": controls, "out": str(folder), "report": str(report)}
    summary = {**summarize(records), **chosen, **about}
    _print(summary, folder, quiet)
    return summary


def _about_choice(choice: dict[str, Any]) -> dict[str, Any]:
    """What `--json` says of a choice: all of `choice.json`, and its main points by name."""
    gains = ("localization_gain", "localization_gain_se")
    chosen = {"model": choice["model"], "settings": choice["settings"]}
    return {"chosen": chosen, **{name: choice[name] for name in gains}, "choice": choice}


@contextmanager
def _run_callbacks(
    task: Task, quiet: bool, folder: Path, track: str | None
) -> Iterator[Callable[[int], Callbacks]]:
    """Yield a function from a seed to its callbacks: progress line, tracker, stop on Ctrl-C."""
    from contextlib import ExitStack

    from nodewise.runs.run import Callbacks
    from nodewise.runs.tracking import make_tracker

    with asking_to_stop() as stop, ExitStack() as of_run:

        def of_seed(seed: int) -> Callbacks:
            of_run.close()
            description = f"{task.model}, seed {seed}"
            show = of_run.enter_context(epoch_progress(description, task.rule, quiet))
            tracker = make_tracker(track, folder, seed)
            of_run.callback(tracker.close)

            def epoch(line: dict[str, Any]) -> None:
                show(line)
                tracker.log(line)

            return Callbacks(epoch, stop)

        yield of_seed


def _write_report(folder: Path, records: list[dict[str, Any]], several: bool) -> Path:
    """Write the report of all runs into their folder."""
    from nodewise.report.run import REPORT, write_report
    from nodewise.runs.seeds import seed_folder

    seeds = [seed_folder(folder, record["seed"]) for record in records]
    write_report(folder / REPORT, seeds if several else [folder])
    return folder / REPORT


def _print(summary: dict[str, Any], folder: Path, quiet: bool) -> None:
    records, controls = summary["runs"], summary["controls"]
    part = "test" if "test_accuracy" in records[0] else "val"
    metric = records[0]["settings"].get("metric", "accuracy")
    shown = dict.fromkeys((metric, "accuracy", "balanced_accuracy", "macro_f", "roc_auc"))
    names = list(dict.fromkeys([*(f"{part}_{name}" for name in shown), f"val_{metric}"]))
    majority, features = controls["majority"], controls["features_only"]
    rows = [
        [f"majority: {majority['class']}", *(percent(majority, name) for name in names), "", ""],
        ["features only", *(percent(features, name) for name in names), "", ""],
    ]
    for record in records:
        epochs = f"{record['best_epoch']} of {record['epochs']}"
        scores = (percent(record, name) for name in names)
        rows.append([f"seed {record['seed']}", *scores, epochs, f"{record['seconds']:.1f}"])
    if len(records) > 1:
        means = (percent(summary, name) for name in names)
        rows.append(["mean", *means, "", f"{summary['seconds']:.1f}"])
    rows.append(["95 % interval", *(between(summary, name) for name in names), "", ""])
    skipped = [f"features only: skipped, {features['skipped']}"] if "skipped" in features else []
    next_step = f"nodewise predict {quote(str(folder))} --out predictions.csv"
    ending = [] if quiet else [f"report: {summary['report']}; next: {next_step}"]
    # All columns but the last are of one part: the first names it.
    first, *others = map(heading, names)
    others[:-1] = [title.removeprefix(f"{part} ") for title in others[:-1]]
    print_table(("", first, *others, "epoch", "s"), rows, "\n".join([*skipped, *ending]))
