from __future__ import annotations

import pytest

from nodewise.errors import RecipeError, UnknownNameError
from nodewise.experiments.candidates import CandidateSet, is_auto
from nodewise.models.zoo import counterpart, find_row


def test_candidates_are_few_and_differ() -> None:
    candidate_set = CandidateSet.load()
    recipes = [candidate_set.recipe(candidate, None, {}) for candidate in candidate_set.candidates]
    models = [candidate.model for candidate in candidate_set.candidates]
    distinct = {(m, tuple(r.settings.items())) for m, r in zip(models, recipes, strict=True)}
    assert 6 <= len(distinct) == len(candidate_set.candidates) <= 10
    assert {recipe.name for recipe in recipes} == {"auto"}


def test_candidates_vary_backbone_width_dropout_and_penalty_and_some_are_global() -> None:
    candidate_set = CandidateSet.load()
    varied = {"hidden_channels", "input_dropout", "lambda_local", "lambda_modulation"}
    assert varied <= set(candidate_set.varied)
    models = {candidate.model for candidate in candidate_set.candidates}
    assert {"LGCN", "LGAT", "LGIN"} <= models
    assert {find_row(model).is_localized for model in models} == {True, False}


def test_every_candidate_has_a_counterpart() -> None:
    assert all(counterpart(candidate.model) for candidate in CandidateSet.load().candidates)


def test_they_are_judged_alike() -> None:
    """The same epochs and the same signal for all, without penalties, which would differ."""
    candidate_set = CandidateSet.load()
    rules = {
        candidate_set.recipe(candidate, None, {}).stopping for candidate in candidate_set.candidates
    }
    assert len(rules) == 1
    assert rules.pop().stopping_loss == "plain"


def test_a_model_leaves_its_own_candidates_only() -> None:
    candidate_set = CandidateSet.load().of_model("LGAT")
    assert {candidate.model for candidate in candidate_set.candidates} == {"LGAT"}
    with pytest.raises(UnknownNameError, match="LGCN"):
        CandidateSet.load().of_model("GCN-FiLM")


def test_what_is_fixed_is_stronger_and_must_be_known() -> None:
    candidate_set = CandidateSet.load()
    wide = next(c for c in candidate_set.candidates if c.settings.get("hidden_channels") == 32)
    assert (
        candidate_set.recipe(wide, None, {"hidden_channels": 5}).architecture.hidden_channels == 5
    )
    with pytest.raises(RecipeError, match="hidden_channels"):
        candidate_set.recipe(wide, None, {"hidden_chanels": 5})


def test_the_budget_counts_both_rounds_and_the_model_beside() -> None:
    candidate_set = CandidateSet("nodewise", 10, 2, {}, ())
    assert candidate_set.epochs(candidates=5, longest=30) == 5 * 10 + 2 * 20 + 30
    assert candidate_set.epochs(candidates=1, longest=4) == 4 + 4


def test_auto_is_a_recipe_by_name() -> None:
    assert is_auto("auto") and not is_auto("nodewise")
