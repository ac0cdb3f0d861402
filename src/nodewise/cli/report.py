"""`nodewise report`: records turned into tables, plots and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nodewise.cli.options import Json, Quiet
from nodewise.cli.tables import print_table

Results = Annotated[Path, typer.Argument(help="The folder that `reproduce` filled.")]


def report(results: Results = Path("results"), json: Json = False, quiet: Quiet = False) -> None:
    """Print the paper's main table beside ours, from the records in a folder.

    In brackets what the paper prints; a star marks a mean more than two standard errors away from
    it. Nothing is trained or computed anew.

    **Examples**

    - `nodewise report results/`
    - `nodewise report results/ --json | tail -n 1`
    """
    from nodewise.experiments.suite import Suite
    from nodewise.report.main_table import cell_text, suite_table

    suite = Suite.load("main")
    table = suite_table(results, suite)
    for figure, title in (("accuracy", "accuracy %"), ("micro_f", "Micro-F %")):
        rows = [
            [model, *(cell_text(table.get(model, {}).get(d), figure) for d in suite.datasets)]
            for model in suite.models
        ]
        print_table((title, *suite.datasets), rows)
        typer.echo("")
    if not quiet:
        runs = [cell["runs"] for row in table.values() for cell in row.values()]
        typer.echo(f"{sum(runs)} runs; ours ± deviation (paper); * beyond two standard errors")
    if json:
        from json import dumps

        typer.echo(dumps({"main": table}))
