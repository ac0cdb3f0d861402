from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nodewise.experiments.suite import Suite, Variant
from nodewise.report.suite_sections.variants import variants_section
from tests.report.made_up import put_runs
from tests.report.suite_sections.cells import cell

SUITE = Suite.load("unknowns")


def variant(name: str) -> Variant:
    return next(one for one in SUITE.variants if one.name == name)


def test_each_change_stands_beside_the_paper(tmp_path: Path) -> None:
    put_runs(tmp_path, "LGCN", [0.44, 0.46], "chameleon")
    put_runs(tmp_path, "LGCN", [0.5, 0.5], "chameleon", variant("official-node_order"))
    section = variants_section(tmp_path, SUITE)
    assert not section.refused and section.count == 4
    assert cell(section, 0, "LGCN", "paper") == "50.9 ± 1.1"
    assert cell(section, 0, "LGCN", "as released") == "45.0 ± 1.4"
    assert cell(section, 0, "LGCN", "another order of nodes") == "50.0 ± 0.0"
    assert cell(section, 0, "LGCN", "filled empty rows") == "missing"
    assert cell(section, 0, "GCN", "another order of nodes") == "-"  # it takes all neighbors
    assert section.data["official-node_order"]["chameleon"]["LGCN"] == [0.5, 0.5]


def test_records_of_the_unchanged_graph_are_refused(tmp_path: Path) -> None:
    changed = variant("official-repeated_edges")
    put_runs(tmp_path, "GCN", [0.4], "chameleon", replace(changed, variation={}))
    assert len(variants_section(tmp_path, SUITE).refused) == 1
