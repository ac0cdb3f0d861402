from __future__ import annotations

import json
from typing import Any

import pytest

from nodewise.explorer import figures
from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.state import State
from tests.explorer.pages import SCRIPT, named_view, small


def rows(figure: dict[str, Any]) -> dict[str, list[float]]:
    return {trace["name"]: trace["x"] for trace in figure["data"]}


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("LGCN", {"as it is", "edge level alone", "node level alone", "without localization"}),
        ("LGCN:node", {"as it is", "without localization"}),
        ("GCN", {"as it is"}),
    ],
)
def test_predictions_have_a_bar_for_each_switch(model: str, names: set[str]) -> None:
    found = small(model).node("3")
    figure = figures.predictions(found)
    bars = rows(figure)
    assert bars.keys() == names
    first = figure["layout"]["yaxis"]["ticktext"][0]
    assert bars["as it is"][0] == pytest.approx(found.probabilities[first], abs=1e-4)


def test_features_have_their_evidence_to_both_weights() -> None:
    found = small().node("3")
    bars = rows(figures.features(found))
    assert bars["own weights"][0] == pytest.approx(found.features[0].local_evidence, abs=1e-4)
    assert bars["global weights"][0] == pytest.approx(found.features[0].global_evidence, abs=1e-4)


def test_strong_messages_have_thick_blue_edges_and_weak_ones_thin_orange_ones() -> None:
    found = small().node("3")
    figure = figures.neighborhood(found, [*found.probabilities])
    ends, lines = figure["data"][0]["customdata"], figure["layout"]["shapes"]
    strengths = {str(each.id): each.strength for each in found.neighbors}
    width = {id: line["line"]["width"] for id, line in zip(ends, lines, strict=True)}
    assert sorted(width, key=lambda id: width[id]) and "3" not in width
    for id, line in zip(ends, lines, strict=True):
        strength = strengths[id]
        assert strength is not None
        color = {"#0072B2": strength > 1, "#D55E00": strength < 1}
        assert color.get(line["line"]["color"], abs(strength - 1) < 0.06)


def test_before_and_after_are_those_of_the_what_if() -> None:
    explored = small()
    found = explored.what_if(State(node="3", off=("node",)))
    bars = rows(figures.before_and_after(found))
    assert sorted(bars["what if"]) == pytest.approx(
        sorted(found.probabilities_after.values()), abs=1e-4
    )
    assert sorted(bars["as it is"]) == pytest.approx(
        sorted(found.probabilities_before.values()), abs=1e-4
    )


def test_names_are_text() -> None:
    explored = ExplorerData(named_view())
    found = explored.node(explored.ids[3])
    drawn = [figures.neighborhood(found, explored.classes), figures.features(found)]
    drawn += [figures.predictions(found)]
    for figure in drawn:
        for trace in figure["data"]:
            trace.pop("customdata", None)  # ids as they are, which plotly does not show
        assert SCRIPT not in json.dumps(figure) and "</script>" not in json.dumps(figure)
