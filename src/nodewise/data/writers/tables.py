"""A graph as two tables, nodes and edges: CSV or TSV, gzip or not, or Parquet."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np

from nodewise.data.tables.columns import LABEL, SPLIT
from nodewise.data.writers.arrays import (
    dense_chunks,
    edges_of,
    features_of,
    ids_array,
    labels_of,
    masks_of,
)
from nodewise.io import replacing

if TYPE_CHECKING:
    from torch_geometric.data import Data

_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
FORMATS: Final = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet")
_ID, _LABEL, _SPLIT, _WEIGHT = "id", "label", "split", "weight"


def write_nodes(path: Path, data: Data, ids: Sequence[Any]) -> dict[str, Any]:
    """Write the nodes: id, label, split, features; returns the options that read them back."""
    import pyarrow as pa

    features, feature_names = features_of(data)
    about = dict(_about(data, ids))
    names = feature_columns(feature_names, about)
    fields = [(name, column.type) for name, column in about.items()]
    schema = pa.schema([*fields, *((name, pa.float32()) for name in names)])

    def batches() -> Iterator[Any]:
        for rows, chunk in dense_chunks(features):
            first = [column[rows.start : rows.stop] for column in about.values()]
            columns = [*first, *map(pa.array, np.ascontiguousarray(chunk.T))]
            yield pa.table(columns, schema=schema)

    write_table(path, schema, batches())
    return {name: name for name in about}


def write_edges(path: Path, data: Data, ids: Sequence[Any]) -> dict[str, Any]:
    """Write the edges: source, target, weight if any; returns the options that read them back."""
    import pyarrow as pa

    edges, names = edges_of(data), ids_array(ids)
    columns = {
        end: pa.array(names[nodes])
        for end, nodes in zip(("source", "target"), edges.ends, strict=True)
    }
    if edges.weights is not None:
        columns[_WEIGHT] = pa.array(edges.weights)
    table = pa.table(columns)
    write_table(path, table.schema, [table])
    weight = {} if edges.weights is None else {_WEIGHT: _WEIGHT}
    return {**({"directed": True} if edges.directed else {}), **weight}


def feature_columns(names: Collection[str], about: Collection[str]) -> list[str]:
    """Names for the columns of features, none of which has a role when it is read back.

    Args:
        names: The features' names.
        about: The columns that are not features; without a label or a split among them, no feature
            may be called as the reader expects those to be.
    """
    taken = {*about, *(() if _LABEL in about else LABEL), *(() if _SPLIT in about else SPLIT)}
    columns = []
    for i, name in enumerate(names):
        column = name.strip() or f"feature_{i}"
        while column.lower() in taken or column in taken:
            column = f"feature_{column}"
        taken.add(column)
        columns.append(column)
    return columns


def write_table(path: Path, schema: Any, batches: Iterable[Any]) -> None:
    """Write a table; the path's ending says how.

    Args:
        path: The file, its name ending with one of `FORMATS`.
        schema: Arrow's, of the columns.
        batches: Arrow's tables of that schema, one after the other.
    """
    with replacing(path) as stream, _writer(path, stream, schema) as writer:
        for batch in batches:
            writer.write_table(batch)


def write_rows(path: Path, schema: Any, batches: Iterable[Any], first_line: str = "") -> None:
    """Write cells with tabs between them, without quotes, after a first line or none.

    Args:
        path: The file; a name that ends with `.gz` packs it.
        schema: Arrow's, of the columns; their names are not written.
        batches: Arrow's tables of that schema, one after the other.
        first_line: What the file begins with.
    """
    from pyarrow import csv

    bare = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with replacing(path) as stream, _packed(path, stream) as out:
        out.write(first_line.encode())
        with csv.CSVWriter(out, schema, write_options=bare) as writer:
            for batch in batches:
                writer.write_table(batch)


@contextmanager
def _writer(path: Path, stream: BinaryIO, schema: Any) -> Iterator[Any]:
    from pyarrow import csv, parquet

    if path.suffix == ".parquet":
        with parquet.ParquetWriter(stream, schema) as writer:
            yield writer
        return
    ending = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    options = csv.WriteOptions(delimiter=_DELIMITERS[ending])
    with _packed(path, stream) as out, csv.CSVWriter(out, schema, write_options=options) as writer:
        yield writer


@contextmanager
def _packed(path: Path, stream: BinaryIO) -> Iterator[BinaryIO]:
    if not path.name.endswith(".gz"):
        yield stream
        return
    # No time and no name inside: the same graph gives the same bytes.
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as out:
        yield cast(BinaryIO, out)


def _about(data: Data, ids: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The columns before the features."""
    import pyarrow as pa

    (y, class_names), masks = labels_of(data), masks_of(data)
    yield _ID, pa.array(ids_array(ids))
    if class_names:
        named = np.array(class_names, dtype=object)[y]
        yield _LABEL, pa.array(named, pa.string(), mask=y < 0)
    if masks:
        part = np.full(len(y), "", dtype=object)
        for name, mask in masks.items():
            part[mask] = name
        yield _SPLIT, pa.array(part, pa.string(), mask=part == "")
