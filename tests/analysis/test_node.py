"""One node: its sentence and its tables."""

from __future__ import annotations

from tests.analysis.subjects import random_view


def test_the_sentence_says_what_was_found() -> None:
    view = random_view()
    node = view.node(5)
    sentence = node.sentence
    assert sentence.startswith(f"5 is predicted {node.prediction} (probability ")
    assert f"number {node.distance_rank} of 60" in sentence
    assert node.features[0].name in sentence
    assert "The model has no localization to switch off" in random_view("GCN").node(5).sentence


def test_a_node_has_tables_of_pandas() -> None:
    node = random_view().node(5)
    frames = node.to_frames()
    assert frames["features"]["name"].tolist() == [each.name for each in node.features]
    assert frames["neighbors"]["strength"].tolist() == [each.strength for each in node.neighbors]
    assert frames["similar"]["id"].tolist() == [each.id for each in node.similar]
