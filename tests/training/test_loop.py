from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nodewise.errors import DivergedError
from nodewise.io import load_tensors
from nodewise.ops.fused import threads
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Callbacks, train, train_in
from nodewise.runs.task import Task
from nodewise.training.early_stopping import StoppingRule
from nodewise.training.engines.base import Loss
from nodewise.training.engines.field import FieldEngine
from nodewise.training.engines.full_graph import FullGraphEngine
from nodewise.training.loop import NullKeeper, fit
from nodewise.training.metrics import record_score
from tests.training.tasks import small_task


def weights_of(task: Task, threads: int) -> dict[str, Tensor]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return train(task, 1)[0].model.state_dict()
    finally:
        torch.set_num_threads(before)


def same_bits(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


@pytest.mark.parametrize("model", ["LGCN", "LGAT", "LGIN", "LGCN:global", "GCN"])
def test_same_seed_same_bits_on_repeats_and_threads(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads share even the smallest work here."""
    on_all_threads, shared = threads._on_all_threads, []
    count = lambda job, parts: (shared.append(parts), on_all_threads(job, parts))  # noqa: E731
    monkeypatch.setattr(threads, "_on_all_threads", count)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 0)
    first = weights_of(small_task(model), 1)
    assert same_bits(first, weights_of(small_task(model), 1)) and not shared
    assert same_bits(first, weights_of(small_task(model), 2)) and set(shared) == {2}
    assert not same_bits(first, train(small_task(model), 2)[0].model.state_dict())


@pytest.mark.parametrize("model", ["LGCN", "LGAT", "GCN"])
@pytest.mark.parametrize("cut", [1, 5, 11])
def test_stopping_and_going_on_changes_no_bit(tmp_path: Path, model: str, cut: int) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = train_in(whole, small_task(model), 0)
    seen: list[int] = []
    callbacks = Callbacks(lambda line: seen.append(line["epoch"]), lambda: len(seen) == cut)
    assert train_in(parts, small_task(model), 0, callbacks)["interrupted"]
    record = train_in(parts, small_task(model), 0)
    assert seen == list(range(cut))
    assert record["logits_sha256"] == expected["logits_sha256"]
    assert record["best_epoch"] == expected["best_epoch"]
    for name in ("history.jsonl", "model.safetensors"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name


def test_the_callers_random_state_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(small_task(), 0)
    assert torch.equal(torch.rand(3), expected)


def test_no_validation_before_the_start_and_the_best_weights_at_the_end() -> None:
    task, lines = small_task(start_record_epoch=4, epochs=9), []
    engine, record, _ = train(task, 0, callbacks=Callbacks(lines.append))
    assert [line["epoch"] for line in lines if "val_accuracy" in line] == [5, 6, 7, 8]
    best = next(line for line in lines if line["epoch"] == record["best_epoch"])
    assert engine.validate()[1] == best["val_accuracy"] == record["val_accuracy"]


@pytest.mark.parametrize("metric", ["roc_auc", "macro_f", "log_loss"])
def test_the_best_epoch_is_that_of_the_metric(metric: str) -> None:
    task = small_task("GCN", "nodewise", metric=metric, start_record_epoch=-1)
    lines: list[dict[str, Any]] = []
    engine, record, _ = train(task, 0, callbacks=Callbacks(lines.append))
    best = max(lines, key=lambda line: (line["val_score"], -line["val_loss"]))
    assert best["epoch"] == record["best_epoch"]
    assert record_score(record) == pytest.approx(best["val_score"], rel=1e-6)
    assert engine.validate().accuracy == best["val_accuracy"] == record["val_accuracy"]
    assert len({line["val_score"] for line in lines}) > 1


def test_a_history_by_accuracy_has_no_second_score() -> None:
    lines: list[dict[str, Any]] = []
    train(small_task(), 0, callbacks=Callbacks(lines.append))
    assert "val_accuracy" in lines[-1] and "val_score" not in lines[-1]


def test_stopping_and_going_on_keeps_the_best_score(tmp_path: Path) -> None:
    settings = {"metric": "roc_auc", "epochs": 12}
    expected = train_in(tmp_path / "whole", small_task("GCN", **settings), 0)
    seen: list[int] = []
    callbacks = Callbacks(lambda line: seen.append(line["epoch"]), lambda: len(seen) == 8)
    assert train_in(tmp_path / "parts", small_task("GCN", **settings), 0, callbacks)["interrupted"]
    assert (
        train_in(tmp_path / "parts", small_task("GCN", **settings), 0)["logits_sha256"]
        == (expected["logits_sha256"])
    )


def test_the_penalized_loss_contains_the_penalties() -> None:
    losses = {}
    for kind in ("penalized", "plain"):
        lines: list[dict[str, Any]] = []
        train(small_task(stopping_loss=kind), 0, callbacks=Callbacks(lines.append))
        losses[kind] = lines[-1]["val_loss"]
    assert losses["penalized"] > losses["plain"] + 1


def test_a_loss_that_is_not_finite_names_epoch_and_term(tmp_path: Path) -> None:
    task, count = small_task(), 0

    class Breaking(FieldEngine):
        def step(self) -> Loss:
            nonlocal count
            count += 1
            loss = super().step()
            return loss._replace(modulations=loss.modulations / (0 if count == 6 else 1))

    model = task.engine().model
    folder = RunFolder(tmp_path)
    with pytest.raises(DivergedError, match=r"epoch 5: the training loss .* modulations is inf"):
        fit(
            Breaking(model, task.graph, task.recipe),  # type: ignore[arg-type]
            task.recipe.stopping,
            folder,
            checkpoint_seconds=0,
        )
    _, about = load_tensors(tmp_path / "checkpoint" / "last.safetensors")
    assert about["epoch"] == 5


def test_weights_that_are_not_finite_never_reach_a_checkpoint(tmp_path: Path) -> None:
    task = small_task()
    engine = task.engine()

    def poison(line: dict[str, Any]) -> None:
        if line["epoch"] == 3:
            next(engine.model.parameters()).data.fill_(float("nan"))

    with pytest.raises(DivergedError, match="a weight is not finite"):
        fit(engine, task.recipe.stopping, RunFolder(tmp_path), poison, checkpoint_seconds=0)
    tensors, _ = load_tensors(tmp_path / "checkpoint" / "last.safetensors")
    assert all(t.isfinite().all() for name, t in tensors.items() if name.startswith("model/"))


def test_patience_ends_it() -> None:
    rule = StoppingRule(epochs=500, patience=2, keep="accuracy")
    progress = fit(small_task().engine(), rule, NullKeeper())
    assert progress.epoch == progress.best.epoch + 1 + 2 < 500


def test_receptive_fields_and_the_full_graph_learn_the_same() -> None:
    task = small_task("GCN", input_dropout=0.0, lambda_local=0.0, lambda_modulation=0.0)
    fields, full = (
        kind(task.engine().model, task.graph, task.recipe)  # type: ignore[arg-type]
        for kind in (FieldEngine, FullGraphEngine)
    )
    full.model.load_state_dict(fields.model.state_dict())
    for _ in range(5):
        one, other = fields.step(), full.step()
        torch.testing.assert_close(one.cross_entropy, other.cross_entropy)
    assert fields.validate()[1] == full.validate()[1]


def test_history_has_a_line_for_every_epoch(tmp_path: Path) -> None:
    train_in(tmp_path, small_task(), 0)
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == list(range(12))
