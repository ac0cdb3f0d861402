"""Modulators make, modulations are made: scales and shifts of nodes (Eq. 6) and edges (Eq. 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch.nn.functional import leaky_relu

from nodewise.nn.inits import initializer
from nodewise.ops.dispatch import SLOPE, gather_sources, gather_targets, squares, total
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.reference import modulation


@dataclass(frozen=True)
class Modulation:
    """The scales and shifts one modulator made in one forward pass.

    The penalty needs only sums of squares, for which the kernels store nothing. The numbers
    themselves are made when somebody reads `scale` or `shift`, the sums when somebody reads those.

    Attributes:
        level: "node", "edge" or "bias".
        make_squares: Computes the sums of (a - 1)^2 and of b^2, differentiable.
        count: How many numbers there are in a, and as many in b.
        heads: Over how many heads they spread.
        make_scale: Computes a - 1.
        make_shift: Computes b.
        attention: What the penalty pulls edge scales to instead of one, shape (E, H).
    """

    level: str
    make_squares: Callable[[], tuple[Tensor, Tensor]] = field(repr=False)
    count: int
    heads: int
    make_scale: Callable[[], Tensor] = field(repr=False)
    make_shift: Callable[[], Tensor] = field(repr=False)
    attention: Tensor | None = None

    @cached_property
    def _squares(self) -> tuple[Tensor, Tensor]:
        return self.make_squares()

    @property
    def scale_squares(self) -> Tensor:
        """The sum of (a - 1)^2, differentiable."""
        return self._squares[0]

    @property
    def shift_squares(self) -> Tensor:
        """The sum of b^2, differentiable."""
        return self._squares[1]

    @cached_property
    def scale(self) -> Tensor:
        """a: (targets, H, in) for nodes, (E, H, out) for edges, (targets, H, out) for biases."""
        return self.make_scale() + 1

    @cached_property
    def shift(self) -> Tensor:
        """b, shaped as a."""
        return self.make_shift()


class Modulations(Sequence[Modulation]):
    """All modulations of a forward pass: A and B of Eq. 11."""

    def __init__(self, items: Sequence[Modulation] = ()) -> None:
        self._items = tuple(items)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Modulation]:
        return iter(self._items)

    def __add__(self, other: Sequence[Modulation]) -> Modulations:
        return Modulations((*self, *other))

    @property
    def scales(self) -> list[Tensor]:
        """A: every scale tensor."""
        return [item.scale for item in self]

    @property
    def shifts(self) -> list[Tensor]:
        """B: every shift tensor."""
        return [item.shift for item in self]


_NARROW = {"zeros": "truncated_he"}


class Generator(Module):
    """sigma(M c) without its sigma: one dense layer, or two with a narrow one in between.

    Args:
        width: Size of c_v, and of what is made for it.
        heads: Heads, each with matrices of its own.
        bottleneck: Size of the narrow layer, which has no activation; None for one dense layer.
        init: Name of the initializer. With "zeros" nothing is made at first, and the narrow layer,
            which then has no say, starts otherwise.
    """

    def __init__(self, width: int, heads: int, bottleneck: int | None, init: str) -> None:
        super().__init__()
        self.init = init
        self.reduce = (
            None if bottleneck is None else Parameter(torch.empty(heads, bottleneck, width))
        )
        self.expand = Parameter(torch.empty(heads, width, bottleneck or width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew."""
        if self.reduce is not None:
            # Two matrices of zeros would never leave them: each one's gradient has the other in it.
            initializer(_NARROW.get(self.init, self.init))(self.reduce)
        initializer(self.init)(self.expand)


