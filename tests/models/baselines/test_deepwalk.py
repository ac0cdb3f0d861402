from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk, deepwalk_embedding


def two_cliques(size: int = 8) -> Tensor:
    """Two complete graphs joined by one edge."""
    inside = torch.combinations(torch.arange(size)).t()
    return torch.cat([inside, inside + size, torch.tensor([[0], [size]])], 1)


def test_nodes_of_one_clique_are_closer_than_those_of_two() -> None:
    rows = deepwalk_embedding(two_cliques(), 16, length=30, dimension=16, epochs=5, seed=0)
    unit = torch.nn.functional.normalize(rows - rows.mean(0))
    close = unit @ unit.t()
    assert rows.shape == (16, 16)
    assert close[1:8, 1:8].mean() > 0.4 + close[1:8, 9:].mean()


def test_equal_seeds_give_equal_bits_and_others_do_not() -> None:
    options = {"length": 10, "dimension": 8}
    first = deepwalk_embedding(two_cliques(), 16, **options, seed=3)
    assert torch.equal(first, deepwalk_embedding(two_cliques(), 16, **options, seed=3))
    assert not torch.equal(first, deepwalk_embedding(two_cliques(), 16, **options, seed=4))


def test_embed_keeps_the_embedding_of_its_graph() -> None:
    model = DeepWalk(3, 2, 16, dimension=4)
    model.embed(two_cliques(), seed=1, length=5)
    expected = deepwalk_embedding(two_cliques(), 16, dimension=4, seed=1, length=5)
    assert torch.equal(model.embedding, expected)


def test_logits_are_linear_in_embedding_and_features() -> None:
    torch.manual_seed(0)
    model = DeepWalk(3, 2, 16, dimension=4)
    model.embed(two_cliques(), seed=0, length=5)
    x = torch.randn(16, 3).relu()
    logits = model(x, two_cliques())
    torch.testing.assert_close(logits, model.linear(torch.cat([model.embedding, x], 1)))
    torch.testing.assert_close(model(x.to_sparse_csr(), two_cliques()), logits)


def test_the_state_dict_holds_everything() -> None:
    model, other = DeepWalk(3, 2, 16), DeepWalk(3, 2, 16)
    model.embed(two_cliques(), seed=0, length=5)
    other.load_state_dict(model.state_dict())
    x = torch.randn(16, 3)
    assert torch.equal(other(x), model(x))


def test_another_graph_is_refused() -> None:
    with pytest.raises(InputError, match="features of the 16 nodes"):
        DeepWalk(3, 2, 16)(torch.zeros(5, 3))


def test_cora_counts_two_vectors_a_node() -> None:
    assert DeepWalk(1433, 7, 2708).paper_parameter_count == 693_248
