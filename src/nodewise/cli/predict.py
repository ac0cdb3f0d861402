"""`nodewise predict`: what a trained model says of every node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nodewise.cli.options import Json, Quiet, Root, Threads, set_threads

Run = Annotated[
    Path, typer.Argument(help="A folder of `nodewise train`; of several runs the best is taken.")
]
DatasetName = Annotated[
    str | None, typer.Argument(help="Another data set with the same features, if not its own.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Where the predictions go.")]


def predict(
    run: Run,
    dataset: DatasetName = None,
    out: Out = Path("predictions.csv"),
    root: Root = None,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict every node's class, with probabilities, into a CSV file.

    Columns: `id`, `prediction`, and `p_CLASS` for every class.

    **Examples**

    - `nodewise predict runs/mine`
    - `nodewise predict runs/mine --out labels.csv`
    """
    set_threads(threads)
    from nodewise.training.predictions import write_predictions
    from nodewise.training.saved import load_run
    from nodewise.training.task import load_source

    model = load_run(run)
    graph = load_source(model.config["graph"] if dataset is None else {"dataset": dataset}, root)
    logits = model.logits(graph.data)
    write_predictions(out, graph.ids, logits, model.class_names)
    if not quiet:
        typer.echo(f"{len(graph.ids)} predictions of {model.folder} in {out}")
    if json:
        from json import dumps

        about = {"run": str(model.folder), "out": str(out), "nodes": len(graph.ids)}
        typer.echo(dumps(about))
