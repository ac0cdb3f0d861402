"""`nodewise report`: records turned into tables, plots and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nodewise.cli.options import Json, Quiet
from nodewise.cli.tables import print_table

if TYPE_CHECKING:
    from nodewise.report.section import Section

Results = Annotated[Path, typer.Argument(help="The folder that `reproduce` filled.")]
Suites = Annotated[
    list[str] | None,
    typer.Option("--suite", "-s", help="Print this suite's tables; repeatable (default: main)."),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Where page and plots go (RESULTS/report).")
]


def report(
    results: Results = Path("results"),
    suites: Suites = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the paper's main table beside ours; write all tables and plots as one page.

    Everything is read from the records in a folder; nothing is trained or measured. In brackets
    what the paper prints; a star marks a mean more than two standard errors away from it. The page
    links every cell to its records, and says what is missing.

    **Examples**

    - `nodewise report results/`
    - `nodewise report results/ --suite matched --suite cost`
    - `nodewise report results/ --json | tail -n 1`
    """
    from nodewise.experiments.suite import Suite
    from nodewise.report.results_page import write_results
    from nodewise.report.sections import SECTIONS, read_section

    asked = list(dict.fromkeys(suites or ["main"]))
    for name in asked:
        Suite.load(name)  # an unknown one is told before anything is written
    sections = {name: read_section(results, name) for name in SECTIONS}
    page = write_results(out or results / "report", list(sections.values()))
    for name in asked:
        _print(sections[name], quiet)
    if not quiet:
        typer.echo(f"page and plots: {page}")
    if json:
        from json import dumps

        data = {name: section.data for name, section in sections.items()}
        typer.echo(dumps({**data, "report": str(page)}))


def _print(section: Section, quiet: bool) -> None:
    from nodewise.report.results_page import plain_rows

    if not quiet:
        typer.echo(f"{section.suite.title}: {section.state}\n")
    for table in section.tables:
        print_table(table.columns, plain_rows(table))
        typer.echo("")
    for error in section.refused:
        typer.echo(f"left out: {error}", err=True)
    for note in section.notes:
        typer.echo(f"note: {note}", err=True)
    if not quiet:
        typer.echo(f"{section.plain_legend}\n")
