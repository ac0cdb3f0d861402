from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from nodewise.errors import RunError
from nodewise.runs.lock import holding


def test_a_folder_is_made_and_held_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "run"
    with (
        holding(folder),
        pytest.raises(RunError, match="another process is working"),
        holding(folder),
    ):
        pass
    with holding(folder):
        assert folder.is_dir()


def test_a_folder_that_nobody_may_write_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Modes of files do not stop the superuser, whom tests may run as.
    monkeypatch.setattr(FileLock, "acquire", refuse)
    with (
        pytest.raises(RunError, match=r"is no folder to write to \(Permission denied\)"),
        holding(tmp_path),
    ):
        pass
