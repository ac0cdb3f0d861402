"""The ops as torch knows them: `torch.ops.nodewise.*`, with autograd and shapes for the compiler.

Each op that has kernels of its own is registered twice, forward and backward, so that tracing sees
both as single opaque calls.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nodewise.ops.inputs import MessageInputs


def _messages() -> Any:
    """The kernels are imported at the first call: Numba takes half a second."""
    from nodewise.ops.fused import message_pack

    return message_pack


def _edges() -> Any:
    from nodewise.ops.fused import edge_pack

    return edge_pack


@torch.library.custom_op("nodewise::messages", mutates_args=())
def messages(
    crow: Tensor | None,
    col: Tensor | None,
    values: Tensor,
    weight: Tensor,
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    source: Tensor,
    ptr: Tensor,
    seed: Tensor | None,
    rate: float,
    slope: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """z_uv = W_v h_u and the sums of squares; see `MessageInputs` for the arguments."""
    inputs = MessageInputs(
        crow,
        col,
        values,
        weight,
        scale_code,
        scale_expand,
        shift_code,
        shift_expand,
        source,
        ptr,
        seed,
        rate,
        slope,
    )
    z, a, b = _messages().forward(inputs)
    return z, a, b


@messages.register_fake
def _(crow: Any, col: Any, values: Tensor, weight: Tensor, *rest: Any) -> Any:
    heads, out, _ = weight.shape
    edges = rest[4].numel()
    return weight.new_empty(edges, heads, out), weight.new_empty(()), weight.new_empty(())


@torch.library.custom_op("nodewise::messages_backward", mutates_args=())
def messages_backward(
    crow: Tensor | None,
    col: Tensor | None,
    values: Tensor,
    weight: Tensor,
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    source: Tensor,
    ptr: Tensor,
    seed: Tensor | None,
    rate: float,
    slope: float,
    grad_z: Tensor,
    grad_a: Tensor,
    grad_b: Tensor,
    for_values: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the six differentiable inputs; that of `values` is empty unless asked for."""
    inputs = MessageInputs(
        crow,
        col,
        values,
        weight,
        scale_code,
        scale_expand,
        shift_code,
        shift_expand,
        source,
        ptr,
        seed,
        rate,
        slope,
    )
    grads = _messages().backward(inputs, grad_z, grad_a, grad_b, for_values=for_values)
    first = values.new_empty(0) if grads.values is None else grads.values
    # Outputs of a registered op may not share memory, and codes come as halves of one tensor.
    rest = [grad.clone(memory_format=torch.contiguous_format) for grad in grads[1:]]
    return first, rest[0], rest[1], rest[2], rest[3], rest[4]


@messages_backward.register_fake
def _(
    crow: Any,
    col: Any,
    values: Tensor,
    weight: Tensor,
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    *rest: Any,
) -> Any:
    first = torch.empty_like(values) if rest[-1] else values.new_empty(0)
    others = (weight, scale_code, scale_expand, shift_code, shift_expand)
    return first, *(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in others)


def _save_messages(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:11])
    ctx.numbers = inputs[11:]


def _grad_messages(ctx: Any, grad_z: Any, grad_a: Any, grad_b: Any) -> Any:
    for_values = ctx.needs_input_grad[2]
    grads = torch.ops.nodewise.messages_backward(
        *ctx.saved_tensors, *ctx.numbers, grad_z, grad_a, grad_b, for_values
    )
    values = grads[0] if for_values else None
    return None, None, values, *grads[1:], None, None, None, None, None


messages.register_autograd(_grad_messages, setup_context=_save_messages)


