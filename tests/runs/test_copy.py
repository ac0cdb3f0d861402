from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.errors import RunError
from nodewise.runs.copy import check_target, copy_run
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import train_in
from nodewise.runs.saved import load_run
from tests.training.tasks import small_task


def test_a_copy_is_the_run(tmp_path: Path) -> None:
    task = small_task()
    record = train_in(tmp_path / "one", task, 0)
    copy_run(tmp_path / "one", tmp_path / "two")
    names = {path.name for path in (tmp_path / "one").iterdir() if path.is_file()}
    assert names == {path.name for path in (tmp_path / "two").iterdir()}
    assert train_in(tmp_path / "two", task, 0) == record
    assert load_run(tmp_path / "two").model is not None
    copy_run(tmp_path / "one", tmp_path / "two")


def test_another_run_is_not_overwritten(tmp_path: Path) -> None:
    task = small_task()
    train_in(tmp_path / "one", task, 0)
    record = train_in(tmp_path / "two", task, 1)
    with pytest.raises(RunError, match="seed"):
        copy_run(tmp_path / "one", tmp_path / "two")
    assert RunFolder(tmp_path / "two").result == record


def test_there_is_room_for_a_run_that_differs_by_what_is_chosen_only(tmp_path: Path) -> None:
    train_in(tmp_path, small_task("LGCN"), 0)
    check_target(tmp_path, small_task("LGIN", hidden_channels=7).config(0))
    check_target(tmp_path / "nothing", small_task().config(0))
    with pytest.raises(RunError, match="seed"):
        check_target(tmp_path, small_task().config(1))
