"""Blocks of a few rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.data.streaming.budget import Budget


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blocks of a few rows, so that every small table has many."""
    monkeypatch.setattr(Budget, "block", 700)
    monkeypatch.setattr(Budget, "rows", 37)
    monkeypatch.setattr(Budget, "entries", 150)
    monkeypatch.setattr(Budget, "rows_of", lambda self, width: 13)
    monkeypatch.chdir(tmp_path)
