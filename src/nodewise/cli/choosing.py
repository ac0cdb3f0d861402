"""`nodewise train --recipe auto`: the recipe is chosen first, with a progress line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nodewise.cli.progress import make_progress
from nodewise.cli.tables import percent, print_table
from nodewise.runs.interrupts import INTERRUPTED, asking_to_stop

if TYPE_CHECKING:
    from nodewise.experiments.selection import Selection
    from nodewise.experiments.selection_result import SelectionResult


def choose_run(selection: Selection, target: Path, quiet: bool) -> SelectionResult:
    """Choose a recipe, copy its run to its folder, and print the choice.

    Args:
        selection: What is to be chosen.
        target: The folder of the chosen run.
        quiet: Whether to print nothing.

    Raises:
        RunError: A folder holds another run.
    """
    choice = _choose(selection, target, quiet)
    if not quiet:
        _print_choice(choice.record)
    return choice


def _choose(selection: Selection, target: Path, quiet: bool) -> SelectionResult:
    from nodewise.experiments.selection import choose_into

    with asking_to_stop() as stop, make_progress(quiet, "of") as progress:
        bar = progress.add_task("choosing", of="epochs")

        def show(what: str, done: int, total: int) -> None:
            progress.update(bar, description=what, completed=done, total=total)

        try:
            return choose_into(target, selection, show, stop)
        except KeyboardInterrupt:
            folder = selection.folder
            typer.echo(
                f"nodewise: stopped while choosing, all saved in {folder}; run the same command "
                "to continue",
                err=True,
            )
            raise typer.Exit(INTERRUPTED) from None


def _print_choice(record: Mapping[str, Any]) -> None:
    shown = [about for about in (*record["candidates"], record["beside"]) if about]
    columns = ("candidate", "model", "first round: val %", "val accuracy %", "epochs", "s", "")
    print_table(columns, [_row(about) for about in shown if about["epochs"]])
    for about in shown:
        if not about["epochs"]:
            typer.echo(f"left out: {about['name']} ({about['model']}): {about['outcome']}")
    typer.echo(f"chosen on validation nodes: {record['chosen']} ({record['model']})")
    if record["sentence"]:
        typer.echo(f"{record['sentence']} {record['localization']['note']}")


def _row(about: Mapping[str, Any]) -> list[str]:
    seen = {name: value for name, value in about.items() if value is not None}
    figures = (percent(seen, name) for name in ("first_round_val_accuracy", "val_accuracy"))
    cost = (str(about["epochs"]), f"{about['seconds']:.1f}")
    return [about["name"], about["model"], *figures, *cost, about["outcome"]]
