"""Eqs. 4-9 once more, a node and an edge at a time in plain loops, sharing no code."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from nodewise.nn.localized_conv import LocalizedConv


def contexts(edge_index: Tensor, nodes: int) -> list[list[int]]:
    """C_v = {v} and its neighbors; v once, whatever the edges say, repeats as often as given."""
    found: list[list[int]] = [[] for _ in range(nodes)]
    for u, v in edge_index.t().tolist():
        if u != v:
            found[v].append(u)
    return [[*members, v] for v, members in enumerate(found)]


def literal_mean_layer(conv: LocalizedConv, x: Tensor, edge_index: Tensor) -> Tensor:
    """One head, mean aggregation, mean context, no bias: the paper's layer."""
    rows = []
    node, edge = conv.node_modulator, conv.edge_modulator
    assert node is not None and edge is not None
    for v, members in enumerate(contexts(edge_index, x.size(0))):
        c = torch.stack([x[u] for u in members]).mean(0)
        if node.to_scale.reduce is not None:
            a = leaky_relu(node.to_scale.expand[0] @ (node.to_scale.reduce[0] @ c), 0.2) + 1
            b = leaky_relu(node.to_shift.expand[0] @ (node.to_shift.reduce[0] @ c), 0.2)
        else:
            a = leaky_relu(node.to_scale.expand[0] @ c, 0.2) + 1
            b = leaky_relu(node.to_shift.expand[0] @ c, 0.2)
        local = conv.weight[0] * a[None, :] + b[None, :].expand_as(conv.weight[0])
        messages = []
        for u in members:
            ends = torch.cat([x[v], x[u]])
            n_a = torch.cat([edge.to_scale.target[0], edge.to_scale.source[0]], 1)
            n_b = torch.cat([edge.to_shift.target[0], edge.to_shift.source[0]], 1)
            a_uv, b_uv = leaky_relu(n_a @ ends, 0.2) + 1, leaky_relu(n_b @ ends, 0.2)
            messages.append((local @ x[u]) * a_uv + b_uv)
        rows.append(torch.stack(messages).mean(0))
    return torch.stack(rows)
