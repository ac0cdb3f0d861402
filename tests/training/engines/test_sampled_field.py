"""Sampled batches as receptive fields: exact with all neighbors, and right in expectation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.edge_sums import EdgeSums
from nodewise.data.sampling.sampler import NeighborSampler
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.models.receptive_field import ReceptiveField
from nodewise.models.zoo import build_model
from nodewise.nn.block import BlockRule
from nodewise.nn.context import MeanContext, SumContext
from nodewise.nn.penalty import Penalty
from nodewise.testing import assert_batch_equals_full_graph
from nodewise.training.engines.sampled_field import FieldMaker

NODES = 30
TARGETS = torch.tensor([3, 17, 5, 20, 28])
MODELS = ["LGCN", "LGAT", "LGIN", "LSAGE", "LGCN-strong", "LGAT-strong", "GCN", "GCN-FiLM", "MLP"]
# Settings that a recipe may have, each with what it changes in a sampled block.
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "deep": {"num_layers": 3},
    "mean": {"normalization": "mean", "self_weight": 2.0},
    "count": {"normalization": "count", "context": "sum"},
    "attention of messages": {"attention_scores": "messages", "generator_row_sum": 0.5},
}


def edges(loops: bool = True) -> Tensor:
    """Repeated edges, loops, and node 29 without any."""
    found = torch.randint(29, (2, 150), generator=torch.Generator().manual_seed(0))
    return found if loops else found[:, found[0] != found[1]]


def trained(name: str, **options: Any) -> Classifier:
    torch.manual_seed(0)
    model = build_model(name, 6, 3, **{"hidden_channels": 4, "heads": 2, **options}).double()
    for tensor in model.parameters():
        tensor.data.copy_((torch.rand_like(tensor) - 0.4) * 0.25)
    assert isinstance(model, Classifier)
    return model.eval()


def features() -> Tensor:
    return torch.rand(NODES, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_with_all_neighbors_a_batch_is_the_full_graph(name: str, options: str) -> None:
    model = trained(name, **SETTINGS[options])
    assert_batch_equals_full_graph(model, features(), edges(), TARGETS, tolerance=1e-10)


@pytest.mark.parametrize("name", ["LGCN", "LGIN", "LSAGE", "GCN-FiLM"])
def test_weights_of_edges(name: str) -> None:
    weight = torch.rand(150, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for options in SETTINGS.values():
        graph = (edges(), TARGETS, weight)
        assert_batch_equals_full_graph(trained(name, **options), features(), *graph, tolerance=1e-9)


def fields(
    fanouts: Sequence[int], rules: Sequence[BlockRule], nodes: Tensor, loops: bool = True
) -> Callable[[int, int], ReceptiveField]:
    """The field of batches of so many of these nodes, in some epoch."""
    csc = CscGraph.from_edges(edges(loops), NODES)
    make = FieldMaker.of(EdgeSums.of(csc), rules, nodes.numpy(), torch.float64)
    sampler = NeighborSampler(csc, fanouts, seed=3)

    def field(epoch: int, seeds: int) -> ReceptiveField:
        order = np.random.default_rng(epoch).permutation(len(nodes))
        batch = sampler.sample(nodes.numpy()[order[:seeds]], epoch)
        return make(batch, len(nodes) / seeds)

    return field


def assert_unbiased(values: Sequence[Tensor], truth: Tensor) -> None:
    """The mean of independent values is the truth, within four and a half standard errors."""
    found = torch.stack(list(values))
    error = found.std(0) / len(found) ** 0.5
    assert ((found.mean(0) - truth).abs() <= 4.5 * error + 1e-9).all()
    assert error.max() > 0, "nothing was sampled"


RULES = [
    BlockRule("set", "symmetric"),
    BlockRule("set", "mean"),
    BlockRule("extra"),
    BlockRule("none", "count"),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sums_and_mean_contexts_are_unbiased(rule: BlockRule) -> None:
    x = features()
    everything = fields([-1], [rule], torch.arange(NODES))
    sampled = fields([2], [rule], torch.arange(NODES))
    for context in (MeanContext(), SumContext()):

        def pooled(field: ReceptiveField, context: Any = context) -> Tensor:
            found = x.new_zeros(NODES, 6)
            found[field.nodes[:NODES]] = context(field.take(x), field.blocks[0])
            return found

        values = [pooled(sampled(epoch, NODES)) for epoch in range(600)]
        assert_unbiased(values, pooled(everything(0, NODES)))


@pytest.mark.medium
@pytest.mark.parametrize(
    ("name", "mean"), [("LGCN", "pool"), ("LGIN", "tensor"), ("LSAGE", "pool")]
)
def test_the_penalty_of_a_linear_first_layer_is_unbiased(name: str, mean: Any) -> None:
    """Scales and shifts of node and edge level, over seeds and neighbors that are both sampled.

    All features are the same, so that contexts and with them modulations do not depend on samples.
    """
    model = trained(name)
    rules = [conv.aggregator.rule for conv in model.layers]
    x = torch.ones(NODES, 6, dtype=torch.float64)
    penalty = Penalty(0, 0, 1, modulation_mean=mean)

    def first_layer(field: ReceptiveField) -> Tensor:
        rows = model.first_rows(field.take(x), field)
        conv = model.layers[0]
        _, modulations = conv(rows, field.blocks[0], return_modulations=True)
        return torch.stack([penalty([], [], modulations[i : i + 1])[2] for i in range(2)])

    nodes = torch.arange(0, 29, 2)
    sampled, everything = fields([2, 2], rules, nodes), fields([-1, -1], rules, nodes)
    with torch.no_grad():
        values = [first_layer(sampled(epoch, 4)) for epoch in range(500)]
        assert_unbiased(values, first_layer(everything(0, len(nodes))))


def test_targets_of_every_layer_count_once_on_average() -> None:
    nodes = torch.arange(0, 29, 2)
    rules = [BlockRule("set", "symmetric")] * 2
    sampled = fields([2, 2], rules, nodes)
    whole = fields([-1, -1], rules, nodes)(0, len(nodes))
    for layer in range(2):
        block = whole.blocks[layer]
        assert block.sample is not None
        weight = block.sample.target_weight
        torch.testing.assert_close(weight, torch.ones_like(weight))
        assert block.sample.num_targets == len(weight)
        assert block.sample.num_edges == block.neighbors.num_edges

        def of_nodes(field: ReceptiveField, layer: int = layer) -> Tensor:
            sample = field.blocks[layer].sample
            assert sample is not None
            found = torch.zeros(NODES, dtype=torch.float64)
            found[field.nodes[: len(sample.target_weight)]] = sample.target_weight
            return found

        assert_unbiased([of_nodes(sampled(epoch, 4)) for epoch in range(1500)], of_nodes(whole))


def test_the_first_neighbors_by_number_are_refused() -> None:
    with pytest.raises(InputError, match="max_neighbors"):
        fields([2], [BlockRule(max_neighbors=3)], TARGETS)
