"""Tables as files: CSV or TSV, packed with gzip or not, or Parquet; whole or not there."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from nodewise.io import replacing

_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
FORMATS: Final = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet")


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
    """Write cells with tabs between them, without quotes, after a line of one's own or none.

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
