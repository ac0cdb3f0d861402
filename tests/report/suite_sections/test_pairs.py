"""Matched pairs, and fair twins."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.pairs import pair_section
from tests.report.made_up import put_run, put_runs
from tests.report.suite_sections.cells import cell


def test_matched_pairs_are_shown_under_both_stopping_rules(tmp_path: Path) -> None:
    suite = Suite.load("matched")
    for variant, gap in zip(suite.variants, (0.02, -0.02), strict=True):
        put_runs(tmp_path, "LGCN", [0.80 + gap, 0.81 + gap], "chameleon", variant)
        put_run(tmp_path, "LGCN", 7, 0.825, "chameleon", variant)  # with nobody beside it
        put_runs(tmp_path, "LGCN:global", [0.80, 0.81], "chameleon", variant)
    section = pair_section(tmp_path, suite)
    row = "chameleon: LGCN - LGCN:global"
    assert cell(section, 0, row, "official stopping rule").startswith("+2.0 [+2.0, +2.0]")
    assert cell(section, 0, row, suite.variants[1].title).startswith("-2.0")
    assert cell(section, 0, "cora: LGCN - LGCN:global", "official stopping rule") == "missing"
    assert cell(section, 0, row, "paper") == "50.9 ± 1.1"
    assert cell(section, 0, row, "first model") == "82.5 ± 0.5"
    assert cell(section, 0, row, "second model") == "80.5 ± 0.7"
    shown = dict(section.tables[0].rows)[row][3]
    assert (shown.count, shown.wanted, len(shown.records)) == (2, 10, 4)
    assert section.figure is not None
    (axes,) = section.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [row]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    (paper,) = hollow
    assert paper.get_xdata()[0] == pytest.approx(50.9 - 46.7)  # type: ignore[index]


def test_splits_compare_with_the_base_model_too(tmp_path: Path) -> None:
    suite = Suite.load("splits")
    put_runs(tmp_path, "LGCN", [0.5, 0.52], "cora", suite.variants[0])
    put_runs(tmp_path, "GCN", [0.45, 0.46], "cora", suite.variants[0])
    section = pair_section(tmp_path, suite)
    assert cell(section, 0, "cora: LGCN - GCN", suite.variants[0].title).startswith("+5.5")
    assert "Hollow" not in section.caption
    assert section.tables[0].columns[:3] == ("pair", "first model", "second model")


def test_a_fair_twin_is_taken_under_its_own_settings(tmp_path: Path) -> None:
    suite = Suite.load("fair")
    official, _, own = suite.variants
    put_runs(tmp_path, "LGCN", [0.5, 0.52], "chameleon", official)
    put_runs(tmp_path, "LGCN:global", [0.45, 0.46], "chameleon", official)
    put_runs(tmp_path, "LGCN:global", [0.55, 0.56], "chameleon", own)
    section = pair_section(tmp_path, suite)
    matched = "chameleon: LGCN - LGCN:global"
    fair = f"{matched} with {own.title}"
    assert cell(section, 0, matched, official.title).startswith("+5.5")
    assert cell(section, 0, fair, official.title).startswith("-4.5")
    assert cell(section, 0, fair, "second model") == "55.5 ± 0.7"
    assert cell(section, 0, matched, own.title) == cell(section, 0, fair, own.title) == "missing"


def test_an_interval_of_few_pairs_does_not_decide_the_scale(tmp_path: Path) -> None:
    suite = Suite.load("splits")
    put_runs(tmp_path, "LGCN", [0.50, 0.54], "cora", suite.variants[0])
    put_runs(tmp_path, "GCN", [0.50, 0.50], "cora", suite.variants[0])
    figure = pair_section(tmp_path, suite).figure
    assert figure is not None
    low, high = figure.axes[0].get_xlim()
    assert -1 < low < 0 and 4 < high < 5  # the interval goes from -23 to 27
