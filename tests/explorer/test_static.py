from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.state import SHOWN
from nodewise.explorer.static import detailed, write_static
from tests.explorer.pages import SCRIPT, named_view, small

pytestmark = pytest.mark.medium


def test_the_file_has_everything_and_names_are_text(tmp_path: Path) -> None:
    explored, path = ExplorerData(named_view()), tmp_path / "page.html"
    assert write_static(explored, SCRIPT, path, details=7) == 7
    text = path.read_text("utf-8")
    assert SCRIPT not in text and "7 of 60 nodes have their details" in text
    assert not re.search(r"<(script|link)[^>]*(src|href)=", text)
    assert "unsafe-eval" not in text and "default-src &#x27;none&#x27;" in text
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text)
    found = json.loads(data)
    assert found["ids"] == explored.ids and len(found["details"]) == 7
    shown = explored.ids[explored.chosen("spoiled")[0]]
    assert found["details"][shown]["sentence"] == explored.node(shown).sentence
    scene = found["scenes"]["local pca"]
    names = {show: len({*explored.frame["prediction"][explored.chosen(show)]}) for show in SHOWN}
    assert {show: len(labels) for show, labels in scene["labels"].items()} == names
    assert len(scene["places"]) == 61  # the global model's comes last
    for color in explored.colorings:
        drawn = [node for trace in found["traces"][color] for node in trace["customdata"]]
        assert sorted(drawn) == list(range(60))


def test_details_are_of_the_spoiled_the_corrected_and_all_in_turn() -> None:
    explored = small()
    first = [explored.chosen(show)[0] for show in ("spoiled", "corrected", "all")]
    found = detailed(explored, 60).tolist()
    assert found[: len({*first})] == list(dict.fromkeys(first))
    assert sorted(found) == list(range(60)) and len(detailed(explored, 5)) == 5
