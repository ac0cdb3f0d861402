"""Somebody's own tables as the source of a run: their paths, how they are read, their SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nodewise.data.loaded_graph import LoadedGraph
from nodewise.data.splits import Split, hold_out
from nodewise.errors import InputError, TableError

if TYPE_CHECKING:
    from nodewise.data.graph import GraphTable
    from nodewise.data.preprocessing import Preprocessing


@dataclass(frozen=True)
class OwnGraph:
    """Tables, and what is asked of them.

    Attributes:
        files: The paths as their owner wrote them, of `nodes`, of `edges`, or of both.
        options: Those of `read_graph` that were chosen.
        split_seed: Which split, where the tables have none.
    """

    files: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    split_seed: int = 0

    @property
    def name(self) -> str:
        """What to call the graph: the first file's name without its endings."""
        return Path(next(iter(self.files.values()))).name.split(".")[0]

    def read(self, preprocessing: Preprocessing | None = None) -> GraphTable:
        """Read the tables; with `preprocessing` into the features that it says.

        Raises:
            TableError: Something is wrong with a table.
        """
        from nodewise.data.read_graph import read_graph  # imports pandas

        chosen: dict[str, Any] = {**self.files, **self.options}
        return read_graph(**chosen, preprocessing=preprocessing)

    def load(self) -> LoadedGraph:
        """Read a graph to train on: it has labels, and a split.

        Raises:
            TableError: Something is wrong with a table.
            InputError: There are no labels.
        """
        self._check_label_column()
        table = self.read()
        if not table.data.class_names:
            raise _no_label()
        sentence = self._split(table)
        told = f"{table.summary}\n{sentence}" if sentence else str(table.summary)
        return LoadedGraph(table.data, table.ids, table.preprocessing, told)

    def _check_label_column(self) -> None:
        """Say that there is no column of labels before it is taken for a broken feature."""
        from nodewise.data.options import Roles
        from nodewise.data.roles import node_roles
        from nodewise.data.sources.open_source import open_source
        from nodewise.data.sources.released import is_released

        nodes = self.files.get("nodes")
        of_table = nodes is not None and not (nodes.endswith(".npz") or is_released(Path(nodes)))
        asked = Roles(id=self.options.get("id"), label=self.options.get("label"))
        if of_table and node_roles(open_source(nodes, "nodes"), asked).label is None:
            raise _no_label()

    def _split(self, table: GraphTable) -> str:
        """Give the graph the split that it lacks, and say so."""
        from nodewise.data.sensible_split import sensible_split

        data = table.data
        if "train_mask" not in data:
            split, sentence = sensible_split(data.y, self.split_seed)
        else:
            given = Split.from_masks(data.train_mask, data.val_mask, data.test_mask)
            if len(given.val):
                return ""
            split = hold_out(given.train, data.y, given.test)
            sentence = f"the split has no nodes to validate on, so {len(split.val)} were held out"
        split.apply(data)
        return sentence

    def source(self) -> dict[str, Any]:
        """Where the graph comes from, as records have it.

        Raises:
            TableError: A file cannot be read.
        """
        return {
            "files": dict(self.files),
            "files_sha256": {what: file_sha256(Path(path)) for what, path in self.files.items()},
            "options": dict(self.options),
            "split_seed": self.split_seed,
        }

    @classmethod
    def from_source(cls, source: Mapping[str, Any], run: Path | None = None) -> Self:
        """The tables that a run's record names, if they are still the same.

        Args:
            source: What `source` gave.
            run: The run's folder, to look for the tables in the folders above it, too: a run is
                often used elsewhere than where it was trained.

        Raises:
            TableError: One is gone, or has been changed.
        """
        above = [] if run is None else list(run.resolve().parents)
        files = {
            what: _find(path, source["files_sha256"][what], above)
            for what, path in source["files"].items()
        }
        return cls(files, source["options"], int(source["split_seed"]))


def _find(path: str, sha256: str, above: Sequence[Path]) -> str:
    """The path, or the same below one of the folders, of the file with that fingerprint."""
    given = Path(path).expanduser()
    places = [given] if given.is_absolute() else [given, *(folder / given for folder in above)]
    found = [place for place in places if place.is_file()]
    for place in found:
        if file_sha256(place) == sha256:
            return str(place)
    if found:
        raise TableError(
            str(found[0]),
            "has changed since the run was trained on it",
            way_out="restore it, or give the new tables to `nodewise predict RUN` with --nodes "
            "and --edges",
        )
    raise TableError(
        path,
        "the run was trained on this file, which is gone",
        way_out="go to the folder where the run was trained, or put the file back",
    )


def file_sha256(path: Path) -> str:
    """The fingerprint of a table's file.

    Raises:
        TableError: It cannot be read, or is no table, which is said before all of it is read.
    """
    from nodewise.data.sources.first_bytes import PARQUET, ZIP, check_text, first_bytes

    path = path.expanduser()
    head = first_bytes(path)
    if not head.startswith((PARQUET, ZIP)):  # ZIP: what numpy saves
        check_text(path, head)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _no_label() -> InputError:
    return InputError(
        "--label", "is missing: no column is known to have the labels", way_out="name the column"
    )
