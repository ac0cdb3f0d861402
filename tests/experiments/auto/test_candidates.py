from __future__ import annotations

import pytest

from nodewise.errors import RecipeError, UnknownNameError
from nodewise.experiments.auto.candidates import Candidate, CandidateSet, is_auto
from nodewise.models.zoo import find_row

SET = CandidateSet.load()


def test_candidates_are_global_and_differ() -> None:
    recipes = [SET.recipe(candidate, None, {}) for candidate in SET.candidates]
    models = [candidate.model for candidate in SET.candidates]
    distinct = {(m, tuple(r.settings.items())) for m, r in zip(models, recipes, strict=True)}
    assert len(distinct) == len(SET.candidates)
    assert not any(find_row(model).is_localized for model in models)
    assert {"MLP", "SAGE", "GCN-strong", "GAT-strong"} <= set(models)
    assert {recipe.name for recipe in recipes} == {"auto"}


def test_all_are_compared_by_the_same_epochs_and_the_same_signal() -> None:
    """Without penalties, which would differ."""
    rules = {SET.recipe(candidate, None, {}).stopping for candidate in SET.candidates}
    assert len(rules) == 1
    assert rules.pop().stopping_loss == "plain"


def test_every_graph_candidate_has_localized_forms_with_its_whole_recipe() -> None:
    for candidate in SET.candidates:
        recipe = SET.recipe(candidate, None, {})
        forms = list(SET.localized(candidate))
        assert bool(forms) == (candidate.model != "MLP")
        for form in forms:
            assert find_row(form.model).is_localized
            settings = SET.recipe(form, None, {}).settings
            changed = {key for key in settings if settings[key] != recipe.settings[key]}
            assert changed <= {key for keys in SET.localizations.values() for key in keys}


def test_controls_are_trained_at_once_without_the_settings_of_candidates() -> None:
    assert list(SET.controls) == ["Logistic", "Boosting", "Boosting-neighbors"]
    for name in SET.controls:
        assert find_row(name).is_trained_at_once
        recipe = SET.recipe(Candidate(name, name, {}), "amazon", {"metric": "macro_f"})
        assert (recipe.stopping.epochs, recipe.stopping.metric) == (1, "macro_f")
        assert recipe.optimization.features == "none"


def test_variations_change_one_thing_each() -> None:
    best = SET.candidates[3]
    for varied, keys in zip(SET.varied(best), SET.variations.values(), strict=True):
        assert varied.settings == {**best.settings, **keys} and varied.model == best.model


def test_of_one_model_only_settings_are_chosen() -> None:
    found = SET.of_model("SAGE")
    assert {candidate.model for candidate in found.candidates} == {"SAGE"}
    assert not list(found.localized(found.candidates[0]))
    assert [candidate.name for candidate in SET.of_model("LGCN").candidates] == ["LGCN"]
    with pytest.raises(UnknownNameError, match="LGCN"):
        SET.of_model("LGCNN")


def test_what_is_fixed_is_stronger_and_must_be_known() -> None:
    narrow = next(c for c in SET.candidates if "hidden_channels" in c.settings)
    assert SET.recipe(narrow, None, {"hidden_channels": 5}).architecture.hidden_channels == 5
    with pytest.raises(RecipeError, match="hidden_channels"):
        SET.recipe(narrow, None, {"hidden_chanels": 5})


def test_auto_is_a_recipe_by_name() -> None:
    assert is_auto("auto") and not is_auto("nodewise")