class NodeModulator(Module):
    """M_a and M_b of Eq. 6: from c_v to the scale a_v and shift b_v of every input feature.

    Args:
        width: Size of the input, of c_v, of a_v and of b_v.
        heads: Heads, each with generators of its own.
        bottleneck: Width of the narrow layer in front; None for one dense layer.
        init: Name of the initializer.
    """

    level = "node"

    def __init__(
        self, width: int, heads: int = 1, bottleneck: int | None = None, init: str = "truncated_he"
    ) -> None:
        super().__init__()
        self.width, self.heads, self.bottleneck = width, heads, bottleneck
        self.to_scale = Generator(width, heads, bottleneck, init)
        self.to_shift = Generator(width, heads, bottleneck, init)

    def reset_parameters(self) -> None:
        """Start anew."""
        self.to_scale.reset_parameters()
        self.to_shift.reset_parameters()

    @property
    def reduces(self) -> list[Tensor]:
        """The narrow layers of both generators, or nothing where there are none."""
        return [gen.reduce for gen in (self.to_scale, self.to_shift) if gen.reduce is not None]

    def modulation(self, scale: tuple[Tensor, Tensor], shift: tuple[Tensor, Tensor]) -> Modulation:
        """What is made of codes (targets, H, bottleneck or width) and their last matrices."""
        return Modulation(
            self.level,
            lambda: squares(scale, shift),
            scale[0].size(0) * self.heads * self.width,
            self.heads,
            lambda: modulation(*scale, SLOPE),
            lambda: modulation(*shift, SLOPE),
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.width}, heads={self.heads}, bottleneck={self.bottleneck})"
        )


class Ends(Module):
    """N [h_v ; h_u] = N_target h_v + N_source h_u: one matrix of Eq. 9 in its two halves."""

    def __init__(
        self, target_width: int, source_width: int, out: int, heads: int, init: str
    ) -> None:
        super().__init__()
        self.init = init
        self.target = Parameter(torch.empty(heads, out, target_width))
        self.source = Parameter(torch.empty(heads, out, source_width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew."""
        initializer(self.init)(self.target)
        initializer(self.init)(self.source)


class EdgeModulator(Module):
    """N_a and N_b of Eq. 9: from an edge's two ends to the scale and shift of its message.

    Args:
        target_width: Size of h_v.
        source_width: Size of h_u.
        out: Size of a message.
        heads: Heads, each with matrices of its own.
        init: Name of the initializer.
    """

    level = "edge"

    def __init__(
        self,
        target_width: int,
        source_width: int,
        out: int,
        heads: int = 1,
        init: str = "truncated_he",
    ) -> None:
        super().__init__()
        self.sizes = (target_width, source_width, out, heads)
        self.to_scale = Ends(*self.sizes, init)
        self.to_shift = Ends(*self.sizes, init)

    def reset_parameters(self) -> None:
        """Start anew."""
        self.to_scale.reset_parameters()
        self.to_shift.reset_parameters()

    def modulation(
        self,
        scale: tuple[Tensor, Tensor],
        shift: tuple[Tensor, Tensor],
        sums: tuple[Tensor, Tensor],
        neighbors: Neighborhood,
    ) -> Modulation:
        """What was made of the halves (targets, H, out) and (sources, H, out), with its sums."""
        return Modulation(
            self.level,
            lambda: sums,
            neighbors.num_edges * scale[0].size(1) * scale[0].size(2),
            scale[0].size(1),
            lambda: _on_edges(scale, neighbors),
            lambda: _on_edges(shift, neighbors),
        )

    def __repr__(self) -> str:
        target, source, out, heads = self.sizes
        return f"{type(self).__name__}({target} + {source}, {out}, heads={heads})"


def _on_edges(halves: tuple[Tensor, Tensor], neighbors: Neighborhood) -> Tensor:
    return leaky_relu(
        gather_targets(halves[0], neighbors) + gather_sources(halves[1], neighbors), SLOPE
    )


class BiasModulator(Module):
    """Scales and shifts the bias of an MLP aggregator by the node's context: one dense layer each.

    The paper's count of LGIN's parameters shows that its bias is localized too.
    """

    level = "bias"

    def __init__(self, width: int, out: int, heads: int = 1, init: str = "truncated_he") -> None:
        super().__init__()
        self.init = init
        self.to_scale = Parameter(torch.empty(heads, out, width))
        self.to_shift = Parameter(torch.empty(heads, out, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew."""
        initializer(self.init)(self.to_scale)
        initializer(self.init)(self.to_shift)

    def forward(self, bias: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Modulation]:
        """bias_v (targets, H, out), from the products of `to_scale` and `to_shift` with c_v."""
        a, b = leaky_relu(scale, SLOPE), leaky_relu(shift, SLOPE)
        sums = total(a.square()), total(b.square())
        made = Modulation(self.level, lambda: sums, a.numel(), a.size(1), lambda: a, lambda: b)
        return bias * (a + 1) + b, made
