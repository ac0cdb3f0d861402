"""Every region of every file of a run, flipped and cut: a typed error, or the same numbers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from matplotlib.figure import Figure

from nodewise.errors import NodewiseError
from nodewise.report.run import write_report
from nodewise.runs.controls import controls_in
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from tests.training.tasks import small_graph, small_task

FEW, MANY = 3, 200  # regions of each file


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is most of a page's time."""
    monkeypatch.setattr(Figure, "add_subplot", lambda *_, **__: MagicMock())
    monkeypatch.setattr(Figure, "savefig", lambda _, stream, **__: stream.write("<svg></svg>"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, and one that was stopped."""
    path = tmp_path_factory.mktemp("damage")
    train_in(path / "finished", small_task(), 0)
    controls_in(path / "finished", small_task())
    lines: list[object] = []
    train_in(path / "stopped", small_task(), 0, Callbacks(lines.append, lambda: len(lines) == 8))
    return path


def damaged(content: bytes, regions: int) -> Iterator[bytes]:
    """The content with each region flipped in one bit, and with each cut out."""
    size = max(1, len(content) // regions)
    for start in range(0, len(content), size):
        middle = min(start + size // 2, len(content) - 1)
        flipped = bytes([content[middle] ^ (1 << start % 8)])
        yield content[:middle] + flipped + content[middle + 1 :]
        yield content[:start] + content[start + size :]
    yield content[: len(content) // 2]
    yield b""


def numbers(run: Path) -> tuple[Any, ...]:
    """What a finished run says, without the time that it took."""
    saved = load_run(run)
    record = {key: value for key, value in saved.record.items() if key != "seconds"}
    return record, saved.config, saved.history, saved.predict_proba(small_graph()).tolist()


def assert_noticed(folder: Path, scratch: Path, kind: str, regions: int) -> None:
    """Damage every file of a run, region by region, and use the run."""
    expected = numbers(folder / "finished")
    names = [path.relative_to(folder / kind) for path in (folder / kind).rglob("*")]
    count = 0
    for name in sorted(name for name in names if (folder / kind / name).is_file()):
        for content in damaged((folder / kind / name).read_bytes(), regions):
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(folder / kind, scratch)
            (scratch / name).write_bytes(content)
            count += 1
            try:
                record = train_in(scratch, small_task(), 0)
                controls_in(scratch, small_task())
                write_report(scratch / "report.html", [scratch])
                assert numbers(scratch) == expected, (name, len(content))
                assert record["logits_sha256"] == expected[0]["logits_sha256"]
            except NodewiseError as error:
                assert len(str(error)) < 2000
    assert count > 2 * regions
    print(f"{count} damaged files")


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["finished", "stopped"])
def test_no_damage_gives_another_number(folder: Path, tmp_path: Path, kind: str) -> None:
    assert_noticed(folder, tmp_path / "run", kind, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["finished", "stopped"])
def test_no_damage_in_any_region_gives_another_number(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    assert_noticed(folder, tmp_path / "run", kind, MANY)
