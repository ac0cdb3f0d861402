from __future__ import annotations

import pytest
import torch
from torch.nn.functional import elu
from torch_geometric.nn import GATConv
from torch_geometric.nn.models import GCN

from nodewise.errors import UnknownNameError
from nodewise.experiments.published import printed_parameters
from nodewise.models.classifier import Classifier
from nodewise.models.zoo import ZOO, Row, Sizes, build_model, localized_forms, paper_count
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.testing import assert_parameter_count
from nodewise.training.recipe import load_recipe
from tests.graphs import SIX_EDGES

COUNTS = {
    "GCN": 11_520,
    "GCN-64": 92_160,
    "GCN-96": 138_240,
    "GCN-FiLM": 34_560,
    "LGCN": 103_584,
    "LGCN:global": 11_520,
    "GAT": 92_302,
    "GAT-96": 1_107_470,
    "GAT-FiLM": 276_622,
    "LGAT": 835_982,
    "LGAT:global": 92_302,
    "LGIN": 126_624,
}


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_cora_has_the_papers_parameter_counts(name: str, count: int) -> None:
    assert_parameter_count(build_model(name, 1433, 7), count)


@pytest.mark.parametrize(("name", "count"), [("GIN", 11_535), ("GIN-FiLM", 34_575)])
def test_gin_counts_the_bias_of_its_mlp(name: str, count: int) -> None:
    assert_parameter_count(build_model(name, 1433, 7), count, with_biases=True)


@pytest.mark.parametrize("name", ZOO)
def test_counts_are_those_that_the_paper_prints(name: str) -> None:
    printed = printed_parameters(name, "cora")
    found = paper_count(name, build_model(name, 1433, 7, 2708))
    ours = ("GCN-tuned", "MLP", "SAGE", "LSAGE")
    of_others = name.startswith("PyG") or ZOO[name].family == "scikit-learn"
    assert (printed is None) == (":" in name or "-strong" in name or name in ours or of_others)
    if printed is not None:
        assert abs(found - printed) <= max(1000, 0.012 * printed)


@pytest.mark.parametrize("name", [name for name, row in ZOO.items() if isinstance(row, Row)])
def test_every_row_trains_a_step(name: str) -> None:
    torch.manual_seed(0)
    model = build_model(name, 5, 3, input_dropout=0.3, weight_dropout=0.3)
    x = torch.randn(int(SIX_EDGES.max()) + 1, 5)
    model(x, SIX_EDGES).square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_the_baselines_are_pygs_own_models() -> None:
    x = torch.randn(int(SIX_EDGES.max()) + 1, 5, dtype=torch.float64)
    ours = build_model("GCN", 5, 3).double()
    reference = GCN(5, 8, num_layers=2, out_channels=3, act=elu, bias=False).double()
    assert isinstance(ours, Classifier)
    for conv, twin in zip(ours.layers, reference.convs, strict=True):
        twin.lin.weight.data = conv.weight.data[0]
    torch.testing.assert_close(ours(x, SIX_EDGES), reference(x, SIX_EDGES))

    ours = build_model("GAT", 5, 3).double()
    twin = GATConv(5, 8, heads=8, bias=False).double()
    assert isinstance(ours, Classifier)
    conv = ours.layers[0]
    twin.lin.weight.data = conv.weight.data.flatten(0, 1)
    twin.att_src.data = conv.aggregator.attention.source.data[None]
    twin.att_dst.data = conv.aggregator.attention.target.data[None]
    torch.testing.assert_close(conv(x, SIX_EDGES), twin(x, SIX_EDGES))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="'LGCN'"):
        build_model("lgcnn", 5, 3)


@pytest.mark.parametrize("name", ZOO)
def test_localized_forms_are_rows_with_the_named_levels(name: str) -> None:
    forms = localized_forms(name)
    has_forms = name.removesuffix("-strong").removesuffix("-64").removesuffix("-96")
    assert bool(forms) == (has_forms in ("GCN", "GAT", "GIN", "SAGE"))
    for levels, form in forms.items():
        row = ZOO[form]
        assert isinstance(row, Row)
        assert (row.node_level, row.edge_level) == ("nodes" in levels, "edges" in levels)
        assert row.backbone == ZOO[name].backbone  # type: ignore[union-attr]


@pytest.mark.parametrize("recipe", ["paper", "official"])
def test_the_paper_s_recipes_build_the_paper_s_generators(recipe: str) -> None:
    """Rows are as they are (Eqs. 5 and 7), whatever `localize` does with a conv of PyG."""
    for name, row in ZOO.items():
        for dataset in ("cora", "amazon"):
            arch = load_recipe(recipe, name, dataset).architecture
            assert arch.generator_row_sum == 0
            if isinstance(row, Row):
                layers = row.build(Sizes(5, 3), arch).layers
                sums = [
                    conv.generator_row_sum for conv in layers if isinstance(conv, LocalizedConv)
                ]
                assert not any(sums) and (sums or not row.is_localized)


def test_a_recipe_may_give_generators_rows_of_one_sum() -> None:
    model = build_model("LGCN", 5, 3, generator_row_sum=0.5)
    assert isinstance(model, Classifier)
    assert [conv.generator_row_sum for conv in model.layers] == [0.5, 0.5]
