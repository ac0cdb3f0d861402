"""Tables on stdout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_NO_LIMIT = 10_000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], footer: str = "") -> None:
    """Print a table without rules: the first column to the left, the others to the right.

    Rows are neither cut nor folded, whatever the terminal's width.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(width=_NO_LIMIT)
    console.print(table)
    if footer:
        console.print(footer, highlight=False, soft_wrap=True, markup=False)


def percent(record: Mapping[str, Any], name: str) -> str:
    """A score of a record as tables show it, or mean and deviation if it has those."""
    from nodewise.training.metrics import cell

    if f"{name}_mean" in record:
        return f"{cell(record[f'{name}_mean'], name)} ± {cell(record[f'{name}_std'], name)}"
    return cell(record[name], name) if name in record else "-"


def between(record: Mapping[str, Any], name: str) -> str:
    """The interval of a score of a record; empty if it has none."""
    from nodewise.training.metrics import cell

    ends = record.get("intervals", {}).get(name)
    return "" if ends is None else " to ".join(cell(end, name) for end in ends)


def heading(name: str) -> str:
    """The heading of a column of scores, such as `test accuracy %` for "test_accuracy"."""
    from nodewise.training.metrics import TITLES

    part, _, metric = name.partition("_")
    return f"{part} {TITLES[metric]}{'' if metric == 'log_loss' else ' %'}"
