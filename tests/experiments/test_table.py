"""A table keeps whole records, whatever happens to the processes that add them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.errors import RunError
from nodewise.experiments import table
from nodewise.experiments.table import RecordTable

FIELDS = ("model", "seed")


def record(model: str, seed: int, **more: Any) -> dict[str, Any]:
    return {"model": model, "seed": seed, **more}


def test_lines_are_sorted_and_others_stay_as_they_are(tmp_path: Path) -> None:
    records = RecordTable(tmp_path / "new" / "main.jsonl", FIELDS)
    assert records.read() == ({}, [])
    assert records.add([record("B", 10), record("B", 2)]) == (2, [])
    before = records.path.read_text().splitlines()
    assert records.add([record("A", 3, accuracy=0.1 + 0.2)]) == (1, [])
    lines = records.path.read_text().splitlines()
    assert lines[1:] == before
    assert [json.loads(line) for line in lines] == [
        record("A", 3, accuracy=0.1 + 0.2),
        record("B", 2),
        record("B", 10),
    ]
    assert [(str(line), key) for key, line in records.read().lines.items()] == [
        (f"{records.path}:{number}", key)
        for number, key in enumerate((("A", 3), ("B", 2), ("B", 10)), 1)
    ]


def test_an_equal_record_is_skipped_and_a_different_one_refused(tmp_path: Path) -> None:
    records = RecordTable(tmp_path / "main.jsonl", FIELDS)
    records.add([record("A", 0, accuracy=0.5)])
    before = records.path.stat()
    new, (error,) = records.add([record("A", 0, accuracy=0.5), record("A", 0, accuracy=0.6)])
    assert new == 0 and "main.jsonl:1: already has another record of A 0" in str(error)
    assert records.path.stat() == before
    assert records.read().lines["A", 0].record["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"model": "A", "se', "is not JSON"),
        ("", "is not JSON"),
        ("\xff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is not a JSON object"),
        ('{"model": "A"}', "has no proper seed"),
        ('{"model": "A", "seed": "0"}', "has no proper seed"),
        ('{"model": "A", "seed": true}', "has no proper seed"),
        ('{"model": "A", "seed": -1}', "has no proper seed"),
        ('{"model": ["A"], "seed": 0}', "has no proper model"),
        ('{"model": "B", "seed": 1}', "repeats the key of line 1"),
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_added_beside_it(
    tmp_path: Path, text: str, reason: str
) -> None:
    records = RecordTable(tmp_path / "main.jsonl", FIELDS)
    records.add([record("B", 1), record("B", 2)])
    first, second = records.path.read_bytes().splitlines(keepends=True)
    damaged = first + text.encode("latin-1") + b"\n" + second
    records.path.write_bytes(damaged)
    lines, (error,) = records.read()
    assert list(lines) == [("B", 1), ("B", 2)]
    assert str(error).startswith(f"{records.path}:2: {reason}")
    with pytest.raises(RunError, match=f"main.jsonl:2: {reason}"):
        records.add([record("C", 0)])
    assert records.path.read_bytes() == damaged


def add_many(path: Path, first: int) -> None:
    for seed in range(first, first + 20):
        RecordTable(path, FIELDS).add([record("A", seed, text="x" * 10_000)])


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=add_many, args=(path, 20 * i)) for i in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert list(RecordTable(path, FIELDS).read().lines) == [("A", seed) for seed in range(60)]


def add_and_die(path: Path) -> None:
    """Add a record, and be killed after half of the table is written."""
    written: list[str] = []

    def dumps(record: dict[str, Any]) -> str:
        if len(written) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        written.append(json.dumps(record))
        return written[-1]

    table.json = SimpleNamespace(dumps=dumps, loads=json.loads)  # type: ignore[attr-defined]
    RecordTable(path, FIELDS).add([record("A", 0)])


def test_a_killed_process_leaves_the_table_as_it_was_and_no_lock(tmp_path: Path) -> None:
    records = RecordTable(tmp_path / "main.jsonl", FIELDS)
    records.add([record("B", seed, text="x" * 100_000) for seed in range(3)])
    before = records.path.read_bytes()
    other = multiprocessing.get_context("fork").Process(target=add_and_die, args=(records.path,))
    other.start()
    other.join()
    assert other.exitcode == -signal.SIGKILL
    assert records.path.read_bytes() == before
    assert records.add([record("A", 0)]) == (1, [])


def test_a_table_that_stays_locked_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_LOCK_SECONDS", 0.1)
    records = RecordTable(tmp_path / "main.jsonl", FIELDS)
    with records._locked(), pytest.raises(RunError, match="is locked by another process"):
        records.add([record("A", 0)])


def test_what_cannot_be_read_or_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "main.jsonl").mkdir()
    with pytest.raises(RunError, match="cannot be read"):
        RecordTable(tmp_path / "main.jsonl", FIELDS).read()
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        RecordTable(tmp_path / "file" / "main.jsonl", FIELDS).add([record("A", 0)])
