"""`nodewise predict`: the class of every node by a trained model, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nodewise.cli.graph_options import Edges, Nodes, files_of, graph_of_run
from nodewise.cli.options import (
    AllowChanges,
    Device,
    Json,
    Quiet,
    Root,
    Run,
    Threads,
    set_threads_for,
    set_up,
)
from nodewise.cli.tables import print_json

if TYPE_CHECKING:
    from nodewise.runs.saved import SavedRun

DatasetName = Annotated[
    str | None,
    typer.Argument(help="A data set with the same features (default: the graph of training)."),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Where the predictions go.")]
Embeddings = Annotated[
    Path | None,
    typer.Option("--embeddings", help="Also write the input of the last layer: .parquet, .csv."),
]
ForSpreadsheets = Annotated[
    bool,
    typer.Option(
        "--for-spreadsheets",
        help="Put ' before names that a spreadsheet would run as a formula: those with = + - @ "
        "at the start.",
    ),
]


def predict(
    run: Run,
    dataset: DatasetName = None,
    nodes: Nodes = None,
    edges: Edges = None,
    out: Out = Path("predictions.csv"),
    embeddings: Embeddings = None,
    for_spreadsheets: ForSpreadsheets = False,
    root: Root = None,
    device: Device = "cpu",
    threads: Threads = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict every node's class, with probabilities, into a CSV (or Parquet) file.

    Columns: `id`, `prediction`, and `p_CLASS` for every class. The graph is the one of training; a
    run that was trained on tables also predicts later ones with the same columns, larger or not;
    they need no labels. A run that was stopped by Ctrl-C predicts with its best epoch so far.

    **Examples**

    - `nodewise predict runs/mine`
    - `nodewise predict runs/mine --out labels.csv --embeddings rows.parquet`
    - `nodewise predict runs/mine --nodes new_nodes.csv --edges new_edges.csv`
    """
    set_up(threads, device)
    from nodewise.runs.export import write_embeddings, write_predictions
    from nodewise.runs.saved import load_run

    _check_paths(out, embeddings)
    model = load_run(run, device=device, allow_changes=allow_changes)
    files = files_of(nodes, edges)
    graph = graph_of_run(model, dataset, files, root)
    data = graph.data.to(device)
    set_threads_for(data.edge_index.size(1), threads)
    if files and not quiet:
        typer.echo(str(graph.summary))
    logits = model.logits(data)
    rows = None if embeddings is None else model.embeddings(data)
    write_predictions(out, graph.ids, logits, model.class_names, for_spreadsheets)
    if embeddings is not None and rows is not None:
        write_embeddings(embeddings, graph.ids, rows, for_spreadsheets)
    interrupted = bool(model.record.get("interrupted"))
    if not quiet:
        typer.echo(f"{len(graph.ids)} predictions of {model.folder} in {out}")
        if interrupted:
            typer.echo(_about_stopped(model))
    about = {"run": str(model.folder), "out": str(out), "nodes": len(graph.ids)}
    print_json({**about, "interrupted": interrupted}, json)


def _about_stopped(model: SavedRun) -> str:
    """The line about a run that has not come to its end."""
    record = model.record
    return (
        f"training was stopped: these are predictions of the best epoch so far, "
        f"{record['best_epoch']} of {record['epochs']}; `nodewise train` with the same options "
        "continues"
    )


def _check_paths(out: Path, embeddings: Path | None) -> None:
    """Check the names of the files before anything is computed."""
    from nodewise.errors import InputError
    from nodewise.runs.export import check_table_path

    check_table_path("--out", out)
    if embeddings is not None:
        check_table_path("--embeddings", embeddings)
        if embeddings.resolve() == out.resolve():
            way_out = "give them different names"
            raise InputError("--embeddings", "is the file of --out", value=out, way_out=way_out)
