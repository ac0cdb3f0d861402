"""A table before (`Source`) and after its rows are read (`SourceTable`), and texts of messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from nodewise.errors import TableError

_SHOWN, _LONG = 12, 60


@dataclass(frozen=True, eq=False)
class SourceTable:
    """A frame that knows where each of its cells came from.

    Args:
        name: The file's path, or what the table is.
        frame: The pandas frame, its columns named by strings, its rows numbered from 0.
        place: The number of a row to its place in the file, such as `line 7`.
        cell: A row's number and a column to the cell as the file has it; None where the frame has
            it.
    """

    name: str
    frame: Any
    place: Callable[[int], str]
    cell: Callable[[int, str], str] | None = None

    def written(self, row: int, column: str) -> str:
        """A cell that counts as empty, as it is written: `NA`, or nothing."""
        if self.cell is not None:
            return self.cell(row, column)
        cell = self.frame[column].iloc[row]
        return cell.strip() if isinstance(cell, str) else ""

    def error(
        self,
        problem: str,
        *,
        way_out: str,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
    ) -> TableError:
        """An error about this table; `row` counts from 0."""
        return TableError(
            self.name,
            problem,
            way_out=way_out,
            row=None if row is None else self.place(int(row)),
            column=column,
            value=value,
        )


class Source:
    """A table whose header has been read, and not its rows.

    The header decides which columns hold names, and must not be read as numbers; hence two steps.
    """

    name: str
    columns: tuple[str, ...]

    def read(self, as_text: Collection[str]) -> SourceTable:
        """Read the rows; cells of the columns `as_text` stay texts."""
        raise NotImplementedError

    def column(self, asked: str, role: str) -> str:
        """A column of the table.

        Raises:
            TableError: There is none of that name; the error names the nearest.
        """
        if asked in self.columns:
            return asked
        near = get_close_matches(asked, self.columns, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise TableError(
            self.name,
            f"has no such column for the {role}",
            column=asked,
            way_out=f"{hint}the columns are {listed(self.columns)}",
        )

    def guess(self, names: Iterable[str], but: Collection[str | None] = ()) -> str | None:
        """The first column called by one of the names, in any case of letters; None if none is."""
        found = {column.lower(): column for column in reversed(self.columns) if column not in but}
        return next((found[name] for name in names if name in found), None)


def listed(names: Collection[object]) -> str:
    """Names for a message: the first dozen, and how many more."""
    shown = ", ".join(_cut(str(name)) for name in list(names)[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count and what is counted: 1 cell, 2 cells."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def among(count: int, what: str) -> str:
    """A clause for the first of several: nothing if it is the only one."""
    return f", one of {count:,} such {what}" if count > 1 else ""


def _cut(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[:_LONG]}..."
