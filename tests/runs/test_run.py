from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodewise.data.fingerprints import logits_sha256
from nodewise.models.layerwise import Layerwise
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from tests.training.tasks import small_graph, small_task


def test_calibrated_probabilities_come_back_from_files(tmp_path: Path) -> None:
    settings = {"epochs": 5, "learning_rate": 0.1}
    plain = train_in(tmp_path / "plain", small_task("GCN", **settings), 0)
    record = train_in(tmp_path / "cal", small_task("GCN", **settings, calibration="temperature"), 0)
    assert record["val_log_loss"] < plain["val_log_loss"] and "temperature" not in plain
    assert record["test_accuracy"] == plain["test_accuracy"]
    logits = load_run(tmp_path / "cal").logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"] != plain["logits_sha256"]


def test_the_nodes_that_are_computed_at_the_end_are_counted_and_keep_to_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets, seen = [], []
    within = Layerwise.__init__

    def watched(self: Layerwise, model: Any, x: Any, graph: Any, memory: int, *rest: Any) -> None:
        budgets.append(memory)
        within(self, model, x, graph, memory, *rest)

    monkeypatch.setattr(Layerwise, "__init__", watched)
    task = small_task("LGCN", engine="minibatch", memory="2kB", epochs=1)
    train_in(tmp_path / "run", task, 0, Callbacks(nodes=lambda *counts: seen.append(counts)))
    assert set(budgets) == {2000} and len(budgets) == 2  # scores, and the page's figures
    done, total = seen[-1]
    assert done == total and len(seen) > 2
