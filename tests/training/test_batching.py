from __future__ import annotations

from typing import Any

import pytest

from nodewise.errors import InputError, RecipeError
from nodewise.training.batching import Batching
from nodewise.training.recipe import Recipe, load_recipe


@pytest.mark.parametrize(
    ("given", "expected"), [("10", [10, 10]), ("10,5", [10, 5]), ("-1", [-1, -1]), ("3, 4", [3, 4])]
)
def test_fanouts(given: str, expected: list[int]) -> None:
    assert Batching(fanout=given).fanouts(2) == expected


@pytest.mark.parametrize("given", ["", "0", "a", "3,", "-2", "1.5"])
def test_what_is_no_fanout_is_an_error(given: str) -> None:
    with pytest.raises(InputError, match="fanout"):
        Batching(fanout=given)


def test_as_many_fanouts_as_layers() -> None:
    with pytest.raises(InputError, match="3 numbers, and the model has 2 layers"):
        Batching(fanout="1,2,3").fanouts(2)


def test_a_budget_is_a_size() -> None:
    assert Batching(memory="2GB").budget == 2 * 10**9 and Batching().budget is None
    with pytest.raises(InputError, match="memory: is not a size"):
        Batching(memory="much")


@pytest.mark.parametrize(("given", "text"), [(5, "5"), ([5, 3], "5,3"), ("5,3", "5,3")])
def test_recipes_write_fanouts_as_numbers_lists_or_texts(given: Any, text: str) -> None:
    recipe = load_recipe("nodewise", "LGCN", None, {"fanout": given})
    assert recipe.batching.fanout == text and recipe.settings["fanout"] == text


def test_settings_name_batches_only_where_they_are_not_the_default() -> None:
    """Records of older releases have no such keys."""
    usual = load_recipe("nodewise", "LGCN")
    keys = {"engine", "memory", "fanout", "batch_size"}
    assert not keys & usual.settings.keys() and keys <= usual.every_setting.keys()
    other = load_recipe("nodewise", "LGCN", None, {"engine": "minibatch", "batch_size": 64})
    assert other.settings == {**usual.settings, "engine": "minibatch", "batch_size": 64}
    assert Recipe.from_settings("again", other.settings).batching == other.batching


@pytest.mark.parametrize("settings", [{"batch_size": 0}, {"engine": "half"}, {"fanout": [True]}])
def test_wrong_values_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(settings))):
        load_recipe("nodewise", "LGCN", None, settings)
