from __future__ import annotations

import doctest

import pytest
import torch

from nodewise.nn.aggregators import AggregationInputs, Aggregator, Messages, Sum, base
from nodewise.nn.aggregators.base import project_targets
from nodewise.nn.block import BlockRule, build_block

X = torch.tensor([[1.0], [2.0], [4.0]])
BLOCK = build_block(torch.tensor([[0, 1], [2, 2]]), None, 3, 3, BlockRule("none"), torch.float32)


class Twice(Sum):
    rule = BlockRule("none")

    def weights(
        self, inputs: AggregationInputs, raw: torch.Tensor | None = None
    ) -> torch.Tensor | None:
        return torch.full((2,), 2.0)


def inputs(
    x_target: torch.Tensor | None = None, mask: torch.Tensor | None = None
) -> AggregationInputs:
    return AggregationInputs(BLOCK, X, x_target, torch.ones(1, 1, 1), None, mask)


def test_the_example_of_the_extension_point_runs() -> None:
    found = doctest.DocTestFinder().find(Aggregator, globs=vars(base).copy())
    runner = doctest.DocTestRunner()
    results = [runner.run(example) for example in found]
    assert sum(result.attempted for result in results) >= 5
    assert not any(result.failed for result in results)


@pytest.mark.parametrize(("mask", "expected"), [(None, 6.0), (torch.tensor([0.0, 0.5]), 2.0)])
def test_a_sum_weighs_messages_and_masks_them(mask: torch.Tensor | None, expected: float) -> None:
    messages = X[BLOCK.neighbors.source][:, None]
    out = Twice()(Messages(messages, messages), inputs(mask=mask))
    assert out.view(-1).tolist() == [0.0, 0.0, expected]


def test_targets_are_projected_from_their_rows_or_from_the_sources() -> None:
    weight = torch.tensor([[3.0]])
    assert project_targets(inputs(), weight).view(-1).tolist() == [3.0, 6.0, 12.0]
    assert project_targets(inputs(X[:2] + 1), weight).view(-1).tolist() == [6.0, 9.0]
    part, nodes = BLOCK.restrict(torch.tensor([2]))
    of_part = inputs()._replace(block=part, x_source=X[nodes])
    assert project_targets(of_part, weight).view(-1).tolist() == [12.0]
