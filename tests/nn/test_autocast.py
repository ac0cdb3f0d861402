from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.models.zoo import build_model
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.ops.dispatch import KERNELS, use_kernel
from nodewise.ops.sparse import SparseRows

EDGES = torch.tensor([[0, 1, 2, 3, 3], [1, 0, 1, 4, 2]])
MODELS = ("LGCN", "LGAT", "LGIN", "LSAGE", "LGIN-strong", "GAT-FiLM", "GCN")


def x() -> Tensor:
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(0))


def convs() -> list[BaseConv]:
    torch.manual_seed(0)
    options = ({}, {"aggregator": "gat", "heads": 2}, {"edge_level": False, "bottleneck": 3})
    return [*(LocalizedConv(6, 4, **each) for each in options), FilmConv(6, 4)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_changes_no_bit_of_a_layer(kernel: str, dtype: torch.dtype) -> None:
    half = x().to(dtype)
    for conv in convs():
        for rows, same in (
            (x(), x()),
            (half, half.float()),
            (SparseRows.from_dense(half), half.float()),
        ):
            with use_kernel(kernel):
                expected = conv(same, EDGES)
                with torch.autocast("cpu", dtype):
                    out = conv(rows, EDGES)
                    conv.zero_grad()
                    out.square().sum().backward()
            assert out.dtype == torch.float32
            if not isinstance(rows, SparseRows):
                assert torch.equal(out, expected)
            torch.testing.assert_close(out, expected)
            assert conv.weight.grad is not None and conv.weight.grad.isfinite().all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MODELS)
def test_models_train_in_mixed_precision(kernel: str, name: str) -> None:
    torch.manual_seed(0)
    model = build_model(name, in_channels=6, out_channels=3).eval()
    with use_kernel(kernel):
        expected = model(x(), EDGES)
        with torch.autocast("cpu", torch.bfloat16):
            out = model(x(), EDGES)
            out.float().square().sum().backward()
    torch.testing.assert_close(out.float(), expected, rtol=0.05, atol=0.05)
    grads = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert grads and all(grad.isfinite().all() for grad in grads)
