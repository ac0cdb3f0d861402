"""x W^T of dense rows by oneDNN, which torch comes with, in place of torch's BLAS.

MKL, torch's BLAS on x86, does not use the full vector registers of AMD's processors: there, oneDNN
multiplies tall matrices up to twice as fast, with the same bits on any number of threads. Speed is
bound by arithmetic. The BLAS keeps small products, as oneDNN takes longer to begin; those with wide
results, in which it is slower; and sums over many rows, such as the gradient of W, whose order in
oneDNN depends on the number of threads.

In MKL it does so, too, where the result's rows are not a multiple of eight, as the gradient of a W
with a row for each class; that product gets one thread. The other products here have the same bits
on one thread and two. On three or more, MKL cuts odd sizes differently: x W^T may then differ in
the last bit.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from nodewise.ops.order import one_thread

# Multiply-adds from which on oneDNN is faster, and the width of results up to which it is.
_MANY, _NARROW = 1 << 21, 128


def project(x: Tensor, weight: Tensor) -> Tensor:
    """x weight^T, shape (N, out), for dense rows (N, in) and a weight (out, in)."""
    if _is_ours(x, weight) and (_pays(x, weight) or _follows_threads(weight)):
        out: Tensor = _Product.apply(x, weight)  # type: ignore[no-untyped-call]
        return out
    return x @ weight.t()


def _is_ours(x: Tensor, weight: Tensor) -> bool:
    """Whether torch would multiply these on the CPU as they are."""
    return (
        x.device.type == weight.device.type == "cpu"
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
    )


def _pays(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN is there, takes these rows and multiplies them faster."""
    return (
        x.numel() * weight.size(0) >= _MANY
        and weight.size(0) <= _NARROW
        and x.size(1) <= x.size(0)
        and x.dtype == weight.dtype == torch.float32
        and _is_there()
    )


def _follows_threads(weight: Tensor) -> bool:
    """Whether the bits of the gradient of W would follow the number of threads."""
    return weight.size(0) % 8 > 0 and weight.requires_grad and torch.get_num_threads() > 1


def _is_there() -> bool:
    has_onednn = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return has_onednn and hasattr(torch.ops.mkldnn, "_linear_pointwise")


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        if not _pays(x, weight):
            return x @ weight.t()
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (x, weight), (gradient,) = ctx.saved_tensors, gradients
        of_x = project(gradient, weight.t()) if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return of_x, None
        with one_thread() if gradient.size(1) % 8 else nullcontext():
            return of_x, gradient.t() @ x
