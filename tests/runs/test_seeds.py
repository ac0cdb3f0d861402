from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from nodewise.io import unsealed
from nodewise.runs.run import Callbacks
from nodewise.runs.seeds import summarize, train_seeds
from tests.training.tasks import small_task


def test_a_summary_has_means_deviations_and_all_records(tmp_path: Path) -> None:
    records = train_seeds(tmp_path, small_task(), range(3), lambda seed: Callbacks())
    summary = unsealed(json.loads((tmp_path / "summary.json").read_text()))
    assert summary == summarize(records) and summary["runs"] == records
    accuracies = torch.tensor([record["test_accuracy"] for record in records])
    assert summary["test_accuracy_mean"] == pytest.approx(accuracies.mean().item())
    low, high = summary["intervals"]["test_accuracy"]
    lows, highs = zip(*(record["intervals"]["test_accuracy"] for record in records), strict=True)
    assert (low, high) == pytest.approx((sum(lows) / 3, sum(highs) / 3))
    assert summary["test_accuracy_std"] == pytest.approx(accuracies.std().item())


def test_an_interrupt_ends_all_runs_without_a_summary(tmp_path: Path) -> None:
    records = train_seeds(
        tmp_path, small_task(), range(3), lambda seed: Callbacks(stop=lambda: seed)
    )
    assert [record["interrupted"] for record in records] == [False, True]
    assert not (tmp_path / "summary.json").exists()
