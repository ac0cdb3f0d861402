from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import contains_self_loops, degree, is_undirected

from nodewise.data.checks import check_data
from nodewise.data.toy import AMBIGUOUS, CLASSES, PLAIN, TOPICS, toy_graph
from nodewise.errors import InputError

GOLDEN = "0696c145177b0ad64ddbed91ade2cf778f3bb84d351db404ea947366153ce760"


@pytest.fixture(scope="module")
def graph() -> Data:
    return toy_graph()


def sha256(graph: Data) -> str:
    digest = hashlib.sha256()
    for array in (graph.x, graph.edge_index, graph.y, graph.field):
        values = array.numpy()
        digest.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def columns(graph: Data, words: tuple[str, ...]) -> torch.Tensor:
    found: torch.Tensor = graph.x[:, [graph.feature_names.index(word) for word in words]]
    return found


def by_class(graph: Data, words: tuple[str, ...], papers: torch.Tensor) -> torch.Tensor:
    """How often the words occur in those papers, for each class."""
    count = columns(graph, words).sum(dim=1)[papers]
    return torch.zeros(len(CLASSES)).index_add(0, graph.y[papers], count)


def largest_share(graph: Data) -> torch.Tensor:
    """The share of ambiguous words that the best single reading of the groups gets right."""
    everywhere = torch.ones(graph.num_nodes, dtype=torch.bool)
    table = torch.stack([by_class(graph, group, everywhere) for group in AMBIGUOUS])
    return table.max(dim=1).values.sum() / table.sum()


def context(graph: Data) -> torch.Tensor:
    """The sum of each paper's own features and its neighbors'."""
    source, target = graph.edge_index
    around = torch.zeros_like(graph.x).index_add(0, target, graph.x[source])
    return around.add(graph.x)


def field_by_vote(graph: Data, features: torch.Tensor) -> torch.Tensor:
    """The field whose two pairs of topic words occur most often."""
    names, fields = graph.feature_names, len(graph.field_names)
    first = names.index(TOPICS[0][0])
    pairs = features[:, first:].reshape(len(features), fields, -1).sum(dim=2)
    return (pairs + pairs.roll(1, dims=1)).argmax(dim=1)


def class_by_vote(graph: Data, groups: tuple[tuple[str, ...], ...]) -> torch.Tensor:
    """The class k whose words, groups[k], occur most often in the neighborhood."""
    around, names = context(graph), graph.feature_names
    counts = [around[:, [names.index(word) for word in group]].sum(dim=1) for group in groups]
    return torch.stack(counts, dim=1).argmax(dim=1)


def test_the_default_graph_is_the_same_bits_for_good(graph: Data) -> None:
    assert sha256(graph) == GOLDEN
    assert sha256(toy_graph(seed=0)) == GOLDEN
    assert sha256(toy_graph(seed=1)) != GOLDEN


def test_counts_types_and_names(graph: Data) -> None:
    check_data(graph)
    assert (graph.num_nodes, graph.num_features, graph.num_edges) == (1200, 45, 13590)
    assert (graph.x.dtype, graph.y.dtype, graph.field.dtype) == (
        torch.float32,
        torch.int64,
        torch.int64,
    )
    assert len(set(graph.feature_names)) == graph.num_features
    assert graph.class_names == ["theory", "method", "application"]
    assert len(graph.field_names) == 6
    assert "train_mask" not in graph


def test_classes_and_fields_are_even(graph: Data) -> None:
    assert torch.bincount(graph.y).tolist() == [400] * 3
    assert torch.bincount(graph.field).tolist() == [201, 201, 201, 201, 198, 198]
    assert torch.bincount(graph.y * 6 + graph.field).min() >= 66


def test_edges_are_undirected_sorted_and_neither_repeated_nor_loops(graph: Data) -> None:
    source, target = graph.edge_index
    number = source * graph.num_nodes + target
    assert (number.diff() > 0).all()
    assert is_undirected(graph.edge_index)
    assert not contains_self_loops(graph.edge_index)


def test_words_occur_or_not_and_every_word_is_used(graph: Data) -> None:
    assert set(graph.x.unique().tolist()) == {0.0, 1.0}
    assert (graph.x.sum(dim=0) >= 10).all()
    assert (graph.x.sum(dim=1) >= 2).all()


def test_groups_stand_for_another_permutation_of_classes_in_each_field(graph: Data) -> None:
    meanings = set()
    for field in range(6):
        papers = graph.field == field
        tables = [by_class(graph, group, papers) for group in AMBIGUOUS]
        assert all(table.max() / table.sum() > 0.85 for table in tables)
        meanings.add(tuple(int(table.argmax()) for table in tables))
    assert len(meanings) == 6
    assert all(len(set(meaning)) == 3 for meaning in meanings)


def test_over_all_fields_an_ambiguous_word_says_nothing(graph: Data) -> None:
    assert largest_share(graph) < 0.36


