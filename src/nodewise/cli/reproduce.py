"""`nodewise reproduce`: the paper's tables and figures, run by run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.options import Device, Json, Quiet, Root, Workers, check_device
from nodewise.cli.stopping import stopped
from nodewise.cli.suite_runs import SuiteOptions, plan_suite, train_jobs, train_suite
from nodewise.cli.tables import print_json
from nodewise.errors import InputError
from nodewise.runs.interrupts import unmasking_interrupts

if TYPE_CHECKING:
    from nodewise.experiments.suite import Suite

SuiteName = Annotated[
    str,
    typer.Argument(
        help="main, val100, ablation, matched, neighbors, loose, splits, fair, lambda, decay, "
        "peers, minibatch, cost or tsne."
    ),
]
Models = Annotated[
    list[str] | None, typer.Option("--models", "-m", help="Only this model; repeatable.")
]
Datasets = Annotated[
    list[str] | None, typer.Option("--datasets", "-d", help="Only this data set; repeatable.")
]
Runs = Annotated[int | None, typer.Option("--runs", min=1, help="Seeds; of cost, timed calls.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder of tables of records.")]
Plan = Annotated[
    bool,
    typer.Option("--plan", help="Only report what is done, what is left, and its time."),
]


def reproduce(
    suite: SuiteName,
    models: Models = None,
    datasets: Datasets = None,
    runs: Runs = None,
    out: Out = Path("results"),
    plan: Plan = False,
    workers: Workers = None,
    device: Device = "cpu",
    root: Root = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a table or figure of the paper, or a comparison of ours; finished runs are skipped.

    Every row gets a run before any gets a second. A finished run becomes a line of a table in the
    folder, such as `main.jsonl`; the files of the run stay in `runs/`. Ctrl-C saves, and the same
    command continues. `nodewise report` shows the results, finished or not. `cost` measures times
    and memory on the CPU, one model after the other, on one thread or on --workers threads: run it
    on an idle machine. `tsne` trains GCN and LGCN if their weights are missing.

    **Examples**

    - `nodewise reproduce main --plan`
    - `nodewise reproduce main --datasets cora --runs 3`
    - `nodewise reproduce matched --models LGCN --models LGCN:global`
    - `nodewise reproduce peers --datasets cornell --runs 1`
    - `nodewise reproduce cost --datasets cora`
    """
    from nodewise.experiments.suite import Suite

    chosen = Suite.load(suite).only(models or [], datasets or [], runs)
    check_device(device)
    special = {"cost": _measure, "tsne": _lay_out}
    fill = special.get(suite, plan_suite if plan else train_suite)
    if plan and suite in special:
        raise InputError("--plan", f"{suite} has no rows of runs", way_out="leave it out")
    try:
        with unmasking_interrupts():
            summary = fill(chosen, SuiteOptions(out, workers, device, root, quiet))
    except KeyboardInterrupt:
        raise stopped("stopped and saved; run the same command to continue") from None
    print_json({"suite": suite, **summary, "out": str(out)}, json)


def _measure(suite: Suite, options: SuiteOptions) -> dict[str, Any]:
    """Measure costs, one model after the other."""
    from nodewise.experiments.collect import collect
    from nodewise.experiments.cost import load_average, measure_cost, read_costs

    collect(options.out)
    cells = list(suite.cells())
    lines, refused = read_costs(options.out, suite)
    if refused:
        raise refused[0]
    left = [(dataset, model, v) for dataset, model, v in cells if (dataset, model) not in lines]
    options.report(f"{suite.title}: {len(cells) - len(left)} measured, {len(left)} left")
    load = load_average() or 0.0
    if left and load > 0.5:
        options.report(f"the machine is busy (load {load:.1f}): times and ratios will be off")
    for number, cell in enumerate(left, 1):
        record = measure_cost(options.out, cell, suite.runs, options.workers or 1, options.root)
        options.report(
            f"{number} of {len(left)}: {record['dataset']} {record['model']}: "
            f"{record['mflops']:.0f} million operations, an epoch {record['train_ms']:.1f} ms, "
            f"a test pass {record['test_ms']:.1f} ms"
        )
    return {"records": len(cells), "measured": len(left)}


def _lay_out(suite: Suite, options: SuiteOptions) -> dict[str, Any]:
    """Lay out points in the plane for every data set that has none."""
    from nodewise.experiments.collect import collect
    from nodewise.experiments.suite import Suite
    from nodewise.experiments.tsne import make_tsne, read_tsne, train_models

    if suite.models != Suite.load(suite.name).models:
        raise InputError("--models", "tsne shows its models together", way_out="leave it out")
    collect(options.out)
    lines, refused = read_tsne(options.out, suite.datasets)
    if refused:
        raise refused[0]
    left = [name for name in suite.datasets if (name,) not in lines]
    options.report(f"{suite.title}: {len(suite.datasets) - len(left)} done, {len(left)} left")
    for name in left:
        jobs = suite.only([], [name], runs=1).jobs(options.out, options.root, options.device)
        train_jobs(jobs, name, options)
        train_models(options.out, jobs, options.cores)
        options.report(f"{name}: laying out {len(jobs) + 1} pictures, about a minute")
        make_tsne(options.out, jobs)
    return {"records": len(suite.datasets), "made": len(left)}
