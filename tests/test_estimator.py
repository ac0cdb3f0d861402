from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from nodewise import NodeClassifier, estimator, read_graph
from nodewise.data.splits.drawn import random_split, stratified_split
from nodewise.errors import (
    GraphError,
    InputError,
    RecipeError,
    RunError,
    SplitError,
    UnknownNameError,
)
from nodewise.models.layerwise import unwatched
from nodewise.runs.progress import RunProgress
from nodewise.training.recipe import known_keys
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
def test_saved_and_loaded_it_predicts_the_same(tmp_path: Path, data: Data, model: object) -> None:
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


def test_a_graph_without_masks_is_split_as_tables_are(data: Data) -> None:
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK).fit(small_graph())
    split = stratified_split(small_graph().y)
    assert clf.result_["split_sha256"] == split.sha256()
    assert {"val_accuracy", "test_accuracy"} <= clf.result_.keys()


def test_bad_input_is_refused(data: Data) -> None:
    clf = NodeClassifier("GCN", settings=QUICK)
    with pytest.raises(SplitError, match="train_index"):
        clf.fit(small_graph(), val_index=[0, 1])
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


def test_what_is_no_graph_and_what_cannot_be_scored_is_refused(data: Data) -> None:
    table = read_graph(edges=pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]}))
    with pytest.raises(GraphError, match=r"not a graph of PyTorch Geometric.*GraphTable.*\.data"):
        NodeClassifier("GCN").fit(table)
    trained = NodeClassifier("GCN", settings={"epochs": 2}, random_state=0).fit(data)
    bare = Data(x=data.x, edge_index=data.edge_index, y=data.y)
    with pytest.raises(SplitError, match=r"test_mask.*score\(data, index="):
        trained.score(bare)


@pytest.mark.medium
def test_a_recipe_can_be_chosen_on_validation_nodes(tmp_path: Path, data: Data) -> None:
    clf = NodeClassifier(recipe="auto", random_state=0, settings=QUICK).fit(data)
    assert clf.choice_ is not None
    assert clf.result_["val_accuracy"] == clf.choice_["val_score"]
    assert clf.result_["model"] == clf.choice_["model"]
    assert clf.choice_["sentences"][0].startswith("Chosen: ")
    clf.save(tmp_path / "clf")
    loaded = NodeClassifier.load(tmp_path / "clf")
    assert (loaded.predict_proba(data) == clf.predict_proba(data)).all()
    again = clone(loaded).fit(data)
    assert (again.predict_proba(data) == clf.predict_proba(data)).all()


Bar = Callable[..., AbstractContextManager[Callable[..., None]]]


def pressing_ctrl_c(when: Callable[..., bool]) -> Bar:
    """In the place of a bar: presses Ctrl-C once, when what is shown says so."""

    @contextmanager
    def bar(*_: object, **__: object) -> Iterator[Callable[..., None]]:
        pressed = False

        def show(*shown: Any) -> None:
            nonlocal pressed
            if not pressed and when(*shown):
                pressed = True
                signal.raise_signal(signal.SIGINT)

        yield show

    return bar


def of_epochs(bar: Bar) -> Callable[..., AbstractContextManager[RunProgress]]:
    """Such a bar where those of epochs are."""

    @contextmanager
    def shown(*_: object, **__: object) -> Iterator[RunProgress]:
        with bar() as show:
            yield RunProgress(show, unwatched)

    return shown


