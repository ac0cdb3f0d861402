from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.errors import InputError, UnknownNameError
from nodewise.runs.tracking import make_tracker

LINES = [{"epoch": 0, "cross_entropy": 2.0}, {"epoch": 1, "cross_entropy": 1.5}]


def test_tensorboard_gets_every_number(tmp_path: Path) -> None:
    if find_spec("tensorboard") is None:
        pytest.skip("tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tracker = make_tracker("tensorboard", tmp_path, 3)
    for line in LINES:
        tracker.log(line)
    tracker.close()
    events = EventAccumulator(str(tmp_path / "tensorboard" / "seed-3"))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("cross_entropy")]
    assert found == [(0, 2.0), (1, 1.5)]


def test_mlflow_gets_every_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[Any] = []
    stand_in = SimpleNamespace(
        start_run=lambda run_name: calls.append(run_name) or "run",
        log_metrics=lambda numbers, step: calls.append((step, numbers)),
        end_run=lambda: calls.append("end"),
    )
    monkeypatch.setitem(sys.modules, "mlflow", stand_in)  # type: ignore[arg-type]
    tracker = make_tracker("mlflow", tmp_path / "mine", 3)
    for line in LINES:
        tracker.log(line)
    tracker.close()
    steps = [(line["epoch"], {"cross_entropy": line["cross_entropy"]}) for line in LINES]
    assert calls == ["mine/seed-3", *steps, "end"]


def test_an_absent_package_and_an_unknown_name_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match="pip install mlflow"):
        make_tracker("mlflow", tmp_path, 0)
    with pytest.raises(UnknownNameError, match="tensorboard"):
        make_tracker("tensorbord", tmp_path, 0)
    assert list(tmp_path.iterdir()) == []
