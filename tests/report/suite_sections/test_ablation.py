from __future__ import annotations

from pathlib import Path

from nodewise.experiments.suite import Suite
from nodewise.report.suite_sections.ablation import ablation_section
from tests.report.made_up import put_runs
from tests.report.suite_sections.cells import cell


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