@pytest.mark.parametrize("stage", ["candidate 1 of", "candidate 3 of"])
def test_ctrl_c_ends_choosing_and_the_best_model_so_far_is_kept(
    data: Data, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    bar = pressing_ctrl_c(lambda what, *_: stage in what)
    monkeypatch.setattr(estimator, "choosing_progress", bar)
    clf = NodeClassifier(recipe="auto", random_state=0, settings=QUICK).fit(data)
    choice = clf.choice_
    assert choice is not None and choice["stopped"]
    tried = [about for about in choice["candidates"] if about["epochs"]]
    assert len(tried) == int(stage.split()[1]) and clf.result_["model"] == choice["model"]
    untried = [about["outcome"] for about in choice["candidates"] if not about["epochs"]]
    assert set(untried) == {"not tried: choosing was stopped"}
    assert "refit_epochs" not in clf.result_
    assert clf.score(data) == clf.result_["test_accuracy"]


@pytest.mark.medium
def test_ctrl_c_while_the_chosen_model_is_trained_again_keeps_it_as_it_was_chosen(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = pressing_ctrl_c(lambda line: line["epoch"] == 3)
    monkeypatch.setattr(estimator, "epoch_progress", of_epochs(bar))
    clf = NodeClassifier("GCN", recipe="auto", random_state=0, settings=QUICK).fit(data)
    assert "refit_epochs" not in clf.result_
    assert clf.result_["val_accuracy"] == (clf.choice_ or {})["val_score"]
    assert clf.score(data) == clf.result_["test_accuracy"]


def test_ctrl_c_ends_training_at_the_best_epoch_so_far(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = pressing_ctrl_c(lambda line: line["epoch"] == 3)
    monkeypatch.setattr(estimator, "epoch_progress", of_epochs(bar))
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK).fit(data)
    assert len(clf.history_) == 4 and clf.score(data) == clf.result_["test_accuracy"]


@pytest.mark.parametrize("recipe", ["nodewise", "auto"])
def test_progress_is_shown_in_lines_where_there_is_no_terminal(
    data: Data, capsys: pytest.CaptureFixture[str], recipe: str
) -> None:
    quiet = NodeClassifier("GCN", recipe, random_state=0, settings=QUICK)
    quiet.fit(data)
    assert capsys.readouterr() == ("", "")
    clone(quiet).set_params(verbose=True).fit(data)
    shown = capsys.readouterr().out
    assert re.search(r"^GCN: epoch 15, loss .* epochs/s, about 0 s left$", shown, re.M)
    if recipe == "auto":
        assert re.search(r"^[a-z].*, epoch \d+, \d+ epochs/s, \d+ of 100 s$", shown, re.M)
        assert shown.splitlines()[-1] == (quiet.choice_ or {})["sentences"][-1]


def test_a_given_model_is_kept_and_one_of_ones_own_is_refused(data: Data) -> None:
    clf = NodeClassifier("LGIN", recipe="auto", random_state=0, settings=QUICK).fit(data)
    assert clf.result_["model"] == "LGIN"
    with pytest.raises(RecipeError, match="models of the zoo"):
        NodeClassifier(Sage, recipe="auto").fit(data)


def test_without_a_model_it_is_lgcn(data: Data) -> None:
    assert NodeClassifier(random_state=0, settings=QUICK).fit(data).result_["model"] == "LGCN"


def test_it_is_a_classifier() -> None:
    assert is_classifier(NodeClassifier())
    tags = NodeClassifier(graph=small_graph()).__sklearn_tags__()
    assert tags.estimator_type == "classifier" and tags.input_tags.one_d_array
    assert not NodeClassifier().__sklearn_tags__().input_tags.two_d_array


def test_every_generator_draws_a_seed(data: Data) -> None:
    for make in (np.random.RandomState, np.random.default_rng):
        seeds = []
        for seed in (1, 1, 2):
            clf = NodeClassifier("GCN", random_state=make(seed), settings={"epochs": 1})
            seeds.append(clf.fit(data).result_["seed"])
        assert seeds[0] == seeds[1] != seeds[2]
    random_state = np.random.RandomState(1)
    clf = NodeClassifier("GCN", random_state=random_state, settings={"epochs": 1})
    assert clf.fit(data).result_["seed"] != clf.fit(data).result_["seed"]
    for number in (7, np.int64(7)):
        clf = NodeClassifier("GCN", random_state=number, settings={"epochs": 1})
        assert clf.fit(data).result_["seed"] == 7
    with pytest.raises(InputError, match="random_state: cannot be used as a seed"):
        NodeClassifier("GCN", random_state="7").fit(data)  # type: ignore[arg-type]


def test_keys_of_the_recipe_are_parameters(data: Data) -> None:
    settings = {"epochs": 2}
    clf = NodeClassifier("GCN", random_state=0, settings=settings)
    assert clf.set_params(hidden_channels=4, verbose=False) is clf
    assert clf.settings == {"epochs": 2, "hidden_channels": 4} and settings == {"epochs": 2}
    assert clf.get_params()["hidden_channels"] == 4
    assert "hidden_channels" not in clf.get_params(deep=False)
    assert clone(clf).get_params() == clf.get_params()
    assert clf.fit(data).result_["settings"]["hidden_channels"] == 4
    with pytest.raises(UnknownNameError, match=r"parameter.*did you mean 'hidden_channels'"):
        clf.set_params(hidden_chanels=4)
    with pytest.raises(UnknownNameError, match="did you mean 'recipe'"):
        clf.set_params(recepe="paper")


def test_no_key_of_a_recipe_hides_a_parameter() -> None:
    both = NodeClassifier().get_params().keys() & known_keys().keys()
    assert both == {"metric", "class_weight"}  # which `fit` hands to the recipe


def test_bound_to_a_graph_samples_are_nodes(data: Data) -> None:
    X, y = np.arange(40), np.array(["ant", "bee", "cat"])[data.y.numpy()[:40]]
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK, graph=data).fit(X, y)
    assert clf.classes_.tolist() == ["ant", "bee", "cat"] and clf.n_features_in_ == 1
    nodes = np.array([50, 3, 3])
    probabilities = clf.predict_proba(nodes)
    assert probabilities.shape == (3, 3) and (probabilities[1] == probabilities[2]).all()
    assert (clf.predict(nodes[:, None]) == clf.classes_[probabilities.argmax(1)]).all()
    assert clf.score(X, y) == (clf.predict(X) == y).mean()
    weights = np.arange(40)
    expected = np.average(clf.predict(X) == y, weights=weights)
    assert clf.score(X, y, sample_weight=weights) == pytest.approx(expected)
    assert "train_mask" in data and "class_names" not in data


def test_labels_outside_of_x_are_not_learned_from(data: Data) -> None:
    other = data.clone()
    other.y[40:] = 0
    X, y = np.arange(40), data.y[:40]
    one, two = (
        NodeClassifier("LGCN", random_state=0, settings=QUICK, graph=graph).fit(X, y)
        for graph in (data, other)
    )
    assert (one.predict_proba(X) == two.predict_proba(X)).all()


def test_scikit_learn_tools_take_node_numbers(data: Data) -> None:
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK, graph=data)
    X, y = np.arange(60), data.y.numpy()
    assert cross_val_score(clf, X, y, cv=3, error_score="raise").shape == (3,)
    search = GridSearchCV(clf, {"lambda_global": [1e-4, 1.0]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["lambda_global"] in (1e-4, 1.0)
    assert search.best_estimator_.result_["settings"]["lambda_global"] in (1e-4, 1.0)
    pipeline = make_pipeline(FunctionTransformer(), clf).fit(X[:, None], y)
    assert (pipeline.predict(X[:, None]) == clone(clf).fit(X, y).predict(X)).all()
    assert pipeline.set_params(nodeclassifier__epochs=3)[-1].settings == {**QUICK, "epochs": 3}
    bag = BaggingClassifier(clf, n_estimators=2, random_state=0).fit(X[:, None], y)
    assert bag.predict(X[:, None]).shape == (60,)


def test_a_clone_shares_the_graph(data: Data) -> None:
    clf = NodeClassifier(settings={"epochs": 1}, graph=data)
    copied = clone(clf)
    assert copied.graph is data and copied.settings is not clf.settings


def test_a_bound_classifier_also_takes_a_graph(tmp_path: Path, data: Data) -> None:
    clf = NodeClassifier("GCN", random_state=0, settings=QUICK, graph=data).fit(data)
    unbound = NodeClassifier("GCN", random_state=0, settings=QUICK).fit(data)
    assert clf.n_features_in_ == 7
    assert (clf.predict_proba(data) == unbound.predict_proba(data)).all()
    nodes = data.test_mask.nonzero().view(-1)
    assert clf.score(nodes) == clf.score(data)
    clf.save(tmp_path / "clf")
    loaded = NodeClassifier.load(tmp_path / "clf", graph=data)
    assert (loaded.predict(nodes) == clf.predict(data)[nodes.numpy()]).all()


@pytest.mark.medium
def test_a_recipe_can_be_chosen_for_nodes(data: Data) -> None:
    clf = NodeClassifier(recipe="auto", random_state=0, settings=QUICK, graph=data)
    clf.fit(np.arange(60), np.where(data.y == 0, "x", "y"))
    assert clf.choice_ is not None and clf.classes_.tolist() == ["x", "y"]


@pytest.mark.parametrize("index", [[0.0, 1.5], [0, 60], [-1, 0], [[0, 1], [2, 3]], [True]])
def test_an_index_is_checked(data: Data, index: list[float]) -> None:
    clf = NodeClassifier("GCN", random_state=0, settings={"epochs": 1})
    with pytest.raises(InputError, match=r"train_index.*0 to 59"):
        clf.fit(data, train_index=index)
    with pytest.raises(InputError, match=r"val_index.*0 to 59"):
        clf.fit(data, val_index=index)
    with pytest.raises(InputError, match=r"index.*0 to 59"):
        clf.fit(data).score(data, index=index)


def test_nodes_without_labels_are_not_scored(data: Data) -> None:
    clf = NodeClassifier("GCN", random_state=0, settings={"epochs": 1}).fit(data)
    data.y[8] = -1
    with pytest.raises(InputError, match=r"index\[1\]: contains a node that has no label"):
        clf.score(data, index=[3, 8])
    with pytest.raises(InputError, match="index: selects no node"):
        clf.score(data, index=[])


def test_arguments_of_the_other_form_are_refused(data: Data) -> None:
    clf = NodeClassifier("GCN", settings={"epochs": 1}, graph=data)
    with pytest.raises(InputError, match=r"y: does not go with this X; .*train_index="):
        clf.fit(data, [0, 1])
    with pytest.raises(InputError, match="train_index: does not go with this X"):
        clf.fit([0, 1, 2, 3, 4, 5], train_index=[0, 1])
    clf.fit(data)
    with pytest.raises(InputError, match=r"y: does not go with this X; .*index="):
        clf.score(data, [0, 1])
    with pytest.raises(InputError, match="index: does not go with this X"):
        clf.score([0, 1], index=[0, 1])


def test_metric_and_class_weight_are_parameters(data: Data) -> None:
    clf = NodeClassifier(
        "GCN", random_state=0, settings=QUICK, metric="roc_auc", class_weight="balanced"
    )
    settings = clone(clf).fit(data).result_["settings"]
    assert (settings["metric"], settings["class_weight"]) == ("roc_auc", "balanced")
    assert "val_score" in clf.fit(data).history_[-1]
    with pytest.raises(RecipeError, match="roc_auc"):
        clf.set_params(metric="auc").fit(data)
