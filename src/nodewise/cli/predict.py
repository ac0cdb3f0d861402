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
    Memory,
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
    from nodewise.runs.whole_graph import WholeGraph

DatasetName = Annotated[
    str | None,
    typer.Argument(
        help="A data set or a folder of `nodewise convert` with the same features (default: the "
        "graph of training)."
    ),
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
    memory: Memory = None,
    threads: Threads = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict every node's class, with probabilities, into a CSV (or Parquet) file.

    Columns: `id`, `prediction`, and `p_CLASS` for every class. The graph is the one of training; a
    run that was trained on tables also predicts later ones with the same columns, larger or not;
    they need no labels. A run that was stopped by Ctrl-C predicts with its best epoch so far.

    A graph whose layers would not fit into `--memory` is computed layer by layer, a part of the
    nodes at a time, and the rows are written as they come.

    **Examples**

    - `nodewise predict runs/mine`
    - `nodewise predict runs/mine --out labels.csv --embeddings rows.parquet`
    - `nodewise predict runs/mine --nodes new_nodes.csv --edges new_edges.csv`
    """
    set_up(threads, device)
    from nodewise.models.memory import memory_budget
    from nodewise.runs.saved import load_run

    _check_paths(out, embeddings)
    budget = memory_budget(memory, "--memory")
    model = load_run(run, device=device, allow_changes=allow_changes)
    files = files_of(nodes, edges)
    graph = _graph(model, dataset, files, root, device, quiet)
    set_threads_for(graph.num_edges, threads)
    write_predictions(model, graph, budget, out, embeddings, for_spreadsheets, quiet)
    interrupted = bool(model.record.get("interrupted"))
    if interrupted and not quiet:
        typer.echo(_about_stopped(model))
    about = {"run": str(model.folder), "out": str(out), "nodes": graph.num_nodes}
    print_json({**about, "interrupted": interrupted}, json)


def write_predictions(
    model: SavedRun,
    graph: WholeGraph,
    memory: int,
    out: Path,
    embeddings: Path | None = None,
    for_spreadsheets: bool = False,
    quiet: bool = False,
) -> None:
    """Write the predictions of a run, with a progress bar, and print where they are.

    Args:
        model: The run.
        graph: The graph.
        memory: The bytes that computing them may take.
        out: A .csv or .parquet file.
        embeddings: A file for the input of the last layer, or None.
        for_spreadsheets: See `write_outputs`.
        quiet: Whether to print nothing.
    """
    from nodewise.runs.export import write_outputs
    from nodewise.runs.progress import part_progress
    from nodewise.training.inference import Inference

    with part_progress("predicting", quiet) as watch:
        how = Inference(memory, out.resolve().parent, watch)
        outputs = model.outputs(graph.data, how, embeddings is not None)
        names = (graph.names, model.class_names)
        write_outputs(outputs, *names, out, embeddings, for_spreadsheets)
    if not quiet:
        typer.echo(f"{graph.num_nodes} predictions of {model.folder} in {out}")


def _graph(
    model: SavedRun,
    dataset: str | None,
    files: dict[str, str],
    root: Path | None,
    device: str,
    quiet: bool,
) -> WholeGraph:
    """The graph that is asked for; a store's stays in its files."""
    from nodewise.data.stores.meta import is_store
    from nodewise.data.stores.store import GraphStore
    from nodewise.runs.whole_graph import WholeGraph, open_training_store

    if dataset is not None and not files and is_store(Path(dataset)):
        return WholeGraph.of_store(GraphStore.open(dataset))
    if dataset is None and not files and "store" in model.config["graph"]:
        return WholeGraph.of_store(open_training_store(model.config["graph"]))
    graph = graph_of_run(model, dataset, files, root)
    if files and not quiet:
        typer.echo(str(graph.summary))
    return WholeGraph.of_table(graph, device)


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
