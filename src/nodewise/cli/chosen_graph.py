"""Which graph a command line asks for: a data set's name, or somebody's own tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nodewise.cli.table_options import TableOptions
from nodewise.errors import InputError

if TYPE_CHECKING:
    from nodewise.data.loaded_graph import LoadedGraph
    from nodewise.data.own_graph import OwnGraph


@dataclass(frozen=True)
class ChosenGraph:
    """What to train on.

    Attributes:
        dataset: A data set's name, or None.
        own: Tables, or None.
        split: Which split of a data set.
        split_seed: Which of the drawn ones.
    """

    dataset: str | None
    own: OwnGraph | None
    split: str | None
    split_seed: int

    @classmethod
    def of(
        cls, dataset: str | None, tables: TableOptions, split: str | None, split_seed: int
    ) -> Self:
        """The one graph that was asked for.

        Raises:
            InputError: It is none, or two, or a table is asked for a data set's split.
        """
        own = tables.graph(split_seed)
        if (dataset is None) == (own is None):
            raise not_one_graph(dataset)
        if own is not None and split is not None:
            raise InputError(
                "--split",
                "is for data sets",
                value=split,
                way_out="name a column that says train, val or test with --split-column",
            )
        return cls(dataset, own, split, split_seed)

    @property
    def name(self) -> str:
        """What to call it."""
        return self.own.name if self.own is not None else str(self.dataset)

    def source(self) -> dict[str, Any]:
        """Where it comes from, as records have it.

        Raises:
            TableError: A table cannot be read.
        """
        from nodewise.runs.task import dataset_source

        if self.own is not None:
            return self.own.source()
        return dataset_source(self.name, self.split, self.split_seed)

    def load(self, root: Path | None) -> tuple[LoadedGraph, dict[str, Any]]:
        """The graph, and where it comes from."""
        from nodewise.runs.task import load_source

        source = self.source()
        if self.own is not None:
            return self.own.load(), source  # its files have been checked just now
        return load_source(source, root), source


def not_one_graph(dataset: str | None) -> InputError:
    """The error for a graph that is asked for twice, or, without a data set, not at all."""
    return InputError(
        "graph",
        "is asked for twice, as a data set and as tables" if dataset else "is missing",
        value=dataset,
        way_out="name a data set, or give --nodes and --edges",
    )
