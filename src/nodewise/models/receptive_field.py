"""Receptive fields: the nodes and edges that the outputs of some nodes depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from nodewise.nn.block import Block
from nodewise.ops.sparse import (
    Features,
    as_features,
    check_rows,
    num_rows,
    row_width,
    take_rows,
)


@dataclass(frozen=True)
class ReceptiveField:
    """The nodes and edges that the outputs of some target nodes depend on.

    Attributes:
        nodes: The nodes whose input rows are needed, ascending.
        blocks: A block for each layer, first layer first; the last one has the target nodes.
    """

    nodes: Tensor
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], targets: Tensor) -> ReceptiveField:
        """Walk back from the targets of the last layer to the inputs of the first.

        Args:
            blocks: The full graph's block of every layer.
            targets: The nodes whose output is wanted, shape (n,).
        """
        fields = []
        for block in reversed(blocks):
            field, targets = block.restrict(targets)
            fields.append(field)
        return cls(targets, tuple(reversed(fields)))

    def take(self, x: Features) -> Features:
        """The input rows of the field, out of those of all nodes."""
        return take_rows(as_features(x), self.nodes)

    def check_rows(self, x: Features) -> None:
        """Check that features are those of this field's nodes.

        Raises:
            InputError: They are not.
        """
        count = self.nodes.numel()
        if num_rows(x) != count:
            check_rows(x, row_width(x), count, "give the rows of the field: field.take(x)")
