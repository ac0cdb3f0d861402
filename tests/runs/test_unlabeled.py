from __future__ import annotations

import numpy as np
import pytest

from nodewise.runs import unlabeled
from nodewise.runs.unlabeled import unlabeled_predictions

LABELS = np.array([-1, 0, -1, -1, 2])
ROWS = np.array([[0.5, 0.3, 0.2], [1, 0, 0], [0.123456, 0.8, 0.076544], [0.3, 0.1, 0.6], [0, 0, 1]])
IDS = ["p0", "p1", ("p", 2), 3, "p4"]


def test_the_surest_predictions_come_first_with_the_next_class() -> None:
    assert unlabeled_predictions(LABELS, ROWS, IDS) == {
        "count": 3,
        "ids": ["('p', 2)", 3, "p0"],
        "first": [1, 2, 0],
        "first_p": [0.8, 0.6, 0.5],
        "second": [0, 0, 1],
        "second_p": [0.1235, 0.3, 0.3],
    }


def test_only_the_surest_are_kept_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlabeled, "MOST", 2)
    found = unlabeled_predictions(LABELS, ROWS, IDS)
    assert found is not None and (found["count"], found["first"]) == (3, [1, 2])


def test_there_are_none_where_all_nodes_have_labels_and_no_next_of_one_class() -> None:
    assert unlabeled_predictions(np.zeros(5, np.int64), ROWS, IDS) is None
    found = unlabeled_predictions(LABELS, np.ones((5, 1)), IDS)
    assert found is not None and "second" not in found and found["first_p"] == [1, 1, 1]
