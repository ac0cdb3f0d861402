from __future__ import annotations

from pathlib import Path

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.cost import cost_section
from tests.report.made_up import put_cost
from tests.report.suite_sections.cells import cell


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