def test_plain_words_mean_the_same_in_every_field() -> None:
    graph = toy_graph(ambiguity=0.5, noise=0.0)
    for label, group in enumerate(PLAIN):
        carries = columns(graph, group).any(dim=1)
        assert (graph.y[carries] == label).all()
        assert graph.field[carries].unique().tolist() == list(range(6))


def test_a_topic_word_is_shared_by_two_fields_and_never_tells_one(graph: Data) -> None:
    for pair, words in enumerate(TOPICS):
        for word in words:
            fields = torch.bincount(graph.field[columns(graph, (word,)).any(dim=1)], minlength=6)
            assert fields.nonzero().flatten().tolist() == sorted({pair, (pair + 1) % 6})
            assert fields.max() / fields.sum() < 0.7


def test_the_neighborhood_tells_the_field(graph: Data) -> None:
    alone = (field_by_vote(graph, graph.x) == graph.field).float().mean()
    around = (field_by_vote(graph, context(graph)) == graph.field).float().mean()
    assert alone < 0.6
    assert around > 0.85


def test_without_ambiguity_a_plain_count_of_words_finds_the_class() -> None:
    graph = toy_graph(ambiguity=0.0)
    assert (class_by_vote(graph, PLAIN) == graph.y).float().mean() > 0.95


def test_with_ambiguity_it_does_not(graph: Data) -> None:
    assert (class_by_vote(graph, PLAIN) == graph.y).float().mean() < 0.6
    assert (class_by_vote(graph, AMBIGUOUS) == graph.y).float().mean() < 0.45


def test_in_a_single_field_the_same_words_find_the_class() -> None:
    graph = toy_graph(contexts=1)
    assert graph.field_names == ["biology"]
    assert (class_by_vote(graph, AMBIGUOUS) == graph.y).float().mean() > 0.95


@pytest.mark.parametrize("contexts", [1, 3, 4, 5, 6])
def test_contexts_is_the_number_of_fields(contexts: int) -> None:
    graph = toy_graph(contexts=contexts)
    assert graph.field.unique().tolist() == list(range(contexts))
    assert graph.num_features == 33 + 2 * contexts
    check_data(graph)


@pytest.mark.parametrize("wanted", [1, 4, 7, 20])
def test_degree_is_the_mean_degree_before_repeats_merge(wanted: int) -> None:
    found = float(degree(toy_graph(degree=wanted).edge_index[0], 1200).mean())
    assert 0.9 * wanted < found <= wanted


@pytest.mark.parametrize(("noise", "right"), [(0.0, 1.0), (0.1, 0.93), (1.0, 1 / 3)])
def test_noise_blurs_the_words(noise: float, right: float) -> None:
    graph = toy_graph(contexts=1, noise=noise)
    everywhere = torch.ones(graph.num_nodes, dtype=torch.bool)
    for label, group in enumerate(AMBIGUOUS):
        found = by_class(graph, group, everywhere)
        assert found[label] / found.sum() == pytest.approx(right, abs=0.03)


@pytest.mark.parametrize(("noise", "leaving"), [(0.0, 0.0), (0.1, 0.1 * 5 / 6), (1.0, 5 / 6)])
def test_noise_lets_citations_leave_the_field(noise: float, leaving: float) -> None:
    graph = toy_graph(noise=noise)
    source, target = graph.field[graph.edge_index]
    assert float((source != target).float().mean()) == pytest.approx(leaving, abs=0.02)


@pytest.mark.parametrize(("affinity", "staying"), [(0.0, 1 / 3), (0.5, 2 / 3), (1.0, 1.0)])
def test_affinity_keeps_citations_within_the_class(affinity: float, staying: float) -> None:
    graph = toy_graph(affinity=affinity, noise=0.0)
    source, target = graph.y[graph.edge_index]
    assert float((source == target).float().mean()) == pytest.approx(staying, abs=0.03)


def test_topics_is_the_share_of_papers_with_a_topic_word() -> None:
    every_topic = tuple(word for words in TOPICS for word in words)
    for share in (0.0, 0.5, 1.0):
        graph = toy_graph(topics=share)
        carrying = float(columns(graph, every_topic).any(dim=1).float().mean())
        assert carrying == pytest.approx(share, abs=0.05)


def test_knobs_leave_alone_what_they_are_not_about(graph: Data) -> None:
    assert torch.equal(toy_graph(ambiguity=0.0).edge_index, graph.edge_index)
    assert torch.equal(toy_graph(keywords=9).edge_index, graph.edge_index)
    assert torch.equal(toy_graph(degree=4).x, graph.x)


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("num_nodes", 17),
        ("num_nodes", 1200.5),
        ("contexts", 0),
        ("contexts", 2),
        ("contexts", 7),
        ("contexts", True),
        ("ambiguity", -0.1),
        ("ambiguity", np.nan),
        ("degree", 0),
        ("degree", 1200),
        ("noise", 1.01),
        ("affinity", 2),
        ("topics", -1),
        ("keywords", 0),
    ],
)
def test_a_knob_out_of_range_is_named(knob: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^{knob}: .*\(found .*; give "):
        toy_graph(**{knob: value})
