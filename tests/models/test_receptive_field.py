from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.testing import assert_field_equals_full_graph
from tests.models.test_classifier import MODELS, model_of


@pytest.fixture
def graph() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(20, 6, dtype=torch.float64)
    return x * (x > 0), torch.randint(0, 20, (2, 40))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_receptive_field_is_exact(
    name: str, layers: int, as_sparse: bool, graph: tuple[Tensor, Tensor]
) -> None:
    x, edge_index = graph
    x = x.to_sparse_csr() if as_sparse else x
    model = model_of(name, num_layers=layers)
    assert_field_equals_full_graph(model, x, edge_index, torch.tensor([7, 2, 11]))


@pytest.mark.parametrize("name", MODELS)
def test_penalty_runs_over_the_same_field(name: str, graph: tuple[Tensor, Tensor]) -> None:
    """Scales and shifts of all levels: the targets' in the last layer, before it their sources'."""
    x, edge_index = graph
    model, targets = model_of(name), torch.tensor([7, 2])
    first, last = (conv.block(edge_index, (20, 20)) for conv in model.convs)
    needed = last.restrict(targets)[1]
    assert 2 < len(needed) < 20
    field = model.receptive_field(edge_index, 20, targets)
    _, all_modulations = model(x, edge_index, return_modulations=True)
    _, modulations = model(field.take(x), field, return_modulations=True)
    half = len(modulations) // 2
    assert {one.level for one in modulations} >= {"node", "edge"}
    assert len(all_modulations) == 2 * half
    for k, (whole, one) in enumerate(zip(all_modulations, modulations, strict=True)):
        block, nodes = (first, needed) if k < half else (last, targets)
        rows = torch.isin(block.neighbors.target, nodes) if whole.level == "edge" else nodes
        scale, shift = whole.scale[rows], whole.shift[rows]
        assert one.count == scale.numel()
        torch.testing.assert_close(one.scale_squares, (scale - 1).square().sum())
        torch.testing.assert_close(one.shift_squares, shift.square().sum())


def test_a_field_has_no_other_nodes_than_the_targets_depend_on() -> None:
    path = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    field = model_of("LGCN").receptive_field(path, 6, torch.tensor([4]))
    assert field.nodes.tolist() == [2, 3, 4]
    assert [block.neighbors.num_targets for block in field.blocks] == [2, 1]
    assert field.take(torch.arange(6.0)[:, None]).view(-1).tolist() == [2.0, 3.0, 4.0]
