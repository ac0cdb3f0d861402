"""What a run's files may hold: each wrong value is named by its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from nodewise.checked import Mismatch
from nodewise.runs.formats import (
    check_checkpoint,
    check_controls,
    check_diagnostics,
    check_line,
    check_result,
)
from nodewise.training.curves import POINTS

RESULT = {
    "dataset": None,
    "model": "LGCN",
    "recipe": "nodewise",
    "seed": 0,
    "epochs": 3,
    "best_epoch": -1,
    "seconds": 0.5,
    "parameters": 10,
    "settings": {"epochs": 3},
    "test_accuracy": 0.5,
    "val_log_loss": 2.5,
    "intervals": {"test_accuracy": [0.4, 0.6]},
    "of_a_later_release": "kept",
}
CONTROLS = {
    "majority": {"class": "a", "test_accuracy": 0.5},
    "features_only": {"skipped": "takes long"},
}
LINE = {"epoch": 0, "loss": 1.5, "val_accuracy": 0.5, "val_loss": 1.0}
BEST = {key: "1" for key in ("epoch", "waited")} | {
    key: "-inf" for key in ("accuracy", "loss", "epoch_accuracy", "epoch_loss")
}
CHECKPOINT = {
    "epoch": 4,
    "seconds": 1.0,
    "best": BEST,
    "random": {"python": [3, [1, 2], None], "numpy": ["MT19937", [1, 2], 0, 0, 0.0]},
}
BIN = {"count": 1, "confidence": 0.5, "right": 1}
DIAGNOSTICS: dict[str, Any] = {
    "part": "test",
    "classes": ["a", "b"],
    "confusion": [[1, 0], [0, 1]],
    "reliability": [BIN] * 10,
    "curves": {
        "classes": [
            {"class": 1, "share": 0.5, "average_precision": 0.5, "precision": [0.5] * POINTS}
        ],
        "roc": {"class": 0, "true_shares": [0.5] * (POINTS + 1)},
    },
    "unlabeled": {"count": 1, "ids": ["x"], "first": [1], "first_p": [0.75]},
}


@pytest.mark.parametrize(
    ("check", "content"),
    [
        (check_result, RESULT),
        (check_controls, CONTROLS),
        (check_line, LINE),
        (check_checkpoint, CHECKPOINT),
        (check_diagnostics, DIAGNOSTICS),
    ],
)
def test_sound_files_are_passed_on_with_keys_of_later_releases(
    check: Callable[[object], Any], content: dict[str, Any]
) -> None:
    assert json.loads(json.dumps(check(deepcopy(content)))) == content


def changed(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The content with another value at one place."""
    found = deepcopy(content)
    *above, last = path
    inner: Any = found
    for key in above:
        inner = inner[key]
    inner[last] = value
    return found


@pytest.mark.parametrize(
    ("check", "content", "path", "value", "place"),
    [
        (check_result, RESULT, ("seed",), -1, "seed"),
        (check_result, RESULT, ("seconds",), float("nan"), "seconds"),
        (check_result, RESULT, ("test_accuracy",), 1.5, "test_accuracy"),
        (check_result, RESULT, ("val_log_loss",), -0.5, "val_log_loss"),
        (check_result, RESULT, ("intervals", "test_accuracy"), [0.5], "intervals.test_accuracy"),
        (check_controls, CONTROLS, ("majority", "test_accuracy"), 2, "majority.test_accuracy"),
        (check_controls, CONTROLS, ("majority", "class"), 3, "majority"),
        (check_line, LINE, ("loss",), "1.5", "loss"),
        (check_checkpoint, CHECKPOINT, ("best", "epoch"), "1.5", "best.epoch"),
        (check_checkpoint, CHECKPOINT, ("best", "loss"), "low", "best.loss"),
        (check_checkpoint, CHECKPOINT, ("random", "python", 0), 2, "random.python"),
        (check_diagnostics, DIAGNOSTICS, ("confusion",), [[1, 0]], "confusion"),
        (check_diagnostics, DIAGNOSTICS, ("reliability",), [BIN] * 9, "reliability"),
        (check_diagnostics, DIAGNOSTICS, ("reliability",), [{**BIN, "count": 0}] * 10, "reliab"),
        (check_diagnostics, DIAGNOSTICS, ("curves", "classes", 0, "class"), 2, "curves.classes"),
        (check_diagnostics, DIAGNOSTICS, ("curves", "roc", "true_shares"), [1], "true_shares"),
        (check_diagnostics, DIAGNOSTICS, ("unlabeled", "first"), [2], "unlabeled.first"),
        (check_diagnostics, DIAGNOSTICS, ("unlabeled", "ids"), ["x", "y"], "unlabeled.first"),
        (check_diagnostics, DIAGNOSTICS, ("unlabeled", "second"), [0], "unlabeled.second_p"),
    ],
)
def test_the_place_of_a_wrong_value_is_named(
    check: Callable[[object], Any],
    content: dict[str, Any],
    path: tuple[Any, ...],
    value: Any,
    place: str,
) -> None:
    with pytest.raises(Mismatch, match=place):
        check(changed(content, path, value))


def test_a_line_with_an_accuracy_needs_its_loss() -> None:
    with pytest.raises(Mismatch, match="val_loss"):
        check_line({key: value for key, value in LINE.items() if key != "val_loss"})
