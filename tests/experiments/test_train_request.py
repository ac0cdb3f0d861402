from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch.nn import Linear, Module

from nodewise.errors import InputError, RecipeError, UnknownNameError
from nodewise.experiments.train_request import AutoOptions, TrainRequest
from nodewise.runs.task import Task
from nodewise.training.recipe import Recipe, load_recipe
from tests.training.tasks import small_graph, small_task

AUTO = TrainRequest(None, "auto", {"hidden_channels": 4}, seed=3)


def build(features: int, classes: int) -> Module:
    return Linear(features, classes)


def make(model: str, recipe: Recipe) -> Task:
    return replace(small_task(), model=model, recipe=recipe)


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (TrainRequest(None, "nodewise"), "LGCN"),
        (TrainRequest("GCN", "nodewise"), "GCN"),
        (TrainRequest(build, "nodewise"), f"{__name__}.build"),
        (AUTO, None),
        (TrainRequest("GCN", "auto"), "GCN"),
    ],
)
def test_the_model_has_a_name_unless_it_is_chosen(request_: TrainRequest, name: str) -> None:
    assert request_.model_name == name


def test_wrong_requests_are_refused_before_there_is_a_graph() -> None:
    with pytest.raises(UnknownNameError, match="official"):
        TrainRequest("GCN", "offical")
    with pytest.raises(RecipeError, match="'auto' is for models of the zoo"):
        TrainRequest(build, "auto")
    with pytest.raises(InputError, match="is not a time"):
        AutoOptions("soon")
    with pytest.raises(RecipeError, match="hidden_channels"):
        TrainRequest("GCN", "nodewise", {"hiden_channels": 4}).recipes()
    with pytest.raises(UnknownNameError, match="did you mean 'LGCN'"):
        TrainRequest("LGNC", "auto").recipes()


@pytest.mark.parametrize("request_", [TrainRequest("GCN", "nodewise"), AUTO])
def test_keys_of_the_graph_are_defaults(request_: TrainRequest) -> None:
    def metrics(request: TrainRequest) -> set[str]:
        return {recipe.stopping.metric for recipe in request.recipes({"metric": "macro_f"})}

    assert metrics(request_) == {"macro_f"}
    assert metrics(replace(request_, settings={"metric": "roc_auc"})) == {"roc_auc"}


def test_a_recipe_object_is_taken_as_it_is() -> None:
    recipe = load_recipe("official", "GCN", "cora")
    task = TrainRequest("GCN", recipe, {"epochs": 7}).task(make)
    assert task.model == "GCN" and task.recipe.name == "official"
    assert task.recipe.settings == {**recipe.settings, "epochs": 7}


def test_a_selection_has_the_keys_the_seed_and_the_budget(tmp_path: Path) -> None:
    auto = AutoOptions("2m", workers=3, refit=False)
    request = replace(AUTO, auto=auto)
    of_graph = {"metric": "macro_f", "hidden_channels": 9}
    selection = request.selection(make, small_graph(), tmp_path, of_graph)
    assert selection.fixed == {"metric": "macro_f", "hidden_channels": 4}
    expected: tuple[Any, ...] = (3, 120.0, 3, False, tmp_path)
    about = (selection.seed, selection.budget, selection.workers, selection.refit)
    assert (*about, selection.folder) == expected


def test_a_large_graph_has_all_cores_for_one_candidate() -> None:
    assert AutoOptions().workers_for(10_000_000) == 1
    assert AutoOptions().workers_for(1000) >= 1
    assert AutoOptions(workers=2).workers_for(10_000_000) == 2
