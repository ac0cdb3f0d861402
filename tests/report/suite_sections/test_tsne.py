from __future__ import annotations

from pathlib import Path

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.tsne import tsne_section
from tests.report.made_up import put_tsne
from tests.report.suite_sections.cells import cell


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
