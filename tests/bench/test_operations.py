from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import nodewise as nw
from nodewise.bench.operations import LayerSizes, Operations, operations
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.nn.block import build_block
from nodewise.ops.sparse import SparseRows
from nodewise.training.recipe import load_recipe
from tests.training.tasks import small_graph

MODELS = ("GCN", "LGCN", "GAT", "LGAT", "GIN", "LGIN")


def model_of(name: str, recipe: str = "official") -> Classifier:
    data = small_graph()
    arch = load_recipe(recipe, name, "cora").architecture
    model = nw.build_model(name, data.num_features, 3, data.num_nodes, **vars(arch))
    assert isinstance(model, Classifier)
    return model.eval()


@pytest.mark.parametrize("recipe", ["official", "paper"])
@pytest.mark.parametrize("name", MODELS)
def test_products_are_those_that_torch_counts_in_the_reference(name: str, recipe: str) -> None:
    data, model = small_graph(), model_of(name, recipe)
    counter = FlopCounterMode(display=False)
    with nw.use_kernel("reference"), counter:
        model(data.x, data.edge_index)
    found = operations(model, data.x, data.edge_index)
    assert found.products == counter.get_total_flops()
    assert found.total == found.products + found.entrywise > found.products


def test_rows_without_a_zero_cost_the_same_sparse_and_dense() -> None:
    data, model = small_graph(), model_of("LGCN")
    full = data.x.abs() + 1
    sparse = SparseRows.from_dense(full)
    edges = data.edge_index
    assert operations(model, sparse, edges) == operations(model, full, edges)


def test_sizes_of_sparse_rows_count_stored_entries() -> None:
    x = torch.tensor([[1.0, 0, 0], [1, 2, 0], [0, 0, 0]])
    edges = torch.tensor([[0, 1, 1, 2], [2, 2, 0, 1]])
    rule = nw.LocalizedConv(3, 2, "sum").aggregator.rule
    neighbors = build_block(edges, None, 3, 3, rule, torch.float32).neighbors
    loops = neighbors.num_edges - 4
    found = LayerSizes.of(SparseRows.from_dense(x), neighbors)
    around = {0: [1], 1: [2], 2: [0, 1]}
    if loops:
        around = {v: [*members, v] for v, members in around.items()}
    rows = [set(row.nonzero().view(-1).tolist()) for row in x]
    assert found.entries == 3
    assert found.edge_entries == sum(len(rows[u]) for us in around.values() for u in us)
    assert found.columns == sum(len(set().union(*(rows[u] for u in us))) for us in around.values())


def test_what_is_not_counted_is_refused() -> None:
    data = small_graph()
    with pytest.raises(InputError, match="FilmConv"):
        operations(model_of("GCN-FiLM"), data.x, data.edge_index)


def test_operations_add_up() -> None:
    assert Operations(1, 2) + Operations(10, 20) == Operations(11, 22)
