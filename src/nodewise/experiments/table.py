"""Tables of records: JSON lines, one record each, sorted by key.

Each line is one record, so a diff of two versions of a table shows which records changed. Adding
replaces the file under a lock: a killed process leaves no partial line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from nodewise.errors import RunError
from nodewise.io import replacing, writing

Record = dict[str, Any]
Key = tuple[Any, ...]
_LOCK_SECONDS = 60.0  # a table is locked for milliseconds


@dataclass(frozen=True)
class Line:
    """A record of a table.

    Attributes:
        path: The table's file.
        number: Its line, counted from 1.
        key: What identifies the record in its table.
        record: The record.
    """

    path: Path
    number: int
    key: Key
    record: Record = field(repr=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.number}"


class Content(NamedTuple):
    """The content of a table: records by key, and why other lines were left out."""

    lines: dict[Key, Line]
    refused: list[RunError]

    def checked(self, keys: Iterable[Key], check: Callable[[Line], None]) -> Content:
        """The lines with these keys that pass a check, which raises a RunError for others."""
        kept, refused = {}, list(self.refused)
        for line in (self.lines[key] for key in keys if key in self.lines):
            try:
                check(line)
                kept[line.key] = line
            except RunError as error:
                refused.append(error)
        return Content(kept, refused)


class Added(NamedTuple):
    """How many records were new to a table, and why others were not added."""

    new: int
    refused: list[RunError]


@dataclass(frozen=True)
class RecordTable:
    """A file of records.

    Attributes:
        path: The file; it need not exist.
        fields: The fields whose values identify a record: all strings, but for `seed`.
    """

    path: Path
    fields: Sequence[str]

    def read(self) -> Content:
        """Read all records; a damaged line is left out, and named.

        Raises:
            RunError: The file cannot be read.
        """
        lines: dict[Key, Line] = {}
        refused = []
        for number, text in enumerate(self._texts(), 1):
            try:
                line = self._line(number, text)
                self._check_new(line, lines)
                lines[line.key] = line
            except RunError as error:
                refused.append(error)
        return Content(lines, refused)

    def add(self, records: Iterable[Mapping[str, Any]]) -> Added:
        """Add records; one that is already there is skipped, or refused if it differs.

        Raises:
            RunError: The table has a damaged line, cannot be written, or stays locked.
        """
        with self._locked():
            lines, damaged = self.read()
            if damaged:
                raise damaged[0]
            known = {key: line.record for key, line in lines.items()}
            refused = []
            for record in records:
                key = self._key(record, str(self.path))
                if known.setdefault(key, dict(record)) != record:
                    refused.append(self._conflict(key, lines.get(key)))
            count = len(known) - len(lines)
            if count:
                self._write(known[key] for key in sorted(known))
            return Added(count, refused)

    def _texts(self) -> list[bytes]:
        try:
            return self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
            raise RunError(str(self.path), reason, way_out="restore it, or delete it") from error

    def _line(self, number: int, text: bytes) -> Line:
        place = f"{self.path}:{number}"
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _damaged(place, f"is not JSON ({error})") from error
        if not isinstance(record, dict):
            raise _damaged(place, "is not a JSON object")
        return Line(self.path, number, self._key(record, place), record)

    def _key(self, record: Mapping[str, Any], place: str) -> Key:
        for name in self.fields:
            value = record.get(name)
            is_seed = name == "seed" and type(value) is int and value >= 0
            if not is_seed and (name == "seed" or not isinstance(value, str)):
                raise _damaged(place, f"has no proper {name}", value)
        return tuple(record[name] for name in self.fields)

    def _check_new(self, line: Line, lines: Mapping[Key, Line]) -> None:
        if line.key in lines:
            raise _damaged(str(line), f"repeats the key of line {lines[line.key].number}")

    def _conflict(self, key: Key, line: Line | None) -> RunError:
        place = str(line or self.path)
        name = " ".join(map(str, key))
        return RunError(
            place,
            f"already has another record of {name}, which stays",
            way_out="delete the line if the new one is to take its place, then add it again",
        )

    def _write(self, records: Iterable[Record]) -> None:
        with writing(self.path), replacing(self.path) as stream:
            stream.writelines(json.dumps(record).encode() + b"\n" for record in records)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.path.with_name(".lock"), timeout=_LOCK_SECONDS)
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout as error:
                reason = "is locked by another process"
                raise RunError(str(self.path), reason, way_out="run it again later") from error
        try:
            yield
        finally:
            lock.release()


def _damaged(place: str, reason: str, value: Any = None) -> RunError:
    return RunError(place, reason, value=value, way_out="repair or delete the line, and run again")
