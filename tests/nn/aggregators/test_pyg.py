from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import aggr

from nodewise.errors import InputError
from nodewise.nn.aggregators import AnyAggregation, PostProcess
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import Inits
from tests.graphs import NINE_EDGES

SAME_SIZE = {
    "max": aggr.MaxAggregation(),
    "softmax": aggr.SoftmaxAggregation(learn=True),
    "power mean": aggr.PowerMeanAggregation(learn=True),
    "median": aggr.MedianAggregation(),
    "variance": aggr.VarAggregation(),
    "several, in the mean": aggr.MultiAggregation(["min", "max"], mode="mean"),
}
OTHER_SIZE = {
    "several, side by side": aggr.MultiAggregation(["mean", "max"]),
    "quantiles": aggr.QuantileAggregation([0.2, 0.8]),
    "the largest two": aggr.SortAggregation(2),
    "LSTM": aggr.LSTMAggregation(4, 8),
    "Set2Set": aggr.Set2Set(4, 2),
}


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 5, dtype=torch.float64)


@pytest.mark.parametrize("name", SAME_SIZE)
def test_any_aggregation_sees_the_messages_of_c_v(name: str, x: Tensor) -> None:
    torch.manual_seed(0)
    conv = LocalizedConv(5, 4, SAME_SIZE[name], inits=Inits(modulator="zeros")).double()
    block = conv.block(NINE_EDGES, (6, 6))
    messages = (x @ conv.weight[0].t())[block.neighbors.source]
    expected = SAME_SIZE[name].double()(messages, index=block.neighbors.target, dim_size=6)
    torch.testing.assert_close(conv(x, NINE_EDGES), expected)


@pytest.mark.parametrize("name", OTHER_SIZE)
def test_aggregations_of_another_size_are_brought_back_or_refused(name: str, x: Tensor) -> None:
    torch.manual_seed(0)
    wide = OTHER_SIZE[name]
    with pytest.raises(
        InputError, match=r"PostProcess\(AnyAggregation\(...\), torch.nn.Linear\(8, 4\)\)"
    ):
        LocalizedConv(5, 4, wide).double()(x, NINE_EDGES)
    back = torch.nn.Linear(8, 4)
    conv = LocalizedConv(
        5, 4, PostProcess(AnyAggregation(wide), back), inits=Inits(modulator="zeros")
    ).double()
    block = conv.block(NINE_EDGES, (6, 6))
    messages = (x @ conv.weight[0].t())[block.neighbors.source]
    expected = back(wide(messages, index=block.neighbors.target, dim_size=6))
    torch.testing.assert_close(conv(x, NINE_EDGES), expected)
    with pytest.raises(InputError, match="take one head"):
        LocalizedConv(5, 2, wide, heads=2).double()(x, NINE_EDGES)
