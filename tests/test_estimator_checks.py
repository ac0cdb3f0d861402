"""scikit-learn's own checks of an estimator, on `NodeClassifier` bound to a graph.

The checks draw samples of several random features. Our samples are nodes, so that here each
distinct row of features stands for a node; everything else is the classifier as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.utils import Tags, check_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch_geometric.data import Data

from nodewise import NodeClassifier
from nodewise.bound_graph import BoundGraph

NODES = 3000
# What cannot apply, and why. docs/api.md has the same list in words.
EXPECTED_FAILURES = {
    "check_class_weight_classifiers": "classes have no single weights: all count the same, or none",
    "check_n_features_in": "a node number is one column, however many features nodes have",
    "check_n_features_in_after_fitting": "a node number is one column",
    "check_classifiers_train": "its last step wants an error for another number of columns",
    "check_estimators_overwrite_params": "joblib's hash of a graph is not that of its copy",
    "check_fit2d_1sample": "one node cannot be held out; the error says so in other words",
}


class RowGraph(BoundGraph):
    """Numbers the distinct rows of features from zero."""

    numbers: dict[bytes, int] = {}  # noqa: RUF012  # for all checks, since they clone and pickle

    def nodes(self, X: Any) -> NDArray[np.int64]:
        rows = check_array(X)
        return np.array([self.numbers.setdefault(row.tobytes(), len(self.numbers)) for row in rows])


class RowClassifier(NodeClassifier):
    """`NodeClassifier` with rows of features for nodes."""

    def _bound_to(self, X: Any) -> BoundGraph | None:
        return None if self.graph is None else RowGraph(self.graph)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.categorical = False
        # The rows are not features of the graph, so that a model cannot learn from them.
        tags.classifier_tags.poor_score = True
        return tags


def random_graph() -> Data:
    make = torch.Generator().manual_seed(0)
    x, y = torch.randn(NODES, 5, generator=make), torch.arange(NODES) % 3
    return Data(x=x, edge_index=torch.randint(NODES, (2, 9000), generator=make), y=y)


@pytest.mark.medium
@parametrize_with_checks(
    [RowClassifier("GCN", settings={"epochs": 3, "hidden_channels": 4}, graph=random_graph())],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    xfail_strict=True,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator: NodeClassifier, check: Any) -> None:
    check(estimator)
