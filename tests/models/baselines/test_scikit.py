from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from nodewise.errors import InputError
from nodewise.models.baselines.boosting import Boosting, NeighborBoosting
from nodewise.models.baselines.regression import Logistic
from nodewise.models.baselines.scikit import FitSpec, GraphArrays, Majority, ScikitModel
from nodewise.ops.sparse import Features, SparseRows

KINDS: list[Callable[[int, int, int], ScikitModel]] = [Logistic, Boosting, NeighborBoosting]
NODES = 120
Y = np.arange(NODES) % 3
TRAIN, VAL = np.arange(60), np.arange(60, 90)
RING = torch.stack([torch.arange(NODES), (torch.arange(NODES) + 3) % NODES])  # one class each


def accuracy(found: NDArray[np.float64]) -> tuple[float, ...]:
    return (float((found.argmax(1) == Y[VAL]).mean()),)


def spec(**changes: object) -> FitSpec:
    about = {"y": Y, "train": TRAIN, "val": VAL, "score": accuracy}
    return FitSpec(**{**about, **changes})  # type: ignore[arg-type]


def fitted(
    make: Callable[[int, int, int], ScikitModel], x: Features, of: FitSpec | None = None
) -> torch.Tensor:
    width = x.width if isinstance(x, SparseRows) else x.size(1)
    model = make(width, 3, NODES)
    model.fit(GraphArrays.of(x, RING), of or spec())
    return model(x)


def telling(width: int = 5) -> torch.Tensor:
    noise = torch.randn(NODES, width, generator=torch.Generator().manual_seed(0))
    noise[:, :3] += 8 * torch.eye(3)[torch.from_numpy(Y)]
    return noise


@pytest.mark.parametrize("make", KINDS)
def test_features_that_tell_the_class_are_learned(make: type[ScikitModel]) -> None:
    logits = fitted(make, telling())
    assert (logits.argmax(1).numpy() == Y).mean() > 0.95
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(NODES))


@pytest.mark.parametrize("make", KINDS)
def test_the_same_seed_gives_the_same_bits(make: type[ScikitModel]) -> None:
    one, other = (fitted(make, telling(320)) for _ in range(2))
    assert torch.equal(one, other)


@pytest.mark.parametrize("make", KINDS)
def test_sparse_features_are_those_that_dense_ones_are(make: type[ScikitModel]) -> None:
    x = telling() * (telling() > 1)
    torch.testing.assert_close(
        fitted(make, SparseRows.from_dense(x)), fitted(make, x), atol=0.2, rtol=0.1
    )


def test_only_neighbors_know_what_the_features_of_a_node_hide() -> None:
    x = telling()
    x[::2] = 0
    alone, beside = (fitted(make, x).argmax(1).numpy() for make in (Boosting, NeighborBoosting))
    assert (alone[90::2] == Y[90::2]).mean() < 0.6
    assert (beside[90:] == Y[90:]).mean() > 0.9


def test_many_columns_are_reduced() -> None:
    graph = GraphArrays.of(telling(400), RING)
    assert Boosting(400, 3, NODES).columns(graph, spec()).shape == (NODES, 64)
    assert NeighborBoosting(400, 3, NODES).columns(graph, spec()).shape == (NODES, 3 * 64 + 1)


def test_weights_of_edges_weigh_the_means() -> None:
    x = torch.tensor([[0.0], [1.0], [3.0]])
    edges = torch.tensor([[1, 2, 0], [0, 0, 1]])
    graph = GraphArrays.of(x, edges, torch.tensor([3.0, 1.0, 2.0]))
    columns = NeighborBoosting(1, 2, 3).columns(graph, spec())
    np.testing.assert_allclose(columns, [[0, 1.5, 0, 2], [1, 0, 1.5, 1], [3, 0, 0, 0]])


@pytest.mark.parametrize("make", KINDS)
def test_a_class_without_training_nodes_is_never_predicted(make: type[ScikitModel]) -> None:
    found = fitted(make, telling(), spec(train=TRAIN[Y[TRAIN] != 1]))
    assert not (found.argmax(1) == 1).any() and found.isfinite().all()


@pytest.mark.parametrize("make", [*KINDS, Majority])
@pytest.mark.parametrize("empty", [False, True])
def test_without_a_choice_it_is_the_shares_of_the_classes(
    make: type[ScikitModel], empty: bool
) -> None:
    few = spec() if empty else spec(train=TRAIN[:1])
    found = fitted(make, telling()[:, :0] if empty else telling(), few).exp()
    nodes = np.concatenate([few.train, few.val])
    shares = torch.from_numpy(np.bincount(Y[nodes]) / len(nodes)).float()
    torch.testing.assert_close(found, shares.expand(NODES, 3))


@pytest.mark.parametrize("make", KINDS)
def test_no_time_still_gives_an_answer(make: type[ScikitModel]) -> None:
    assert fitted(make, telling(), spec(seconds=0.0)).isfinite().all()


def test_balanced_classes_count_the_same() -> None:
    x = torch.randn(NODES, 2, generator=torch.Generator().manual_seed(1))
    rare = np.concatenate([TRAIN[Y[TRAIN] == 0], TRAIN[Y[TRAIN] > 0][:4]])
    mean = [fitted(Logistic, x, spec(train=rare, balanced=b)).exp()[:, 0].mean() for b in (0, 1)]
    assert mean[0] > 0.7 and mean[1] < 0.6


def test_another_graph_is_an_error() -> None:
    model = Majority(5, 3, NODES)
    with pytest.raises(InputError, match="120 nodes it was fitted on"):
        model(torch.zeros(4, 5))
