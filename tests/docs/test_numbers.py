"""The numbers that pages name in sentences are those of the records."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from nodewise.experiments.records import suite_runs
from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.section import Section
from nodewise.report.suite_sections.sections import read_section
from tests.docs.pages import ROOT

RESULTS = ROOT / "results"


def numbers(difference: dict[str, Any]) -> str:
    """A mean difference in points, with its interval."""
    mean, low, high = (f"{100 * difference[key]:+.1f}" for key in ("mean", "low", "high"))
    return f"{mean} points [{low}, {high}]"


def accuracies(suite: str, model: str, variant: str) -> dict[int, float]:
    """Test accuracies on Chameleon, by seed."""
    runs = suite_runs(RESULTS, Suite.load(suite)).cell("chameleon", model, variant)
    return {record["seed"]: record["test_accuracy"] for record in runs.records}


@pytest.fixture(scope="module")
def loose() -> Section:
    return read_section(RESULTS, "loose")


@pytest.fixture(scope="module")
def page() -> str:
    return " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())


def test_gains_under_a_light_penalty_are_recorded(loose: Section, page: str) -> None:
    official, _, on_splits = loose.data["chameleon: LGCN - LGCN:global"].values()
    assert numbers(official) in page and numbers(on_splits) in page
    _, localized, beside, *_ = dict(loose.tables[0].rows)["chameleon: LGCN - LGCN:global"]
    assert localized.text in page and beside.text in page


def test_the_tuned_model_on_the_same_splits_is_recorded(page: str) -> None:
    light = accuracies("loose", "LGCN", "official-random-lambda_local-1e-5")
    tuned = accuracies("splits", "GCN-tuned", "official-random")
    means = [f"{100 * fmean(model[seed] for seed in light):.1f} %" for model in (tuned, light)]
    assert len(light) == 10 and all(mean in page for mean in means)


def test_what_remains_against_a_fair_twin_is_recorded(page: str) -> None:
    section = read_section(RESULTS, "fair")
    fair = "chameleon: LGCN - LGCN:global with its own best settings"
    _, light, own = section.data[fair].values()
    assert numbers(light) in page and numbers(own) in page
    for row in dict(section.tables[-1].rows).values():
        assert f"{row[0].text} %" in page
