"""What single sections show, of records whose numbers are easy to follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.lines import Line2D

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.ablation import ablation_section
from nodewise.report.suite_sections.cost import cost_section
from nodewise.report.suite_sections.pairs import pair_section
from nodewise.report.suite_sections.penalty import penalty_section
from nodewise.report.suite_sections.section import Section
from nodewise.report.suite_sections.tsne import tsne_section
from tests.report.made_up import put_cost, put_run, put_runs, put_tsne


def cell(section: Section, table: int, row: str, column: str) -> str:
    found = section.tables[table]
    return dict(found.rows)[row][found.columns.index(column) - 1].text


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


def test_the_ablation_has_every_form_and_the_papers_whole_model(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN:node", [0.7, 0.7, 0.73])
    put_runs(tmp_path, "LGCN", [0.81])
    put_runs(tmp_path, "LGCN:global", [0.8] * 4)
    section = ablation_section(tmp_path, Suite.load("ablation"))
    assert cell(section, 0, "LGCN, node level", "cora") == "71.0 ± 1.7"
    assert cell(section, 0, "LGCN, both levels", "cora") == "81.0"
    assert cell(section, 0, "LGIN, edge level", "cora") == "missing"
    plain = {name: cells[0].plain for name, cells in section.tables[0].rows}
    assert plain["LGCN, global only"] == "80.0 ± 0.0 n=4"  # of the three that are asked for
    assert plain["LGCN, node level"] == "71.0 ± 1.7" and plain["LGCN, both levels"] == "81.0 n=1"
    assert section.figure is not None
    cora, citeseer, *_ = section.figure.axes
    hollow = [line for line in cora.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_ydata()[0] for line in hollow] == [83.5, 83.6, 82.6]  # type: ignore[index]
    assert not [text for text in cora.texts if text.get_text() == "no runs yet"]
    assert [text.get_text() for text in citeseer.texts] == ["no runs yet"]


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


def test_costs_are_shown_beside_the_papers_and_as_ratios(tmp_path: Path) -> None:
    put_cost(tmp_path, "cora", "GCN", mflops=50.0, train_ms=4.0)
    put_cost(tmp_path, "cora", "LGCN", mflops=1000.0, train_ms=10.0, test_extra_mb=None)
    section = cost_section(tmp_path, Suite.load("cost"))
    assert cell(section, 0, "cora: LGCN", "operations, millions") == "1,000 (15,158)"
    assert "not reported" in cell(section, 0, "cora: LGCN", "memory of a test pass, MB")
    assert cell(section, 0, "cora: GAT", "operations, millions") == "missing"
    assert cell(section, 1, "cora: LGCN / GCN", "operations") == "20.0 (18.5)"
    assert cell(section, 1, "cora: LGCN / GCN", "training epoch") == "2.5 (2.0)"
    assert cell(section, 1, "cora: LGCN / GCN", "memory of a test pass") == "-"
    assert cell(section, 1, "cora: LGAT / GAT", "operations") == "missing"
    assert (section.count, section.wanted) == (2, 12)
    assert "1 thread" in section.legend and "0.1" in section.legend
    assert section.figure is not None
    operations = section.figure.axes[0]
    filled = [line for line in operations.lines if line.get_markerfacecolor() != "white"]
    assert 20.0 in [line.get_ydata()[0] for line in filled]  # type: ignore[index]


def test_silhouettes_and_distances_come_from_the_record(tmp_path: Path) -> None:
    put_tsne(tmp_path)
    section = tsne_section(tmp_path, Suite.load("tsne"))
    assert cell(section, 0, "cora: all classes", "LGCN") == "0.250"
    assert cell(section, 0, "cora: Case Based", "GCN") == "0.500"
    assert cell(section, 1, "of W_v from W, median", "cora") == "0.12"
    assert section.figure is not None and len(section.figure.axes) == 3
    assert "points" not in section.data["cora"]["weights"]
    (star,) = section.figure.axes[2].lines
    assert (star.get_marker(), star.get_xdata()[0]) == ("*", 2.0)  # type: ignore[index]
