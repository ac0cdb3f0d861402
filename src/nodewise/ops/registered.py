"""The ops as torch knows them: `torch.ops.nodewise.*`, with autograd and shapes for the compiler.

An op is registered with its backward pass as another op, so that tracing sees both as single opaque
calls. Calling a registered op costs as much bookkeeping as a small kernel takes, so eager calls go
to the same functions through a plain `torch.autograd.Function`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.inputs import MessageInputs, OwnInputs, PoolInputs


def _message_kernels(inputs: MessageInputs) -> Any:
    """The kernels are imported at the first call: Numba takes half a second."""
    from nodewise.ops.fused import head_pack, message_pack

    return head_pack if head_pack.serves(inputs) else message_pack


def _own_kernels(inputs: OwnInputs) -> Any:
    from nodewise.ops.fused import own_pack, own_sparse_pack

    return own_pack if inputs.crow is None else own_sparse_pack


def _squares_kernels() -> Any:
    from nodewise.ops.fused import squares_pack

    return squares_pack


def _edge_kernels() -> Any:
    from nodewise.ops.fused import edge_pack

    return edge_pack


def _pool_kernels() -> Any:
    from nodewise.ops.fused import pool_pack

    return pool_pack


def _messages(
    crow: Tensor | None,
    col: Tensor | None,
    values: Tensor,
    seen_ptr: Tensor | None,
    seen: Tensor | None,
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
) -> Tensor:
    """z_uv = W_v h_u; see `MessageInputs` for the arguments."""
    inputs = MessageInputs(
        crow,
        col,
        values,
        seen_ptr,
        seen,
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
    return _message_kernels(inputs).forward(inputs)  # type: ignore[no-any-return]


def _fake_messages(*args: Any) -> Any:
    weight, *rest = args[5:]
    heads, out, _ = weight.shape
    return weight.new_empty(rest[4].numel(), heads, out)


def _messages_backward(
    crow: Tensor | None,
    col: Tensor | None,
    values: Tensor,
    seen_ptr: Tensor | None,
    seen: Tensor | None,
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
    for_values: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the six differentiable inputs; that of `values` is empty unless asked for."""
    inputs = MessageInputs(
        crow,
        col,
        values,
        seen_ptr,
        seen,
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
    grads = _message_kernels(inputs).backward(inputs, grad_z, for_values=for_values)
    first = values.new_empty(0) if grads.values is None else grads.values
    return first, *grads[1:]


def _fake_messages_backward(
    crow: Any,
    col: Any,
    values: Tensor,
    seen_ptr: Tensor | None,
    seen: Tensor | None,
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
    ctx.save_for_backward(*inputs[:13])
    ctx.numbers = inputs[13:]


def _grad_messages(ops: Any, ctx: Any, grad_z: Any) -> Any:
    for_values = ctx.needs_input_grad[2]
    grads = ops.messages_backward(*ctx.saved_tensors, *ctx.numbers, grad_z, for_values)
    values = grads[0] if for_values else None
    return None, None, values, None, None, *grads[1:], None, None, None, None, None


def _own_products(
    crow: Tensor | None,
    col: Tensor | None,
    values: Tensor,
    weight: Tensor,
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    slope: float,
) -> Tensor:
    """W_v h_v, shape (nodes, H, out); see `OwnInputs` for the arguments."""
    generators = (scale_code, scale_expand, shift_code, shift_expand)
    inputs = OwnInputs(crow, col, values, weight, *generators, slope)
    return _own_kernels(inputs).forward(inputs)  # type: ignore[no-any-return]


def _fake_own_products(*args: Any) -> Any:
    weight, code = args[3:5]
    return weight.new_empty(code.size(0), *weight.shape[:2])


def _own_products_backward(
    crow: Tensor | None,
    col: Tensor | None,
    values: Tensor,
    weight: Tensor,
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    slope: float,
    grad: Tensor,
    for_values: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the six differentiable inputs; that of `values` is empty unless asked for."""
    generators = (scale_code, scale_expand, shift_code, shift_expand)
    inputs = OwnInputs(crow, col, values, weight, *generators, slope)
    grads = _own_kernels(inputs).backward(inputs, grad, for_values=for_values)
    first = values.new_empty(0) if grads.values is None else grads.values
    return first, *grads[1:]


def _fake_own_products_backward(crow: Any, col: Any, values: Tensor, *rest: Any) -> Any:
    first = values.new_empty(values.shape if rest[-1] else 0)
    return first, *(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in rest[:5])


def _save_own_products(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, ctx.slope = inputs
    ctx.save_for_backward(*tensors)


def _grad_own_products(ops: Any, ctx: Any, grad: Any) -> Any:
    for_values = ctx.needs_input_grad[2]
    first, *grads = ops.own_products_backward(*ctx.saved_tensors, ctx.slope, grad, for_values)
    return None, None, first if for_values else None, *grads, None


def _squares(
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    slope: float,
    gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums of (a_v - 1)^2 and b_v^2; and half their gradients by codes and expands, if asked.

    Those cost less while the scales are at hand than they would in a pass of their own.
    """
    scale, shift = (scale_code, scale_expand), (shift_code, shift_expand)
    a, b, codes, expands = _squares_kernels().squares(scale, shift, slope, gradient=gradient)
    return a, b, codes, expands


def _fake_squares(code: Tensor, expand: Tensor, *rest: Any) -> Any:
    shapes = ((2, *code.shape), (2, *expand.shape)) if rest[-1] else ((2, 0), (2, 0))
    return code.new_empty(()), code.new_empty(()), *(code.new_empty(shape) for shape in shapes)


def _save_squares(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.mark_non_differentiable(*output[2:])
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*output[2:])


def _grad_squares(ops: Any, ctx: Any, grad_a: Any, grad_b: Any, *rest: Any) -> Any:
    codes, expands = ctx.saved_tensors
    a, b = (
        (None, None) if grad is None else (2 * grad * codes[i], 2 * grad * expands[i])
        for i, grad in enumerate((grad_a, grad_b))
    )
    return *a, *b, None, None


def _modulate_edges(
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
    out, a, b = _edge_kernels().modulate(z, ends, source, ptr, slope)
    return out, a, b


def _fake_modulate_edges(z: Tensor, *rest: Any) -> Any:
    out = torch.empty(z.shape, dtype=z.dtype, device=z.device)
    return out, z.new_empty(()), z.new_empty(())


def _modulate_edges_backward(
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
    grads = _edge_kernels().modulate_backward(
        z, ends, source, ptr, back_ptr, back_edge, slope, grad_out, grad_a, grad_b
    )
    return grads[0], grads[1], grads[2], grads[3], grads[4]


def _fake_modulate_edges_backward(z: Tensor, *rest: Any) -> Any:
    return tuple(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (z, *rest[:4]))


def _save_edges(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:-1])
    ctx.slope = inputs[-1]


def _grad_edges(ops: Any, ctx: Any, grad_out: Any, grad_a: Any, grad_b: Any) -> Any:
    grads = ops.modulate_edges_backward(*ctx.saved_tensors, ctx.slope, grad_out, grad_a, grad_b)
    return *grads, None, None, None, None, None


def _sum_runs(
    x: Tensor,
    weight: Tensor | None,
    index: Tensor,
    ptr: Tensor,
    back_index: Tensor,
    back_edge: Tensor,
    back_ptr: Tensor,
) -> Tensor:
    """out[v] = sum over v's run of edges of weight[e] x[index[e]].

    The weight is (E,), or (E, H) for rows (N, H, ...), a number for each head.
    `back_*` are the same edges sorted by `index`: their run ends, and their places in the runs.
    """
    return _edge_kernels().weighted_sum(x, index, weight, ptr)  # type: ignore[no-any-return]


def _fake_sum_runs(x: Tensor, weight: Any, index: Tensor, ptr: Tensor, *rest: Any) -> Any:
    return x.new_empty(ptr.numel() - 1, *x.shape[1:])


def _edge_dots(x: Tensor, g: Tensor, index: Tensor, ptr: Tensor, weight: Tensor) -> Tensor:
    """out[e] = x[index[e]] . g[v], head by head: the gradient of an edge's weight."""
    return _edge_kernels().edge_dots(x, g, index, ptr, weight)  # type: ignore[no-any-return]


def _fake_edge_dots(x: Tensor, g: Tensor, index: Tensor, ptr: Tensor, weight: Tensor) -> Any:
    return torch.empty(weight.shape, dtype=x.dtype, device=x.device)


def _save_sum(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _grad_sum(ops: Any, ctx: Any, grad: Any) -> Any:
    x, weight, index, ptr, back_index, back_edge, back_ptr = ctx.saved_tensors
    grad_x = grad_weight = None
    if ctx.needs_input_grad[0]:
        back_weight = None if weight is None else weight[back_edge]
        grad_x = ops.sum_runs(
            grad, back_weight, back_index, back_ptr, back_index, back_edge, back_ptr
        )
    if ctx.needs_input_grad[1]:
        grad_weight = ops.edge_dots(x, grad, index, ptr, weight)
    return grad_x, grad_weight, None, None, None, None, None


def _pool_rows(
    values: Tensor,
    weight: Tensor | None,
    crow: Tensor,
    col: Tensor,
    source: Tensor,
    ptr: Tensor,
    out_crow: Tensor,
    out_col: Tensor,
    width: int,
) -> Tensor:
    """The entries of sum_u w_uv h_u for sparse rows h_u, in the places (out_crow, out_col)."""
    inputs = PoolInputs(values, weight, crow, col, source, ptr, out_crow, out_col, width)
    return _pool_kernels().forward(inputs)  # type: ignore[no-any-return]


def _fake_pool_rows(values: Tensor, *rest: Any) -> Any:
    return values.new_empty(rest[6].numel())


def _pool_rows_backward(
    values: Tensor,
    weight: Tensor | None,
    crow: Tensor,
    col: Tensor,
    source: Tensor,
    ptr: Tensor,
    out_crow: Tensor,
    out_col: Tensor,
    width: int,
    grad: Tensor,
    for_values: bool,
    for_weight: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of the entries and of the weights; empty where not asked for."""
    inputs = PoolInputs(values, weight, crow, col, source, ptr, out_crow, out_col, width)
    asked = {"for_values": for_values, "for_weight": for_weight}
    of_values, of_weight = _pool_kernels().backward(inputs, grad, **asked)
    return of_values, of_weight


def _fake_pool_rows_backward(values: Tensor, *rest: Any) -> Any:
    for_values, for_weight = rest[-2:]
    source = rest[3]
    return (
        torch.empty_like(values) if for_values else values.new_empty(0),
        values.new_empty(source.numel() if for_weight else 0),
    )


def _save_pool(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:-1])
    ctx.width = inputs[-1]


def _grad_pool(ops: Any, ctx: Any, grad: Any) -> Any:
    asked = ctx.needs_input_grad[:2]
    found = ops.pool_rows_backward(*ctx.saved_tensors, ctx.width, grad, *asked)
    grads = (one if wanted else None for one, wanted in zip(found, asked, strict=True))
    return *grads, None, None, None, None, None, None, None


def _dropout(x: Tensor, seed: Tensor, rate: float) -> Tensor:
    """x without the entries that the seed's mask drops, the others grown."""
    from nodewise.ops.fused import dropout_pack

    return dropout_pack.dropout(x, DropConnect(rate, seed))


def _fake_dropout(x: Tensor, seed: Tensor, rate: float) -> Any:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _save_dropout(ctx: Any, inputs: Any, output: Any) -> None:
    _, seed, ctx.rate = inputs
    ctx.save_for_backward(seed)


def _grad_dropout(ops: Any, ctx: Any, grad: Any) -> Any:
    return ops.dropout(grad, *ctx.saved_tensors, ctx.rate), None, None


def without_zeros(crow: Tensor, col: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sparse rows without the entries that dropout left as zeros; no gradient goes back."""
    crow, col, values = _pool_kernels().without_zeros(crow, col, values)
    return crow, col, values


def _eager_function(
    name: str,
    function: Callable[..., Any],
    save: Callable[..., None],
    gradient: Callable[..., Any],
) -> Any:
    """The op as a `torch.autograd.Function`, in one piece since that is faster to call."""

    def forward(ctx: Any, *args: Any) -> Any:
        output = function(*args)
        save(ctx, args, output)
        return output

    backward = once_differentiable(partial(gradient, _eager))
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), members)


class _Op:
    """One op under its name, for eager calls and for the compiler.

    Args:
        name: Its name under `torch.ops.nodewise`.
        function: What it computes.
        fake: What shapes it gives.
        save: Keeps on a context what the gradient needs.
        gradient: Computes gradients by calling ops of the namespace it is given.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        fake: Callable[..., Any],
        save: Callable[..., None] | None = None,
        gradient: Callable[..., Any] | None = None,
    ) -> None:
        self.registered = torch.library.custom_op(f"nodewise::{name}", function, mutates_args=())
        self.registered.register_fake(fake)
        setattr(_eager, name, function)
        if save is not None and gradient is not None:
            traced = partial(gradient, torch.ops.nodewise)
            self.registered.register_autograd(traced, setup_context=save)
            self.function = _eager_function(name, function, save, gradient)

    def __call__(self, *args: Any) -> Any:
        """Compute, differentiably."""
        if torch.compiler.is_compiling():
            return self.registered(*args)
        return self.function.apply(*args)


_eager = SimpleNamespace()
_Op("messages_backward", _messages_backward, _fake_messages_backward)
_Op("own_products_backward", _own_products_backward, _fake_own_products_backward)
_Op("modulate_edges_backward", _modulate_edges_backward, _fake_modulate_edges_backward)
_Op("edge_dots", _edge_dots, _fake_edge_dots)
_Op("pool_rows_backward", _pool_rows_backward, _fake_pool_rows_backward)
messages = _Op("messages", _messages, _fake_messages, _save_messages, _grad_messages)
own_products = _Op(
    "own_products", _own_products, _fake_own_products, _save_own_products, _grad_own_products
)
squares = _Op("squares", _squares, _fake_squares, _save_squares, _grad_squares)
modulate_edges = _Op(
    "modulate_edges", _modulate_edges, _fake_modulate_edges, _save_edges, _grad_edges
)
sum_runs = _Op("sum_runs", _sum_runs, _fake_sum_runs, _save_sum, _grad_sum)
dropout = _Op("dropout", _dropout, _fake_dropout, _save_dropout, _grad_dropout)
pool_rows = _Op("pool_rows", _pool_rows, _fake_pool_rows, _save_pool, _grad_pool)
