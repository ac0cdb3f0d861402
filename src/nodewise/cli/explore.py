"""`nodewise explore`: a local web page that shows what localization did."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nodewise.cli.graph_options import Edges, Nodes, OtherDataset, files_of
from nodewise.cli.options import AllowChanges, Device, Json, Quiet, Root, Run, Threads, set_up
from nodewise.cli.pages import check_page, write_explorer
from nodewise.cli.tables import print_json

if TYPE_CHECKING:
    from nodewise.explorer.explorer_data import ExplorerData

Host = Annotated[
    str, typer.Option("--host", help="The address to bind to; others than this machine's are open.")
]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any that is free.")
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")]
Static = Annotated[
    Path | None,
    typer.Option(
        "--static", help="Write the page, without what-if, as one HTML file instead of serving it."
    ),
]

Tsne = Annotated[
    bool,
    typer.Option("--tsne/--no-tsne", help="Whether that file also has the maps laid out by t-SNE."),
]


def explore(
    run: Run,
    dataset: OtherDataset = None,
    nodes: Nodes = None,
    edges: Edges = None,
    static: Static = None,
    tsne: Tsne = True,
    host: Host = "127.0.0.1",
    port: Port = 8050,
    browser: Browser = True,
    root: Root = None,
    device: Device = "cpu",
    threads: Threads = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show in a browser what localization did: a map of all nodes, and each node on a click.

    Of a node: the messages it receives, the features that its weights turn up or down, its
    prediction with levels switched off, and what it would be without an edge, a feature or a
    level. Nothing is trained, and nothing comes from the network. Ctrl-C ends it. It needs the
    package `dash`; the one file of `--static` does not.

    **Examples**

    - `nodewise explore runs/mine`
    - `nodewise explore runs/mine --port 0 --no-browser --json`
    - `nodewise explore runs/mine --static page.html`
    """
    if static is None:
        from nodewise.explorer.app import need_dash

        need_dash()
    else:
        check_page(static, "--static")
    set_up(threads, device)
    explored = _explored(run, dataset, files_of(nodes, edges), root, device, allow_changes)
    if static is None:
        _serve(explored, run, host, port, browser, json, quiet)
        return
    details = write_explorer(explored, run.resolve().name, static, tsne, quiet)
    if not quiet:
        typer.echo(f"{static}: a map of all nodes, and details of {details:,}")
    print_json({"page": str(static), "details": details}, json)


def _explored(
    run: Path,
    dataset: str | None,
    files: Mapping[str, str],
    root: Path | None,
    device: str,
    allow_changes: bool,
) -> ExplorerData:
    from nodewise.analysis.view import analyze
    from nodewise.cli.inspect import graph_to_inspect
    from nodewise.explorer.explorer_data import ExplorerData
    from nodewise.runs.saved import load_run

    model = load_run(run, device=device, allow_changes=allow_changes)
    graph = graph_to_inspect(model, dataset, files, root)
    graph.data.to(device)
    return ExplorerData(analyze(model, graph))


def _serve(
    explored: ExplorerData, run: Path, host: str, port: int, browser: bool, json: bool, quiet: bool
) -> None:
    """Serve until Ctrl-C."""
    from nodewise.explorer.app import make_app
    from nodewise.explorer.security import is_local
    from nodewise.explorer.server import address, make_server

    server = make_server(make_app(explored, run.resolve().name, host), host, port)
    url = address(server)
    if not is_local(host):
        typer.echo(
            f"warning: all who reach {host} can see this graph; nothing is encrypted", err=True
        )
    if not quiet:
        typer.echo(f"{url} shows {run}; Ctrl-C ends it")
    print_json({"run": str(run), "url": url}, json)
    if browser:
        import webbrowser

        webbrowser.open(url)
    server.serve_forever()  # returns after Ctrl-C, and closes the server
    typer.echo("\nended", err=True)
