"""Accuracies over weights of the penalty."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.lines import Line2D

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.penalty import penalty_section
from nodewise.report.suite_sections.section import Section
from tests.report.made_up import put_runs
from tests.report.suite_sections.cells import cell


def test_lines_over_penalties_share_the_official_recipe(tmp_path: Path) -> None:
    suite = Suite.load("lambda")
    for variant in suite.variants:
        put_runs(tmp_path, "LGCN", [0.8 if variant.settings else 0.9], "cora", variant)
    put_runs(tmp_path, "GCN", [0.75])
    put_runs(tmp_path, "LGCN:global", [0.5], "chameleon")
    section = penalty_section(tmp_path, suite)
    weights = [name for name, _ in section.tables[0].rows]
    assert weights == ["0.01", "0.1", "1", "10", "100", "1000"]
    assert cell(section, 0, "1", "cora") == cell(section, 1, "1", "cora") == "90.0"
    assert cell(section, 1, "1e-05", "cora") == "80.0"
    assert cell(section, 1, "1e-05", "chameleon") == "missing"
    assert section.figure is not None
    assert cell(section, 2, "GCN", "cora") == "75.0"
    assert cell(section, 2, "LGCN:global", "cora") == "missing"
    levels = [
        [(line.get_linestyle(), line.get_ydata()[0]) for line in axes.lines if is_level(line)]
        for axes in section.figure.axes
    ]
    assert levels == [[("--", 75.0)], [(":", 50.0)]]
    assert legend_of(section) >= {"GCN", "LGCN:global"}
    lines = (tmp_path / "main.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "main.jsonl").write_text("".join(x for x in lines if '"GCN"' not in x))
    assert "GCN" not in legend_of(penalty_section(tmp_path, suite))
    assert (section.count, section.wanted) == (13, 2 * 13 * 3)


def test_a_single_line_has_its_marks_at_their_weights_and_the_papers_at_its_own(
    tmp_path: Path,
) -> None:
    suite = Suite.load("decay")
    for variant in suite.variants:
        put_runs(tmp_path, "GCN-FiLM", [0.8, 0.81], "cora", variant)
    section = penalty_section(tmp_path, suite)
    assert [name for name, _ in section.tables[0].rows] == ["0.0005", "0.005"]
    assert section.figure is not None
    lines = section.figure.axes[0].lines
    filled = [line for line in lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]
    assert list(filled[0].get_xdata()) == pytest.approx([0.0005, 0.005])
    (papers,) = (line for line in lines if line.get_markerfacecolor() == "none")
    assert (papers.get_xdata()[0], papers.get_ydata()[0]) == (0.0005, 78.1)  # type: ignore[index]


def legend_of(section: Section) -> set[str]:
    """What the legend of its plot names."""
    assert section.figure is not None
    return {text.get_text() for legend in section.figure.legends for text in legend.get_texts()}


def is_level(line: Line2D) -> bool:
    return line.get_linestyle() in ("--", ":")
