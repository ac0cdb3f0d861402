"""`nodewise inspect`: what localization did to a graph, and to one of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nodewise.cli.graph_options import Edges, Nodes, OtherDataset, files_of, graph_of_run
from nodewise.cli.options import AllowChanges, Device, Json, Quiet, Root, Run, Threads, set_up
from nodewise.cli.tables import print_json

if TYPE_CHECKING:
    from nodewise.data.graph import GraphTable
    from nodewise.runs.saved import SavedRun

Node = Annotated[
    str | None, typer.Argument(help="The id of a node (default: a summary of the graph).")
]
Top = Annotated[int, typer.Option("--top", min=1, help="How many rows each table shows.")]


def inspect(
    run: Run,
    node: Node = None,
    dataset: OtherDataset = None,
    nodes: Nodes = None,
    edges: Edges = None,
    top: Top = 10,
    root: Root = None,
    device: Device = "cpu",
    threads: Threads = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what localization did: why a node was given its class, or where in the graph it acts.

    Of a node: its prediction with levels of localization switched off, the features that its local
    weights turn up, down or flip, the neighbors whose messages the edge level strengthens or
    weakens, how far its weights are from the global ones, and the nodes with similar weights.
    Without NODE: the nodes that localization corrected and spoiled, the most localized nodes, and
    groups of nodes with similar weights. Nothing is trained.

    **Examples**

    - `nodewise inspect runs/mine`
    - `nodewise inspect runs/mine p17 --top 5`
    - `nodewise inspect runs/mine p17 --json | tail -n 1`
    - `nodewise inspect runs/mine p99 --nodes new_nodes.csv --edges new_edges.csv`
    """
    set_up(threads, device)
    from nodewise.analysis.view import analyze
    from nodewise.cli.inspect_tables import print_graph, print_node
    from nodewise.runs.saved import load_run

    model = load_run(run, device=device, allow_changes=allow_changes)
    graph = graph_to_inspect(model, dataset, files_of(nodes, edges), root)
    graph.data.to(device)
    view = analyze(model, graph)
    if node is None:
        print_graph(view.graph, top)
        print_json({"run": str(model.folder), **view.graph.to_dict(top)}, json)
        return
    found = view.node(node, similar=top)
    print_node(found, top, quiet)
    print_json({"run": str(model.folder), **found.to_dict(top)}, json)


def graph_to_inspect(
    model: SavedRun, dataset: str | None, files: Mapping[str, str], root: Path | None
) -> GraphTable:
    """The graph to inspect; that of training comes with labels and its split."""
    if files or dataset is not None:
        return graph_of_run(model, dataset, files, root)
    from nodewise.runs.sources import load_source

    return load_source(model.config["graph"], root, model.folder)
