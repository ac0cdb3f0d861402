"""Modulators, and what they generate: scales and shifts of nodes (Eq. 6) and edges (Eq. 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor
from torch.nn import Module
from torch.nn.functional import leaky_relu

from nodewise.nn.block import Block
from nodewise.nn.inits import initialize
from nodewise.nn.lazy import new_weight, shape_of
from nodewise.nn.sample import Sample
from nodewise.ops.dispatch import SLOPE, gather_sources, gather_targets, squares
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.order import total
from nodewise.ops.reference import modulation


@dataclass(frozen=True)
class Modulation:
    """The scales and shifts that one modulator generated in one forward pass.

    The penalty needs only sums of squares, for which the kernels store nothing. Everything is
    computed when it is first read: the sums, `scale` and `shift`.

    Attributes:
        level: "node", "edge" or "bias".
        make_squares: Computes the sums of (a - 1)^2 and of b^2, differentiable.
        count: The number of entries of a, and of b.
        heads: The number of heads.
        make_scale: Computes a - 1.
        make_shift: Computes b.
        attention: The target of edge scales in the penalty instead of one, shape (E, H).
        weight: How many edges each one stands for in sums of squares, shape (E,); None for one.
        make_rows: Computes a - 1 and b of some rows only; None where that saves nothing.
    """

    level: str
    make_squares: Callable[[], tuple[Tensor, Tensor]] = field(repr=False)
    count: int
    heads: int
    make_scale: Callable[[], Tensor] = field(repr=False)
    make_shift: Callable[[], Tensor] = field(repr=False)
    attention: Tensor | None = None
    weight: Tensor | None = None
    make_rows: Callable[[Tensor], tuple[Tensor, Tensor]] | None = field(default=None, repr=False)

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

    def rows(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """a - 1 and b of some targets (or edges), if possible without computing all others.

        Args:
            index: Numbers of targets (or of edges, sorted as the kernels have them), shape (n,).
        """
        if self.make_rows is not None:
            return self.make_rows(index)
        return self.scale[index] - 1, self.shift[index]


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
        width: Size of c_v and of the output.
        heads: The number of heads, each with separate matrices.
        bottleneck: Size of the narrow layer, which has no activation; None for one dense layer.
        init: Name of the initializer. With "zeros" the output is zero at first; the narrow layer,
            which then has no effect, is initialized otherwise.
    """

    def __init__(self, width: int, heads: int, bottleneck: int | None, init: str) -> None:
        super().__init__()
        self.init = init
        # Two zero matrices would stay zero: the gradient of each is proportional to the other.
        self.narrow_init = _NARROW.get(init, init)
        self.reduce = (
            None
            if bottleneck is None
            else new_weight(heads, bottleneck, width, init=self.narrow_init)
        )
        self.expand = new_weight(heads, width, bottleneck or width, init=init)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        if self.reduce is not None:
            initialize(self.reduce, self.narrow_init)
        initialize(self.expand, self.init)


