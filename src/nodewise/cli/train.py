"""`nodewise train`: one model, one graph, some seeds; folders of records and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.choosing import requested_task, with_auto_options
from nodewise.cli.engine_options import engine_settings, stored_source, with_engine_options
from nodewise.cli.graph_options import graph_source, name_of, with_graph_options
from nodewise.cli.large_tables import GRAPH, in_files, outgrow
from nodewise.cli.options import (
    ClassWeight,
    DatasetName,
    Device,
    Json,
    MetricName,
    Quiet,
    Root,
    Seed,
    Set,
    SplitName,
    SplitSeed,
    Threads,
    set_up,
    with_keys,
)
from nodewise.cli.predict import write_predictions
from nodewise.cli.score_table import print_scores
from nodewise.cli.stopping import stopped
from nodewise.cli.tables import print_json
from nodewise.runs.interrupts import asking_to_stop
from nodewise.runs.progress import epoch_progress

if TYPE_CHECKING:
    from nodewise.experiments.train_request import TrainRequest
    from nodewise.runs.run import Callbacks
    from nodewise.runs.sources import TaskMaker
    from nodewise.runs.task import Task

AnyModel = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="LGCN, LGAT, LGIN, GCN, ... (default: LGCN; with auto, any)."
    ),
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
Runs = Annotated[
    int | None,
    typer.Option("--runs", min=1, help="The number of runs, in OUT/seed-S, OUT/seed-S+1, ..."),
]
Temperature = Annotated[
    bool,
    typer.Option(
        "--temperature", help="Calibrate probabilities on validation nodes (temperature scaling)."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the run (default: runs/GRAPH-MODEL-RECIPE)."),
]
Predictions = Annotated[
    Path | None,
    typer.Option(
        "--predictions",
        help="At the end, also write every node's class to this CSV or Parquet file, as `nodewise "
        "predict` does.",
    ),
]
Track = Annotated[
    str | None, typer.Option("--track", help="Write the history to tensorboard or mlflow, too.")
]


@with_graph_options
@with_engine_options
@with_auto_options
def train(
    tables: Mapping[str, Any],
    batching: Mapping[str, Any],
    choosing: Mapping[str, Any],
    dataset: DatasetName = None,
    model: AnyModel = None,
    recipe: AnyRecipe = None,
    runs: Runs = None,
    seed: Seed = 0,
    settings: Set = None,
    metric: MetricName = None,
    class_weight: ClassWeight = None,
    temperature: Temperature = False,
    split: SplitName = None,
    split_seed: SplitSeed = 0,
    out: Out = None,
    predictions: Predictions = None,
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

    The table of scores has two controls: the majority class, and logistic regression on the
    features without the graph. `--metric` decides which epoch is kept.

    Your own graph is trained by `--recipe auto`, unless you name a recipe: within `--budget` it
    trains an MLP without the graph, global models (GCN, SAGE, GAT, ...), variations of the best,
    and its localized forms. Localization is chosen only if its gain on validation nodes over the
    best global model exceeds its standard error. The chosen model is then trained once more, on
    training and validation nodes (`--no-refit`: not). Models of scikit-learn are trained for
    comparison; if one is better, a line says so. With `--model`, only settings of that model are
    tried; `--set` fixes a key for all. With `--runs` it chooses once, with the first seed.
    `choice.json` and `report.html` have the details.

    A graph that outgrows memory is trained by mini-batches: with `--engine minibatch`, or
    automatically where a step would not fit `--memory`. Tables that would not fit are written into
    files first, OUT/graph, and stay there during training. torchrun starts several processes, which
    share every batch: `torchrun --nproc-per-node 2 -m nodewise train ... --engine minibatch`.

    **Examples**

    - `nodewise train toy`
    - `nodewise train cora --model LGCN --recipe official --runs 10`
    - `nodewise train --nodes nodes.csv --edges edges.csv --label topic --out runs/mine`
    - `nodewise train --nodes nodes.csv --edges edges.csv --label topic --budget 2m`
    - `nodewise train cora --recipe auto --budget 2m`
    - `nodewise train cora -m LGAT --set lambda_local=5e-4 --set hidden_channels=16 -o runs/wide`
    - `nodewise train amazon --engine minibatch --fanout 10,10 --batch-size 512`
    - `nodewise train --nodes nodes.csv --edges edges.csv --label topic --memory 4GB --predictions
      labels.csv`
    """
    set_up(threads, device)
    from nodewise.experiments.auto.clock import parse_budget
    from nodewise.experiments.train_request import AutoOptions, TrainRequest
    from nodewise.runs.seeds import seed_folder
    from nodewise.runs.sources import TaskMaker
    from nodewise.runs.tracking import make_tracker
    from nodewise.training.engines.resources import Resources
    from nodewise.training.processes import joined_processes, local_device
    from nodewise.training.recipe import parse_settings

    device = local_device(device)
    source = stored_source(graph_source(dataset, tables, split, split_seed), batching)
    if choosing["budget"] is not None:
        parse_budget(choosing["budget"], "--budget")
    auto = AutoOptions(**choosing)
    calibration = "temperature" if temperature else None
    keys = {"metric": metric, "class_weight": class_weight, "calibration": calibration}
    fixed = parse_settings([*with_keys(settings, **keys), *engine_settings(batching)])
    _check_predictions(predictions, runs)
    with joined_processes(device) as processes:
        quiet = quiet or not processes.is_first
        resources = Resources(workers=batching["sampling_workers"], processes=processes)
        make = TaskMaker(source, root, device, resources)
        known, large = source.get("dataset"), outgrow(source, batching, recipe, quiet)
        recipe = recipe or ("nodewise" if large else _default_recipe(make))
        request = TrainRequest(model, recipe, fixed, seed, known, auto)
        request.recipes()  # a wrong flag should not wait for a graph to load
        folder = out or Path("runs") / _run_name(make, request)
        make_tracker(track, folder, seed).close()  # fails here rather than after training
        if large:
            files = in_files(source, folder / GRAPH, batching["memory"], processes, quiet)
            make = replace(make, source=files)
        first = folder if runs is None else seed_folder(folder, seed)
        task, choice = requested_task(request, make, folder, first, threads, quiet)
        if not processes.is_first:
            _follow(task, range(seed, seed + (runs or 1)))
            return
        records = _train_runs(task, folder, seed, runs, track, quiet)
        summary = {**_summary(records, folder, first, task), **_choice_fields(choice)}
    print_scores(summary, folder, quiet)
    if predictions is not None:
        _predict(folder, task, batching["memory"], predictions, quiet)
    print_json(summary, json)


