"""What a node receives, against the equations written out by the reference kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from nodewise.analysis.layer_view import LayerView, total_and_count
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.ops import reference
from nodewise.ops.dispatch import SLOPE
from nodewise.ops.sparse import SparseRows
from tests.analysis.subjects import random_view


def literal(conv: LocalizedConv, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """W h_u, W_v h_u and the localized messages on every edge, and nothing fused."""
    assert conv.node_modulator is not None and conv.edge_modulator is not None
    neighbors = conv.block(edge_index, (len(x), len(x))).neighbors
    context = reference.sum_neighbors(x, neighbors.shares(x.dtype), neighbors)
    pairs = []
    for generator in (conv.node_modulator.to_scale, conv.node_modulator.to_shift):
        code = context[:, None].expand(-1, conv.heads, -1)
        if generator.reduce is not None:
            code = torch.einsum("vi,hki->vhk", context, generator.reduce)
        pairs.append((code, generator.expand))
    z = reference.messages(x, conv.weight, *pairs, neighbors, None, SLOPE)
    halves = [
        tuple(torch.einsum("vi,hoi->vho", x, half) for half in (ends.target, ends.source))
        for ends in (conv.edge_modulator.to_scale, conv.edge_modulator.to_shift)
    ]
    localized, _, _ = reference.modulate_edges(z, *halves, neighbors, SLOPE)  # type: ignore[arg-type]
    plain = torch.einsum("hoi,ei->eho", conv.weight, x[neighbors.source])
    return plain, z, localized


@pytest.mark.parametrize("name", ["LGCN", "LGAT", "LSAGE", "LGAT-strong"])
def test_messages_are_those_of_the_reference(name: str) -> None:
    view = random_view(name)
    opened, edge_index = LayerView(view.subject), view.subject.edge_index
    for layer, conv in enumerate(opened.layers):
        rows = opened.inputs[layer]
        assert isinstance(conv, LocalizedConv)
        expected = literal(conv, rows if isinstance(rows, Tensor) else rows.dense(), edge_index)
        neighbors = opened.blocks[layer].neighbors
        for node in (0, 7, 33):
            found, mine = opened.received(layer, node), neighbors.target == node
            assert found.sources.tolist() == neighbors.source[mine].tolist()
            for ours, theirs in zip(found[1:4], expected, strict=True):
                torch.testing.assert_close(ours, theirs[mine], rtol=1e-9, atol=1e-9)


def test_weights_are_coefficients_and_attention() -> None:
    gcn, gat = (LayerView(random_view(name).subject) for name in ("LGCN", "LGAT"))
    block = gcn.blocks[0]
    mine = block.neighbors.target == 7
    assert block.coefficient is not None
    np.testing.assert_allclose(gcn.received(0, 7).weights, block.coefficient[mine].numpy())
    assert gat.received(0, 7).weights.sum() == pytest.approx(1)


def test_a_receptive_field_has_the_logits_of_the_graph() -> None:
    for name in ("LGCN", "LSAGE", "MLP"):
        subject = random_view(name).subject
        inputs, row = LayerView(subject).field(9)
        full = subject.model(subject.x, subject.edge_index)
        torch.testing.assert_close(subject.model(*inputs)[row], full[9])


def test_sums_of_sparse_and_dense_rows_agree() -> None:
    x = torch.tensor([[1.0, 0.0, -2.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]])
    nodes = np.array([0, 1, 1])
    for rows in (x, SparseRows.from_dense(x)):
        total, count = total_and_count(rows, nodes)
        assert total.tolist() == [1, 0, 4] and count.tolist() == [1, 0, 3]
