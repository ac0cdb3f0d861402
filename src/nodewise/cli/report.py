"""`nodewise report`: tables, plots and a page from records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nodewise.cli.options import AllowChanges, Json, Quiet
from nodewise.cli.tables import print_json, print_table
from nodewise.errors import InputError

if TYPE_CHECKING:
    from nodewise.report.suite_sections.section import Section

Results = Annotated[Path, typer.Argument(help="The folder that `reproduce` filled.")]
Suites = Annotated[
    list[str] | None,
    typer.Option("--suite", "-s", help="Print this suite's tables; repeatable (default: main)."),
]
Import = Annotated[
    list[Path] | None,
    typer.Option(
        "--import",
        help="First add the records of this folder to RESULTS, those of earlier releases too; "
        "repeatable.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Where page and plots go (RESULTS/report).")
]


def report(
    results: Results = Path("results"),
    suites: Suites = None,
    sources: Import = None,
    out: Out = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print our main table with the paper's numbers; write all tables and plots as one page.

    Everything is read from the tables of records in a folder; nothing is trained or measured. The
    paper's numbers are in brackets; a star marks a mean more than two standard errors away from
    them. The page links every cell to its records, and names what is missing. Finished runs in
    `RESULTS/runs` that no table has are added first.

    **Examples**

    - `nodewise report results/`
    - `nodewise report results/ --suite matched --suite cost`
    - `nodewise report results/ --import other-machine/results`
    - `nodewise report results/ --json | tail -n 1`
    """
    from nodewise.experiments.suite import Suite
    from nodewise.report.results_page import write_results
    from nodewise.report.suite_sections.sections import SECTIONS, read_section

    names = list(dict.fromkeys(suites or ["main"]))
    for name in names:
        Suite.load(name)  # an unknown name is an error before anything is written
    _add_records(results, sources or [], allow_changes, quiet)
    sections = {name: read_section(results, name) for name in SECTIONS}
    page = write_results(out or results / "report", list(sections.values()))
    for name in names:
        _print(sections[name], quiet)
    if not quiet:
        typer.echo(f"page and plots: {page}")
    data = {name: section.data for name, section in sections.items()}
    print_json({**data, "report": str(page)}, json)


def _add_records(results: Path, sources: Sequence[Path], allow_changes: bool, quiet: bool) -> None:
    from nodewise.experiments.collect import collect

    for source in sources:
        if not source.is_dir():
            way_out = "name a folder that `nodewise reproduce` filled"
            raise InputError("--import", "is not a folder", value=str(source), way_out=way_out)
    for source in (results, *sources):
        added = collect(results, source, allow_changes)
        for error in added.refused:
            typer.echo(f"not added: {error}", err=True)
        if not quiet and (added.new or source != results):
            typer.echo(f"added {added.new} records from {source}")


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