def _check_predictions(path: Path | None, runs: int | None) -> None:
    """Check where predictions go before anything is trained.

    Raises:
        InputError: The file's name is not a table's, or there are several runs.
    """
    from nodewise.errors import InputError
    from nodewise.runs.export import check_table_path

    if path is None:
        return
    check_table_path("--predictions", path)
    if runs is not None:
        way_out = "leave --runs out, or call `nodewise predict` for the best"
        raise InputError("--predictions", "are those of one run", value=path, way_out=way_out)


def _predict(folder: Path, task: Task, memory: str | None, out: Path, quiet: bool) -> None:
    """Write the predictions of a run that has ended, for the graph that it was trained on."""
    from nodewise.models.memory import memory_budget
    from nodewise.runs.saved import load_run

    model = load_run(folder, device=str(task.data.y.device))
    budget = memory_budget(memory, "--memory")
    write_predictions(model, task.whole_graph, budget, out, quiet=quiet)


def _default_recipe(make: TaskMaker) -> str:
    """The recipe where none is named: `auto` for the user's tables, trained by one process."""
    alone = make.resources.processes.count == 1
    return "auto" if "files" in make.source and alone else "nodewise"


def _follow(task: Task, seeds: Iterable[int]) -> None:
    """Train along with the process that writes the files."""
    from nodewise.runs.run import Callbacks, follow

    with asking_to_stop() as stop:
        for seed in seeds:
            if follow(task, seed, Callbacks(stop=stop))["interrupted"]:
                return


def _run_name(make: TaskMaker, request: TrainRequest) -> str:
    """The name of a run's folder where none is given."""
    model = (request.model_name or "").replace(":", "_")
    parts = (name_of(make.source), model, Path(str(request.recipe)).stem)
    return "-".join(part for part in parts if part)


def _train_runs(
    task: Task, folder: Path, seed: int, runs: int | None, track: str | None, quiet: bool
) -> list[dict[str, Any]]:
    """Train one run, or several with a folder for each seed, and return the records.

    Raises:
        Exit: Ctrl-C has stopped it, which is printed.
    """
    from nodewise.runs.run import train_in
    from nodewise.runs.seeds import train_seeds
    from nodewise.training.freed_memory import keep_freed_memory

    keep_freed_memory()
    with _run_callbacks(task, quiet, folder, track) as callbacks_of:
        if runs is None:
            records = [train_in(folder, task, seed, callbacks_of(seed))]
        else:
            records = train_seeds(folder, task, range(seed, seed + runs), callbacks_of)
    last = records[-1]
    if last["interrupted"]:
        raise stopped(
            f"stopped after {last['epochs']} epochs of seed {last['seed']}, all saved in {folder}; "
            "run the same command to continue"
        )
    return records


def _summary(
    records: list[dict[str, Any]], folder: Path, first: Path, task: Task
) -> dict[str, Any]:
    """Records, means and controls, as `--json` has them; the report is written, too."""
    from nodewise.experiments.auto.selection import candidate_folder
    from nodewise.report.run import REPORT, write_report
    from nodewise.runs.controls import FEATURES_ONLY, controls_in
    from nodewise.runs.seeds import seed_folder, summarize

    controls = controls_in(first, task, candidate_folder(folder, FEATURES_ONLY))
    several = first != folder
    folders = [seed_folder(folder, record["seed"]) for record in records] if several else [folder]
    write_report(folder / REPORT, folders)
    about = {"controls": controls, "out": str(folder), "report": str(folder / REPORT)}
    return {**summarize(records), **about}


def _choice_fields(choice: dict[str, Any] | None) -> dict[str, Any]:
    """The keys of `--json` about a choice: all of `choice.json`, and its main points by name."""
    if choice is None:
        return {}
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
                show.epoch(line)
                tracker.log(line)

            return Callbacks(epoch, stop, nodes=show.nodes)

        yield of_seed
