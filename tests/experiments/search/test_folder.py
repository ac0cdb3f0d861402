from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nodewise.errors import RunError
from nodewise.experiments.search.folder import SEARCH, open_search
from nodewise.io import unsealed

ASKED: dict[str, Any] = {"model": "GCN", "fixed": {"epochs": 6}, "runs": 1}


def test_the_same_search_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        with open_search(tmp_path / "search", ASKED):
            assert unsealed(json.loads((tmp_path / "search" / SEARCH).read_text())) == ASKED


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"model": "GAT"}, "model = 'GCN', not 'GAT'"),
        ({"fixed": {"epochs": 7}}, "fixed.epochs = 6, not 7"),
        ({"fixed": {}}, "fixed.epochs = 6, not None"),
        ({"runs": 2}, "runs = 1, not 2"),
    ],
)
def test_another_search_is_refused(tmp_path: Path, other: dict[str, Any], message: str) -> None:
    with open_search(tmp_path, ASKED):
        pass
    with pytest.raises(RunError, match=message), open_search(tmp_path, {**ASKED, **other}):
        pass


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.toml").touch()
    with (
        pytest.raises(RunError, match=r"holds config.toml, and no search"),
        open_search(tmp_path, ASKED),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


def test_a_folder_that_another_search_works_in_is_refused(tmp_path: Path) -> None:
    with (
        open_search(tmp_path, ASKED),
        pytest.raises(RunError, match="another process"),
        open_search(tmp_path, ASKED),
    ):
        pass


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="is not a folder"), open_search(tmp_path / "file", ASKED):
        pass


def test_a_damaged_description_is_reported(tmp_path: Path) -> None:
    (tmp_path / SEARCH).write_text("{")
    with pytest.raises(RunError, match="cannot be read"), open_search(tmp_path, ASKED):
        pass
