from __future__ import annotations

import numpy as np
import pytest

from nodewise.errors import InputError
from nodewise.explorer.explorer_data import EFFECTS, ExplorerData
from nodewise.explorer.layout import summary
from nodewise.explorer.state import State
from tests.analysis.subjects import random_view
from tests.explorer.pages import small


def test_filters_are_the_tables_of_corrected_and_spoiled_nodes() -> None:
    explored = small()
    for show, table in (
        ("corrected", explored.view.corrected()),
        ("spoiled", explored.view.spoiled()),
    ):
        assert sorted(explored.chosen(show)) == sorted(table.index) and len(table)
    assert set(explored.frame["effect"]) <= {*EFFECTS}
    assert len(explored.chosen("all")) == 60


def test_the_most_localized_nodes_come_first() -> None:
    explored = small()
    strength = explored.frame["distance"].to_numpy()[explored.chosen("all")]
    assert (np.diff(strength) <= 0).all()


def test_a_large_graph_is_sampled_the_same_way_each_time() -> None:
    explored = small(limit=10)
    drawn = explored.drawn("all")
    assert len(drawn) == 10 and (drawn == explored.drawn("all")).all()
    few = explored.chosen("spoiled")[:10]
    assert len(explored.drawn("spoiled")) == min(10, len(explored.chosen("spoiled"))) and len(few)


def test_a_model_without_local_weights_has_one_map_and_no_strength() -> None:
    explored = small("GCN")
    assert [*explored.maps] == ["hidden"] and "distance" not in explored.colorings
    wanted = explored.possible(State(map="local", color="distance"))
    assert (wanted.map, wanted.color) == ("hidden", "label")
    assert "no localization" in summary(explored)


def test_removable_edges_and_features_are_accepted_by_what_if() -> None:
    explored = small()
    neighbors, features = explored.removable("7")
    assert neighbors and features and "7" not in neighbors
    state = State(node="7", off=("edge",), drop=(*neighbors,), zero=(*features,))
    found = explored.what_if(state)
    assert found.probabilities_after != found.probabilities_before
    same = explored.what_if(State(node="7"))
    assert same.probabilities_after == pytest.approx(same.probabilities_before)


def test_a_model_without_layers_is_refused() -> None:
    with pytest.raises(InputError, match="not a stack of layers"):
        ExplorerData(random_view("DeepWalk"))
