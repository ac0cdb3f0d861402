"""Batches move to another device as a whole; `meta` stands for one that is not here."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from nodewise.training.engines.minibatch import MinibatchEngine
from nodewise.training.engines.transfer import moved
from tests.training.tasks import small_task


def tensors(item: Any) -> list[Tensor]:
    """All tensors in it, but cached ones."""
    if isinstance(item, Tensor):
        return [item]
    if isinstance(item, tuple):
        return [tensor for part in item for tensor in tensors(part)]
    if is_dataclass(item) and not isinstance(item, type):
        given = [getattr(item, field.name) for field in fields(item) if field.compare]
        return [tensor for part in given for tensor in tensors(part)]
    return []


def test_every_tensor_of_a_batch_is_moved_and_the_model_computes_there() -> None:
    for name in ("LGCN", "LGAT", "LGIN", "LSAGE"):
        engine = small_task(name, "nodewise", engine="minibatch", batch_size=6).engine()
        assert isinstance(engine, MinibatchEngine)
        batch = next(engine._batches("train", 0))
        there = moved(batch, torch.device("meta"))
        assert len(tensors(there)) == len(tensors(batch)) > 20
        assert {tensor.device.type for tensor in tensors(there)} == {"meta"}
        model = engine.model.to("meta")
        # On a device a model is there before its engine is made; here its weights are new ones.
        engine._penalized = [*model.global_parameters()], [*model.local_parameters()]
        loss, logits = engine._loss(there, "train", 1 / len(there.y))
        assert logits.device.type == "meta" and logits.shape == (len(batch.y), 3)
        loss.total.backward()  # type: ignore[no-untyped-call]
        gradients = [weight.grad for weight in model.parameters()]
        assert all(grad is not None and grad.device.type == "meta" for grad in gradients)


def test_what_is_there_already_is_not_copied() -> None:
    values = (torch.ones(2), 3, None)
    assert moved(values, torch.device("cpu"))[0] is values[0]
