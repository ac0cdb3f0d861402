from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from nodewise.data.sources.input_file import InputFile, find_files, unpacked
from nodewise.errors import TableError


def test_a_file_is_known_by_its_first_bytes_and_its_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "nodes.txt"
    path.write_bytes(gzip.compress(b"id,a\n1,2\n"))
    file = InputFile.open(path)
    assert file.head == b"id,a\n1,2\n" and not file.is_npz and not file.is_store
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    with unpacked(path) as content:
        assert content.read(4) == b"id,a"
        content.seek(0)
        assert content.read() == b"id,a\n1,2\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\xd0\xcf\x11\xe0rest", "old spreadsheet"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"BZh91AY", "bzip2"),
        (b"\xff\xfei\0d\0", "UTF-16"),
        (b"id,a\n1,\0\n", "byte 7 is NUL"),
        (b"\x1f\x8b\x08broken", "damaged or truncated gzip"),
        (gzip.compress(b"id,a\n" * 100_000)[:90], "damaged or truncated gzip"),
    ],
)
def test_what_is_no_table_is_refused_with_its_name(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "nodes.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=says) as caught:
        InputFile.open(path)
    assert str(path) in str(caught.value) and caught.value.way_out


def test_a_name_that_is_nearly_right_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id\n1\n")
    with pytest.raises(TableError, match=r"no such file.*did you mean .*nodes\.csv"):
        InputFile.open(tmp_path / "node.csv")
    with pytest.raises(TableError, match="is a folder"):
        InputFile.open(tmp_path)


def test_files_of_a_run_are_found_unless_they_were_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, run = tmp_path / "nodes.csv", tmp_path / "runs" / "mine"
    path.write_text("id\n1\n")
    run.mkdir(parents=True)
    monkeypatch.chdir(run)
    source = {"files": {"nodes": "nodes.csv"}}
    source["files_sha256"] = {"nodes": InputFile.open(path).sha256}
    assert find_files(source, run)["nodes"].path == path  # in a folder above the run
    with pytest.raises(TableError, match="which is gone"):
        find_files(source)
    path.write_text("id\n2\n")
    with pytest.raises(TableError, match="has changed since"):
        find_files(source, run)
