"""Weights that wait for the width of the rows they multiply: `in_channels=-1`, as in PyG."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.parameter import UninitializedParameter, is_lazy

from nodewise.nn.inits import initializer

# Widths that are not known yet, of the sources' rows and of the targets'.
SOURCE, TARGET = -1, -2


class LazyWeight(UninitializedParameter):
    """A weight whose shape is known but for the widths `SOURCE` and `TARGET`.

    It becomes a plain `Parameter` when these are known, or when a state dict is loaded.
    """

    final_shape: tuple[int, ...]
    init: str

    def __new__(cls, shape: tuple[int, ...], init: str, **factory: Any) -> LazyWeight:
        """Return a weight without numbers."""
        weight: LazyWeight = super().__new__(cls, **factory)
        weight.final_shape, weight.init = shape, init
        return weight

    def materialize_for(self, source: int, target: int) -> None:
        """Allocate and initialize the weight for rows of these widths."""
        widths, init = {SOURCE: source, TARGET: target}, self.init
        self.materialize(tuple(widths.get(size, size) for size in self.final_shape))
        initializer(init)(self)

    def _factory(self) -> dict[str, Any]:
        data = self.data
        return {
            "requires_grad": self.requires_grad,
            "device": data.device,
            "dtype": data.dtype,
        }

    def detach(self) -> LazyWeight:
        """Return the weight itself: without numbers it has no gradient. `state_dict` calls this."""
        return self

    def copy_(self, other: Tensor, non_blocking: bool = False) -> Tensor:
        """Take shape and numbers of another weight; `load_state_dict` calls this."""
        if is_lazy(other):
            return self
        self.materialize(other.shape)
        return self.copy_(other, non_blocking)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyWeight:
        if id(self) not in memo:
            memo[id(self)] = LazyWeight(self.final_shape, self.init, **self._factory())
        return memo[id(self)]  # type: ignore[no-any-return]

    def __reduce_ex__(self, proto: Any) -> tuple[Any, ...]:
        return _revive, (self.final_shape, self.init, self._factory())


def _revive(shape: tuple[int, ...], init: str, factory: dict[str, Any]) -> LazyWeight:
    return LazyWeight(shape, init, **factory)


def new_weight(*shape: int, init: str) -> Parameter:
    """A weight of that shape, not initialized yet; it is lazy where a width is not known."""
    if min(shape) < 0:
        return cast(Parameter, LazyWeight(shape, init))
    return Parameter(torch.empty(shape))


def shape_of(weight: Parameter) -> tuple[int, ...]:
    """The shape of a weight, -1 standing for a width that is not known."""
    if isinstance(weight, LazyWeight):
        return tuple(max(size, -1) for size in weight.final_shape)
    return tuple(weight.shape)
