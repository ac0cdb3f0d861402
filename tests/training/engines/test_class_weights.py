from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from nodewise.data.splits.split import Split
from nodewise.training.engines.class_weights import class_weights
from tests.training.tasks import small_task


def test_balanced_classes_count_the_same_and_validation_is_not_weighted() -> None:
    y = torch.tensor([0, 0, 0, 2])
    assert class_weights(y, 4).tolist() == pytest.approx([4 / 6, 0, 2, 0])
    for settings in ({}, {"consistency": 0.1}):
        plain = small_task("GCN", lambda_global=0.0, input_dropout=0.0, **settings)
        weighted = small_task(
            "GCN", lambda_global=0.0, input_dropout=0.0, class_weight="balanced", **settings
        )
        few = Split(plain.split.train[[0, 1, 2, 3, 5, 10]], plain.split.val, plain.split.test)
        torch.manual_seed(0)
        engines = [replace(task, split=few).engine() for task in (plain, weighted)]
        engines[1].model.load_state_dict(engines[0].model.state_dict())
        nodes = torch.from_numpy(few.train.copy())
        logits, y = engines[1].logits()[nodes], plain.data.y[nodes]
        each = cross_entropy(logits, y, reduction="none")
        of_classes = [each[y == k].mean() for k in y.unique()]
        assert engines[1].validate().loss == engines[0].validate().loss
        found = engines[1].step().cross_entropy
        torch.testing.assert_close(found, torch.stack(of_classes).mean())