class NodeModulator(Module):
    """M_a and M_b of Eq. 6: from c_v to the scale a_v and shift b_v of every input feature.

    Args:
        width: Size of the input, of c_v, of a_v and of b_v.
        heads: The number of heads, each with separate generators.
        bottleneck: Width of the narrow layer in front; None for one dense layer.
        init: Name of the initializer.
    """

    level = "node"

    def __init__(
        self, width: int, heads: int = 1, bottleneck: int | None = None, init: str = "truncated_he"
    ) -> None:
        super().__init__()
        self.heads, self.bottleneck = heads, bottleneck
        self.to_scale = Generator(width, heads, bottleneck, init)
        self.to_shift = Generator(width, heads, bottleneck, init)

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        self.to_scale.reset_parameters()
        self.to_shift.reset_parameters()

    @property
    def reduces(self) -> list[Tensor]:
        """The narrow layers of both generators, or nothing where there are none."""
        return [gen.reduce for gen in (self.to_scale, self.to_shift) if gen.reduce is not None]

    def with_expansions(
        self, codes: Sequence[Tensor]
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Codes of scale and shift, each with the matrix that makes it of them."""
        return (codes[0], self.to_scale.expand), (codes[1], self.to_shift.expand)

    def modulation(
        self,
        scale: tuple[Tensor, Tensor],
        shift: tuple[Tensor, Tensor],
        sample: Sample | None = None,
    ) -> Modulation:
        """The modulation from codes (targets, H, bottleneck or width) and their last matrices.

        Args:
            scale: Code and matrix of the scale.
            shift: Those of the shift.
            sample: What the targets stand for, if they were sampled.
        """

        def make_squares() -> tuple[Tensor, Tensor]:
            if sample is None:
                return squares(scale, shift)
            weigh = sample.weighted_code
            return squares((weigh(scale[0]), scale[1]), (weigh(shift[0]), shift[1]))

        targets = len(scale[0]) if sample is None else sample.num_targets
        return Modulation(
            self.level,
            make_squares,
            targets * scale[1].size(0) * scale[1].size(1),
            self.heads,
            lambda: modulation(*scale, SLOPE),
            lambda: modulation(*shift, SLOPE),
            make_rows=lambda index: (
                modulation(scale[0][index], scale[1], SLOPE),
                modulation(shift[0][index], shift[1], SLOPE),
            ),
        )

    def __repr__(self) -> str:
        width = shape_of(self.to_scale.expand)[1]
        return f"{type(self).__name__}({width}, heads={self.heads}, bottleneck={self.bottleneck})"


class Ends(Module):
    """N [h_v ; h_u] = N_target h_v + N_source h_u: one matrix of Eq. 9 in its two halves."""

    def __init__(
        self, target_width: int, source_width: int, out: int, heads: int, init: str
    ) -> None:
        super().__init__()
        self.init = init
        self.target = new_weight(heads, out, target_width, init=init)
        self.source = new_weight(heads, out, source_width, init=init)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        initialize(self.target, self.init)
        initialize(self.source, self.init)


class EdgeModulator(Module):
    """N_a and N_b of Eq. 9: from an edge's two ends to the scale and shift of its message.

    Args:
        target_width: Size of h_v.
        source_width: Size of h_u.
        out: Size of a message.
        heads: The number of heads, each with separate matrices.
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
        self.to_scale = Ends(target_width, source_width, out, heads, init)
        self.to_shift = Ends(target_width, source_width, out, heads, init)

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        self.to_scale.reset_parameters()
        self.to_shift.reset_parameters()

    def modulation(
        self,
        scale: tuple[Tensor, Tensor],
        shift: tuple[Tensor, Tensor],
        sums: tuple[Tensor, Tensor],
        block: Block,
        weight: Tensor | None = None,
    ) -> Modulation:
        """The modulation from the halves (targets, H, out) and (sources, H, out), and its sums.

        Args:
            scale: Both halves of the scale.
            shift: Those of the shift.
            sums: The sums of squares.
            block: The edges.
            weight: The weight of each edge in the sums, if they were sampled.
        """
        neighbors = block.neighbors
        edges = neighbors.num_edges if block.sample is None else block.sample.num_edges
        return Modulation(
            self.level,
            lambda: sums,
            edges * scale[0].size(1) * scale[0].size(2),
            scale[0].size(1),
            lambda: _on_edges(scale, neighbors),
            lambda: _on_edges(shift, neighbors),
            weight=weight,
        )

    def __repr__(self) -> str:
        heads, out, target = shape_of(self.to_scale.target)
        source = shape_of(self.to_scale.source)[2]
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
        self.to_scale = new_weight(heads, out, width, init=init)
        self.to_shift = new_weight(heads, out, width, init=init)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        initialize(self.to_scale, self.init)
        initialize(self.to_shift, self.init)

    def forward(
        self, bias: Tensor, scale: Tensor, shift: Tensor, sample: Sample | None = None
    ) -> tuple[Tensor, Modulation]:
        """bias_v (targets, H, out), from the products of `to_scale` and `to_shift` with c_v."""
        a, b = leaky_relu(scale, SLOPE), leaky_relu(shift, SLOPE)
        add = total if sample is None else sample.weighted_total
        sums = add(a.square()), add(b.square())
        targets = len(a) if sample is None else sample.num_targets
        count = targets * a.size(1) * a.size(2)
        modulation = Modulation(self.level, lambda: sums, count, a.size(1), lambda: a, lambda: b)
        return bias * (a + 1) + b, modulation
