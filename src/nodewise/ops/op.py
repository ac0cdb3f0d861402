"""An op declared once: its schema, autograd, fake kernel and packing follow from its inputs.

An op's inputs are a `NamedTuple` of tensors and numbers. Its kernels are two functions of the same
name in `nodewise.ops.fused.launch`, `<name>` and `<name>_backward`, which fill arrays whose shapes
the declaration gives. `torch.ops.nodewise.<name>` is what `torch.compile` sees, the backward pass
being another opaque op. Calling a registered op costs as much bookkeeping as a small kernel takes,
so eager calls go to the same functions through a plain `torch.autograd.Function`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_SCHEMA = {Tensor: "Tensor", Tensor | None: "Tensor?", float: "float", bool: "bool"}
Shapes = Callable[[Any], Sequence[tuple[int, ...]]]


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


def _results(count: int) -> str:
    return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"


def _kernel(name: str) -> Any:
    """A function of `launch`, imported at the first call: Numba takes half a second."""
    from nodewise.ops.fused import launch

    return getattr(launch, name)


class Op:
    """One op, for eager calls and for the compiler.

    Args:
        name: Its name under `torch.ops.nodewise`, and that of its kernels.
        inputs: The `NamedTuple` of its inputs.
        outputs: How many outputs it has.
        shapes: From the inputs to the outputs' shapes.
        like: Which input has the outputs' type.
        differentiable: The inputs that gradients go to.
        optional: Those of them whose gradient is computed only where it is needed; the others come
            with the rest.
        check: Raises unless all sizes and indices are safe.
    """

    def __init__(
        self,
        name: str,
        inputs: Any,
        outputs: int,
        shapes: Shapes,
        like: str,
        differentiable: Sequence[str],
        optional: Sequence[str],
        check: Callable[[Any], None],
    ) -> None:
        self.name, self.inputs, self.shapes, self.like = name, inputs, shapes, like
        self.count, self.check = outputs, check
        self.places = [inputs._fields.index(field) for field in differentiable]
        self.always = [field not in optional for field in differentiable]
        kinds = get_type_hints(inputs)
        self.tensors = [kind not in (float, bool) for kind in kinds.values()]
        arguments = [f"{_SCHEMA[kind]} {field}" for field, kind in kinds.items()]
        self.registered = self._register(name, arguments, self._forward, self._fake, outputs)
        self._register_backward(arguments)
        self.registered.register_autograd(
            lambda ctx, *grads: self._gradients(self._traced_backward, ctx, *grads),
            setup_context=self._save,
        )
        self.function = self._eager_function()

    def __call__(self, *args: Any) -> Any:
        """Compute, differentiably."""
        if torch.compiler.is_compiling():
            return self.registered(*args)
        return self.function.apply(*args)

    def _register(
        self, name: str, arguments: list[str], compute: Any, fake: Any, outputs: int
    ) -> Any:
        schema = f"({', '.join(arguments)}) -> {_results(outputs)}"
        full_name = f"nodewise::{name}"
        op = torch.library.custom_op(full_name, compute, mutates_args=(), schema=schema)
        op.register_fake(fake)
        return op

    def _register_backward(self, arguments: list[str]) -> None:
        grads = [f"Tensor grad_{number}" for number in range(self.count)]
        arguments = [*arguments, *grads, "bool[] needed"]
        name, outputs = f"{self.name}_backward", len(self.places)
        self._register(name, arguments, self._checked_backward, self._fake_backward, outputs)
        self._traced_backward = getattr(torch.ops.nodewise, name)

    def _eager_function(self) -> Any:
        """The op as a single autograd function, which is faster to call."""

        def forward(ctx: Any, *args: Any) -> Any:
            output = self._forward(*args)
            self._save(ctx, args, output)
            return output

        def backward(ctx: Any, *grads: Any) -> Any:
            return self._gradients(self._backward, ctx, *grads)

        members = {
            "forward": staticmethod(forward),
            "backward": staticmethod(once_differentiable(backward)),
        }
        return type(self.name, (torch.autograd.Function,), members)

    def _forward(self, *args: Any) -> Any:
        inputs = self.inputs(*args)
        self.check(inputs)
        dtype = getattr(inputs, self.like).dtype
        outputs = [torch.empty(shape, dtype=dtype) for shape in self.shapes(inputs)]
        arrays = self.inputs(*map(_array, args))
        _kernel(self.name)(arrays, [output.numpy() for output in outputs])
        return outputs[0] if self.count == 1 else tuple(outputs)

    def _fake(self, *args: Any) -> Any:
        inputs = self.inputs(*args)
        like = getattr(inputs, self.like)
        outputs = [like.new_empty(shape) for shape in self.shapes(inputs)]
        return outputs[0] if self.count == 1 else tuple(outputs)

    def _backward(self, *args: Any) -> Any:
        """Gradients of the differentiable inputs; empty where they are not needed.

        The inputs are those of `_forward`, which has checked them: autograd raises an error where
        a saved tensor was changed since.
        """
        given, grads, needed = self._split(args)
        outputs = self._fake_backward(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        arrays = [o.numpy() if n else None for o, n in zip(outputs, needed, strict=True)]
        kernel = _kernel(f"{self.name}_backward")
        kernel(self.inputs(*map(_array, given)), [_array(grad) for grad in grads], arrays)
        return outputs[0] if len(outputs) == 1 else outputs

    def _checked_backward(self, *args: Any) -> Any:
        """The same for unchecked inputs, as `torch.compile` passes them."""
        self.check(self.inputs(*self._split(args)[0]))
        return self._backward(*args)

    def _fake_backward(self, *args: Any) -> Any:
        given, _, needed = self._split(args)
        pairs = zip((given[place] for place in self.places), needed, strict=True)
        outputs = [
            torch.empty(t.shape, dtype=t.dtype, device=t.device)
            if is_needed
            else torch.empty(0, dtype=getattr(self.inputs(*given), self.like).dtype)
            for t, is_needed in pairs
        ]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _split(self, args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[bool]]:
        """The inputs, the gradients of the outputs, and which gradients are needed."""
        count = len(self.tensors)
        return args[:count], args[count:-1], args[-1]

    def _save(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Save on a context what the gradient needs."""
        pairs = list(zip(inputs, self.tensors, strict=True))
        ctx.save_for_backward(*(value for value, is_tensor in pairs if is_tensor))
        ctx.numbers = [value for value, is_tensor in pairs if not is_tensor]

    def _gradients(self, backward: Callable[..., Any], ctx: Any, *grads: Any) -> Any:
        """A gradient, or None, for every input."""
        tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
        inputs = [next(tensors if is_tensor else numbers) for is_tensor in self.tensors]
        wanted = [ctx.needs_input_grad[place] for place in self.places]
        needed = [a or b for a, b in zip(wanted, self.always, strict=True)]
        found = backward(*inputs, *grads, needed)
        found = found if isinstance(found, tuple) else (found,)
        result: list[Tensor | None] = [None] * len(inputs)
        for place, grad, is_wanted in zip(self.places, found, wanted, strict=True):
            result[place] = grad if is_wanted else None
        return tuple(result)
