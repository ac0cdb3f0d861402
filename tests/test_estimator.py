from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from nodewise import NodeClassifier, read_graph
from nodewise.data.drawn_splits import random_split
from nodewise.errors import GraphError, RecipeError, RunError, SplitError
from tests.training.tasks import small_graph

QUICK = {"epochs": 15, "hidden_channels": 4}


@pytest.fixture
def data() -> Data:
    data = small_graph()
    return random_split(data.y, per_class=5, val=20, test=None, seed=0).apply(data)


class Sage(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = SAGEConv(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv(x, edge_index)  # type: ignore[no-any-return]


def test_fit_predict_score(data: Data) -> None:
    clf = NodeClassifier("LGCN", random_state=0, settings=QUICK).fit(data)
    probabilities = clf.predict_proba(data)
    assert probabilities.shape == (60, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    assert (clf.predict(data) == probabilities.argmax(1)).all()
    right = clf.predict(data) == data.y.numpy()
    assert clf.score(data) == right[data.test_mask.numpy()].mean() == clf.result_["test_accuracy"]
    assert clf.score(data, index=[1, 2]) == right[[1, 2]].mean()
    assert len(clf.history_) == 15
    assert clf.n_features_in_ == 7


def test_predictions_are_in_the_graphs_own_names(data: Data) -> None:
    data.class_names = ["ant", "bee", "cat"]
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK).fit(data)
    assert clf.classes_.tolist() == ["ant", "bee", "cat"]
    assert set(clf.predict(data)) <= {"ant", "bee", "cat"}


def test_a_seed_makes_it_repeatable_and_clone_forgets_what_was_learned(data: Data) -> None:
    clf = NodeClassifier("LGCN", random_state=3, settings=QUICK).fit(data)
    again = clone(clf)
    assert again.get_params() == clf.get_params()
    with pytest.raises(NotFittedError):
        again.predict(data)
    assert (again.fit(data).predict_proba(data) == clf.predict_proba(data)).all()
    other = clone(clf).set_params(random_state=4).fit(data)
    assert not (other.predict_proba(data) == clf.predict_proba(data)).all()


@pytest.mark.parametrize("model", ["LGCN", Sage])
def test_saved_and_loaded_it_says_the_same(tmp_path: Path, data: Data, model: object) -> None:
    clf = NodeClassifier(model, random_state=0, settings=QUICK).fit(data)  # type: ignore[arg-type]
    clf.save(tmp_path / "clf")
    factory = None if isinstance(model, str) else Sage
    loaded = NodeClassifier.load(tmp_path / "clf", factory)
    assert (loaded.predict_proba(data) == clf.predict_proba(data)).all()
    assert loaded.history_ == clf.history_
    clf.save(tmp_path / "clf")
    assert NodeClassifier.load(tmp_path / "clf", factory).history_ == clf.history_
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert (clone(loaded).fit(data).predict_proba(data) == clf.predict_proba(data)).all()


def test_a_model_of_ones_own_needs_its_factory_to_come_back(tmp_path: Path, data: Data) -> None:
    NodeClassifier(Sage, random_state=0, settings=QUICK).fit(data).save(tmp_path / "clf")
    with pytest.raises(RunError, match="Sage"):
        NodeClassifier.load(tmp_path / "clf")


def test_indices_instead_of_masks(data: Data) -> None:
    train, val = data.train_mask.nonzero().view(-1), data.val_mask.nonzero().view(-1)
    bare = small_graph()
    by_mask = NodeClassifier("GCN", random_state=0, settings=QUICK).fit(data)
    by_index = clone(by_mask).fit(bare, train_index=train, val_index=val.tolist())
    assert (by_mask.predict_proba(data) == by_index.predict_proba(bare)).all()


def test_without_validation_nodes_some_training_nodes_are_held_out(data: Data) -> None:
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK)
    clf.fit(small_graph(), train_index=data.train_mask)
    assert clf.result_["val_accuracy"] >= 0
    assert "test_accuracy" not in clf.result_


def test_bad_input_is_refused(data: Data) -> None:
    clf = NodeClassifier("GCN", settings=QUICK)
    with pytest.raises(SplitError, match="train_index"):
        clf.fit(small_graph())
    holes = small_graph()
    holes.y[0] = -1
    with pytest.raises(SplitError):
        clf.fit(holes, train_index=[0, 1, 2, 3])
    broken = data.clone()
    broken.x[0, 0] = torch.nan
    with pytest.raises(GraphError, match="finite"):
        clf.fit(broken)
    with pytest.raises(RecipeError, match="hidden_channels"):
        NodeClassifier("GCN", settings={"hidden_chanels": 3}).fit(data)
    fitted = clf.fit(data)
    broken.x = torch.ones(60, 3)
    with pytest.raises(GraphError, match="trained on 7 features"):
        fitted.predict(broken)


def test_what_is_no_graph_and_what_cannot_be_scored_is_told(data: Data) -> None:
    table = read_graph(edges=pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]}))
    with pytest.raises(GraphError, match=r"no graph of PyTorch Geometric.*GraphTable.*\.data"):
        NodeClassifier("GCN").fit(table)
    trained = NodeClassifier("GCN", settings={"epochs": 2}, random_state=0).fit(data)
    bare = Data(x=data.x, edge_index=data.edge_index, y=data.y)
    with pytest.raises(SplitError, match=r"test_mask.*score\(data, index\)"):
        trained.score(bare)


def test_a_recipe_can_be_chosen_on_validation_nodes(tmp_path: Path, data: Data) -> None:
    clf = NodeClassifier(recipe="auto", random_state=0, settings=QUICK).fit(data)
    assert clf.choice_ is not None
    best = max(one["val_accuracy"] for one in clf.choice_["candidates"])
    assert clf.result_["val_accuracy"] == best
    assert clf.result_["model"] == clf.choice_["model"]
    assert "localization" in clf.choice_["sentence"]
    clf.save(tmp_path / "clf")
    loaded = NodeClassifier.load(tmp_path / "clf")
    assert (loaded.predict_proba(data) == clf.predict_proba(data)).all()
    again = clone(loaded).fit(data)
    assert (again.predict_proba(data) == clf.predict_proba(data)).all()


def test_a_given_model_is_kept_and_one_of_ones_own_is_refused(data: Data) -> None:
    clf = NodeClassifier("LGIN", recipe="auto", random_state=0, settings=QUICK).fit(data)
    assert clf.result_["model"] == "LGIN"
    with pytest.raises(RecipeError, match="models of the zoo"):
        NodeClassifier(Sage, recipe="auto").fit(data)


def test_without_a_model_it_is_lgcn(data: Data) -> None:
    assert NodeClassifier(random_state=0, settings=QUICK).fit(data).result_["model"] == "LGCN"
