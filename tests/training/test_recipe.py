from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from nodewise.data.published.catalog import DATASETS
from nodewise.errors import RecipeError, UnknownNameError
from nodewise.experiments.suite import Suite
from nodewise.models.architecture import Architecture
from nodewise.models.zoo import ZOO
from nodewise.nn.penalty import Penalty
from nodewise.training.early_stopping import StoppingRule
from nodewise.training.recipe import (
    Optimization,
    Recipe,
    format_settings,
    load_recipe,
    parse_settings,
    recipe_names,
)

SEARCHED = Path(__file__).parents[2] / "results" / "search"


def test_no_two_groups_share_a_key() -> None:
    groups = (Architecture, Penalty, Optimization, StoppingRule)
    names = [field.name for group in groups for field in fields(group)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("recipe", ["nodewise", "official", "paper"])
@pytest.mark.parametrize("model", ZOO)
def test_every_recipe_serves_every_model_and_data_set(recipe: str, model: str) -> None:
    assert recipe in recipe_names()
    for dataset in (*DATASETS, None):
        made = load_recipe(recipe, model, dataset)
        assert Recipe.from_settings(made.name, made.settings) == made


def test_official_differs_by_model_and_data_set() -> None:
    cora = load_recipe("official", "LGCN", "cora")
    amazon = load_recipe("official", "LGCN", "amazon")
    assert (cora.architecture.context, cora.architecture.max_neighbors) == ("sum", 0)
    assert (amazon.architecture.context, amazon.architecture.max_neighbors) == ("mean", 40)
    assert (cora.optimization.features, amazon.optimization.features) == ("row-sum", "unit")
    citeseer = load_recipe("official", "LGAT", "citeseer")
    assert citeseer.architecture.attention_dropout == 0.7
    assert citeseer.penalty.lambda_modulation == 0.1
    assert load_recipe("official", "LGAT", "cora").stopping.epochs == 500


def test_a_matched_global_model_has_its_models_recipe() -> None:
    for name in ("LGCN", "LGAT", "LGIN"):
        for tag in ("global", "node", "edge"):
            same = load_recipe("official", f"{name}:{tag}", "cora")
            assert same == load_recipe("official", name, "cora")


def test_a_rows_width_is_stronger_than_a_recipe_and_the_caller_stronger_still() -> None:
    assert load_recipe("official", "GCN", "cora").architecture.hidden_channels == 8
    assert load_recipe("official", "GCN-64", "cora").architecture.hidden_channels == 64
    own = load_recipe("official", "GCN-64", "cora", {"hidden_channels": 5})
    assert own.architecture.hidden_channels == 5


def test_values_are_read_as_toml_or_strings() -> None:
    given = ["lambda_local=5e-4", "act=relu", "bias=true", "epochs=7", "lambda_global=1"]
    read = {
        "lambda_local": 5e-4,
        "act": "relu",
        "bias": True,
        "epochs": 7,
        "lambda_global": 1.0,
    }
    assert parse_settings(given) == read
    assert isinstance(parse_settings(["lambda_global=1"])["lambda_global"], float)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        ("lamda_local=1", "did you mean 'lambda_local'"),
        ("act=gelu", "'elu'"),
        ("epochs=1.5", "whole number"),
        ("epochs=0", "between 1"),
        ("input_dropout=1.5", "between 0"),
        ("learning_rate=fast", "a number"),
        ("learning_rate=nan", "between"),
        ("bias=1", "true or false"),
        ("lambda_local", "KEY=VALUE"),
        ("epochs=true", "whole number"),
        ("context=3", "a string"),
    ],
)
def test_wrong_settings_name_the_way_out(pair: str, says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        parse_settings([pair])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[defaults]\nlearning_rat = 1", "learning_rate"),
        ("[default]\nepochs = 1", "defaults"),
        ("[models.LGCN]\nepoch = 1", "epochs"),
        ("[models.LGCN.datasets.cora]\nepoch = 1", "epochs"),
        ("[datasets.cora]\nepochs = 'many'", "whole number"),
        ("not toml", "cannot be read"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises((RecipeError, UnknownNameError), match=says):
        load_recipe(path, "LGCN")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[defaults]\nepochs = 3\n[models.LGCN]\nepochs = 4")
    assert load_recipe(path, "LGCN").stopping.epochs == 4
    assert load_recipe(path, "GCN").stopping.epochs == 3
    assert load_recipe(path, None).name == "mine"
    with pytest.raises(UnknownNameError, match="official"):
        load_recipe("oficial", "LGCN")


def test_settings_are_written_as_they_are_read() -> None:
    settings = {"layer_norm": False, "learning_rate": 1e-05, "act": "elu", "hidden_channels": 8}
    assert parse_settings(format_settings(settings)) == settings


def test_truth_values_may_be_written_as_in_python() -> None:
    found = parse_settings(["layer_norm=True", "residual=False"])
    assert found == {"layer_norm": True, "residual": False}


@pytest.mark.parametrize("found", sorted(SEARCHED.glob("*-GCN.json")), ids=lambda path: path.stem)
def test_the_tuned_baseline_has_what_was_found(found: Path) -> None:
    dataset = found.stem.removesuffix("-GCN")
    settings = load_recipe("official", "GCN-tuned", dataset).settings
    searched = json.loads(found.read_text())["settings"]
    assert {key: settings[key] for key in searched} == searched


def test_the_baseline_was_tuned_on_every_data_set() -> None:
    names = {path.stem for path in SEARCHED.glob("*-GCN.json")}
    assert names == {f"{dataset}-GCN" for dataset in Suite.load("main").datasets}
