"""The tables, plot and notes of a suite, as a page and a terminal show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from nodewise.errors import RunError
from nodewise.experiments.records import CellRuns
from nodewise.experiments.suite import Suite
from nodewise.experiments.table import Line


@dataclass(frozen=True)
class TableCell:
    """A cell of a table, with the records that it summarizes.

    Attributes:
        text: Its text.
        records: Their lines in tables.
        count: How many runs, or pairs of runs, it stands for.
        wanted: How many it should stand for.
        unit: What is counted.
    """

    text: str
    records: Sequence[Line] = ()
    count: int = 0
    wanted: int = 0
    unit: str = "runs"

    @property
    def counted(self) -> str:
        """The number of runs, and how many there should be if some are missing."""
        unit = self.unit if self.wanted > 1 else self.unit.removesuffix("s")
        return (
            f"{self.count} of {self.wanted} {unit}" if self.is_partial else f"{self.count} {unit}"
        )

    @property
    def is_partial(self) -> bool:
        """Whether some runs are missing."""
        return self.count < self.wanted

    @property
    def plain(self) -> str:
        """The text for a terminal, with the number of runs if it is not the wanted one."""
        return self.text if self.count in (0, self.wanted) else f"{self.text} n={self.count}"


MISSING = TableCell("missing")


def runs_cell(text: str, runs: CellRuns, wanted: int) -> TableCell:
    """A cell with these runs as its records; `MISSING` without any."""
    return TableCell(text, runs.lines, len(runs.lines), wanted) if runs.lines else MISSING


Row = tuple[str, Sequence[TableCell]]


@dataclass(frozen=True)
class Table:
    """A table: its columns, the first that of names, and for each name a row of cells."""

    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Section:
    """Tables, a plot and notes of a suite.

    Attributes:
        suite: The suite.
        count: How many of its records there are.
        wanted: How many there should be.
        tables: Its tables.
        legend: How to read them.
        figure: Its plot; None if it has none, or nothing to plot.
        caption: The plot's caption.
        data: The content of the tables, for JSON.
        refused: Why records were left out.
        notes: Notes on the records, such as several versions.
    """

    suite: Suite
    count: int
    wanted: int
    tables: Sequence[Table]
    legend: str
    figure: Figure | None = None
    caption: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    refused: Sequence[RunError] = ()
    notes: Sequence[str] = ()

    @property
    def plain_legend(self) -> str:
        """How to read its tables on a terminal or in a text, where cells have an `n`."""
        return (
            f"{self.legend} n: the number of runs or pairs, if the suite asks for another number."
        )

    @property
    def state(self) -> str:
        """How many of its records there are, and the command that creates the others."""
        command = f"`nodewise reproduce {self.suite.name}`"
        if self.count == 0:
            return f"no records yet; {command} creates them"
        if self.count < self.wanted:
            return f"{self.count} of {self.wanted} records; {command} creates the others"
        return "complete"
