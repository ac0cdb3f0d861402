"""Files that are opened as tables, and are none."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from nodewise.data.sources.open_source import open_source
from nodewise.errors import TableError


def test_parquet_with_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"\xff\xfe"], pa.binary()).cast(pa.string(), safe=False)
    raw = pa.StringArray.from_buffers(2, *pa.array([b"a", b"\xff\xfe"], pa.binary()).buffers()[1:])
    assert len(texts) == 2
    parquet.write_table(pa.table({"id": raw, "x": [1, 2]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="is damaged, or not a Parquet file"):
        open_source(tmp_path / "t.parquet", "nodes").read(())


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    Path(name).write_text("id,x\na,1\n")
    with pytest.raises(TableError, match=r"\\udcff.csv: has a name that is not UTF-8"):
        open_source(name, "nodes")


# A line of gigabytes in a few bytes: what is read of it must not be kept.
LINE = """
import resource, sys
from nodewise.data.sources.open_source import open_source
from nodewise.errors import TableError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    open_source(sys.argv[1], "nodes").read(())
except TableError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.medium
def test_a_line_without_an_end_is_refused_before_it_is_in_memory(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "t.csv.gz", "wb", compresslevel=1) as stream:
        stream.write(b"id,x\na,")
        for _ in range(300):
            stream.write(b"1" * (1 << 20))
    command = [sys.executable, "-c", LINE, str(tmp_path / "t.csv.gz")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "line 2: has no end after 16 megabytes" in told[0]
    assert int(told[1]) < 150
