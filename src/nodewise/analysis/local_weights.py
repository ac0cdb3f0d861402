r"""W_v of the first layer for all nodes, without building any: distances, similar nodes, a map.

The local model of a node is (a_v - 1, b_v) of the layer that acts on the features; zero is the
global model. It has two numbers for each feature and head, too many to keep for all nodes of a
large graph; they are generated from codes for some nodes at a time. With w_i the column of W that
belongs to feature i, of length `out`,

.. math::
    \lVert W_v - W \rVert^2 = \sum_i (a_i - 1)^2 \lVert w_i \rVert^2
    + 2 (a_i - 1) b_i \mathbf{1}^T w_i + \mathrm{out} \, b_i^2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.analysis.predictions import arguments
from nodewise.analysis.subject import Subject
from nodewise.nn.modulation import Modulation
from nodewise.ops.sparse import as_features
from nodewise.runs.axes import principal
from nodewise.runs.diagnostics import first_modulation, in_parts

_KEPT = 2**26  # scales and shifts of small graphs are kept, 256 MB at most


@dataclass(frozen=True, eq=False)
class LocalWeights:
    """The local models of all nodes.

    Attributes:
        modulation: The node level's modulation in the first layer.
        weight: W of that layer, shape (H, out, in).
        num_nodes: How many nodes there are.
    """

    modulation: Modulation
    weight: Tensor
    num_nodes: int

    @classmethod
    def of(cls, subject: Subject) -> LocalWeights | None:
        """The local models of a subject; None where nothing is localized at nodes.

        Raises:
            InputError: The model has no layers that can be looked into.
        """
        model = subject.layered
        found = first_modulation(model, arguments(as_features(subject.x), *subject.graph))
        if found is None:
            return None
        return cls(found, model.layers[0].weight.detach(), subject.num_nodes)

    def of_node(self, node: int) -> tuple[Tensor, Tensor]:
        """a_v - 1 and b_v of a node, (H, in) each."""
        a, b = self.modulation.rows(torch.tensor([node]))
        return a[0].detach(), b[0].detach()

    def parts(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Some nodes with their a_v - 1 and b_v, (n, H, in) each, until all nodes were there."""
        if 2 * self.modulation.count <= _KEPT:
            return iter(self._kept)
        return in_parts(self.modulation, self.num_nodes)

    @cached_property
    def _kept(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        return list(in_parts(self.modulation, self.num_nodes))

    @cached_property
    def _sizes(self) -> tuple[Tensor, Tensor]:
        """|W_v - W|^2 and |a_v - 1|^2 + |b_v|^2, shape (N,) each."""
        columns, squares = self.weight.sum(1), self.weight.square().sum(1)
        out, sizes = self.weight.size(1), []
        for _, a, b in self.parts():
            a_squares, b_squares = a.square(), b.square()
            of_weights = a_squares * squares + 2 * a * b * columns + out * b_squares
            sizes.append((of_weights.sum((1, 2)), (a_squares + b_squares).sum((1, 2))))
        of_weights, of_scales = (torch.cat(part) for part in zip(*sizes, strict=True))
        return of_weights, of_scales

    @cached_property
    def distance(self) -> NDArray[np.float64]:
        """|W_v - W|, the Frobenius norm over all heads, shape (N,)."""
        return np.asarray(self._sizes[0].clamp(min=0).double().sqrt().cpu().numpy())

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The place of each node by distance, 1 for the most localized, shape (N,)."""
        rank = np.empty(self.num_nodes, np.int64)
        rank[np.argsort(-self.distance, kind="stable")] = np.arange(1, self.num_nodes + 1)
        return rank

    def place(self, node: int) -> tuple[float, int, float]:
        """The distance of a node, its rank, and the distance divided by |W|."""
        distance = float(self.distance[node])
        return distance, int(self.rank[node]), distance / float(self.weight.norm())

    def similarity(self, node: int) -> NDArray[np.float64]:
        """The cosine between a node's local model and those of all nodes, shape (N,).

        Zero for a node whose local model is the global one.
        """
        a_node, b_node = (part.flatten() for part in self.of_node(node))
        products = [a.flatten(1) @ a_node + b.flatten(1) @ b_node for _, a, b in self.parts()]
        lengths = self._sizes[1].sqrt()
        cosine = torch.cat(products) / (lengths * lengths[node]).clamp(min=1e-30)
        return np.asarray(cosine.double().cpu().numpy())

    def similar(self, node: int, top: int) -> list[tuple[int, float]]:
        """The nodes with the most similar local models, and the cosines, best first."""
        cosine = self.similarity(node)
        cosine[node] = -np.inf
        order = np.argsort(-cosine, kind="stable")[: min(top, self.num_nodes - 1)]
        return [(int(other), float(cosine[other])) for other in order]

    def principal(self, count: int) -> NDArray[np.float64]:
        """The local models on their first principal axes, shape (N, count).

        They are generated for some nodes at a time; axes that do not exist have zeros.
        """
        return self.principal_and_global(count)[:-1]

    def principal_and_global(self, count: int) -> NDArray[np.float64]:
        """The local models, and last the global one, on their principal axes: (N + 1, count)."""
        width = 2 * self.weight.size(0) * self.weight.size(2)
        none = self.weight.new_zeros(1, width)  # a = 1, b = 0
        return principal(self._flat, self.num_nodes, width, count=count, also=none)

    def _flat(self) -> Iterator[Tensor]:
        """The local models of some nodes, (n, 2 H in), until all nodes were there."""
        for _, a, b in self.parts():
            yield torch.cat([a.flatten(1), b.flatten(1)], 1)