@torch.library.custom_op("nodewise::modulate_edges", mutates_args=())
def modulate_edges(
    z: Tensor,
    scale_target: Tensor,
    scale_source: Tensor,
    shift_target: Tensor,
    shift_source: Tensor,
    source: Tensor,
    ptr: Tensor,
    back_ptr: Tensor,
    back_edge: Tensor,
    slope: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """z * a_uv + b_uv (Eqs. 8 and 9) and the sums of squares."""
    ends = [scale_target, scale_source, shift_target, shift_source]
    out, a, b = _edges().modulate(z, ends, source, ptr, slope)
    return out, a, b


@modulate_edges.register_fake
def _(z: Tensor, *rest: Any) -> Any:
    out = torch.empty(z.shape, dtype=z.dtype, device=z.device)
    return out, z.new_empty(()), z.new_empty(())


@torch.library.custom_op("nodewise::modulate_edges_backward", mutates_args=())
def modulate_edges_backward(
    z: Tensor,
    scale_target: Tensor,
    scale_source: Tensor,
    shift_target: Tensor,
    shift_source: Tensor,
    source: Tensor,
    ptr: Tensor,
    back_ptr: Tensor,
    back_edge: Tensor,
    slope: float,
    grad_out: Tensor,
    grad_a: Tensor,
    grad_b: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of z and of the four halves."""
    ends = [scale_target, scale_source, shift_target, shift_source]
    grads = _edges().modulate_backward(
        z, ends, source, ptr, back_ptr, back_edge, slope, grad_out, grad_a, grad_b
    )
    return grads[0], grads[1], grads[2], grads[3], grads[4]


@modulate_edges_backward.register_fake
def _(z: Tensor, *rest: Any) -> Any:
    return tuple(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (z, *rest[:4]))


def _save_edges(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:-1])
    ctx.slope = inputs[-1]


def _grad_edges(ctx: Any, grad_out: Any, grad_a: Any, grad_b: Any) -> Any:
    grads = torch.ops.nodewise.modulate_edges_backward(
        *ctx.saved_tensors, ctx.slope, grad_out, grad_a, grad_b
    )
    return *grads, None, None, None, None, None


modulate_edges.register_autograd(_grad_edges, setup_context=_save_edges)


@torch.library.custom_op("nodewise::sum_runs", mutates_args=())
def sum_runs(
    x: Tensor,
    weight: Tensor | None,
    index: Tensor,
    ptr: Tensor,
    back_index: Tensor,
    back_edge: Tensor,
    back_ptr: Tensor,
) -> Tensor:
    """out[v] = sum over v's run of edges of weight[e] x[index[e]].

    `back_*` are the same edges sorted by `index`: their run ends, and their places in the runs.
    """
    return _edges().weighted_sum(x, index, weight, ptr)  # type: ignore[no-any-return]


@sum_runs.register_fake
def _(x: Tensor, weight: Any, index: Tensor, ptr: Tensor, *rest: Any) -> Any:
    return x.new_empty(ptr.numel() - 1, *x.shape[1:])


@torch.library.custom_op("nodewise::edge_dots", mutates_args=())
def edge_dots(x: Tensor, g: Tensor, index: Tensor, ptr: Tensor) -> Tensor:
    """out[e] = x[index[e]] . g[v]: the gradient of an edge's weight."""
    return _edges().edge_dots(x, g, index, ptr)  # type: ignore[no-any-return]


@edge_dots.register_fake
def _(x: Tensor, g: Tensor, index: Tensor, ptr: Tensor) -> Any:
    return x.new_empty(index.numel())


def _save_sum(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _grad_sum(ctx: Any, grad: Any) -> Any:
    x, weight, index, ptr, back_index, back_edge, back_ptr = ctx.saved_tensors
    grad_x = grad_weight = None
    if ctx.needs_input_grad[0]:
        back_weight = None if weight is None else weight[back_edge]
        grad_x = torch.ops.nodewise.sum_runs(
            grad, back_weight, back_index, back_ptr, back_index, back_edge, back_ptr
        )
    if ctx.needs_input_grad[1]:
        grad_weight = torch.ops.nodewise.edge_dots(x, grad, index, ptr)
    return grad_x, grad_weight, None, None, None, None, None


sum_runs.register_autograd(_grad_sum, setup_context=_save_sum)
