"""Planetoid's pairs (i, c, gamma): which nodes are each other's context, and which are not.

A pair comes from a walk or from the labels, and is positive (gamma = 1) or negative (gamma = -1):

=========  =============================================  ====================================
from       positive                                       negative
=========  =============================================  ====================================
a walk     two places at most `window` steps apart        c is any node
labels     two labeled nodes of one class                two labeled nodes of two classes
=========  =============================================  ====================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from nodewise.errors import InputError

if TYPE_CHECKING:
    from nodewise.models.baselines.walks import Adjacency


class Pairs(NamedTuple):
    """Pairs of nodes, shape (count,) each.

    Attributes:
        node: i, whose embedding predicts.
        context: c, which it should predict (gamma = 1) or should not (gamma = -1).
        sign: gamma, 1 or -1.
    """

    node: Tensor
    context: Tensor
    sign: Tensor


@dataclass(frozen=True)
class PairRule:
    """How pairs are drawn.

    Attributes:
        positive: The share of positive pairs (r1 of the original paper).
        from_walks: The share of pairs that come from walks, not from labels (r2). The released
            program's examples draw none from labels after the warm-up.
        length: How many nodes a walk visits.
        window: How far apart on a walk two nodes may be.
    """

    positive: float = 0.5
    from_walks: float = 1.0
    length: int = 10
    window: int = 3


def sample_pairs(
    graph: Adjacency,
    nodes: Tensor,
    labels: Tensor,
    count: int,
    rule: PairRule | None = None,
    generator: torch.Generator | None = None,
) -> Pairs:
    """Draw pairs, each independently of the others.

    Args:
        graph: The graph of the walks.
        nodes: The labeled nodes.
        labels: Their classes, at least two.
        count: How many pairs.
        rule: How to draw them.
        generator: The random generator; torch's global one if not given.
    """
    rule = rule or PairRule()
    is_positive = torch.rand(count, generator=generator) < rule.positive
    is_walk = torch.rand(count, generator=generator) < rule.from_walks
    walked = _walk_pairs(graph, is_positive, rule, generator)
    labeled = _label_pairs(nodes, labels, is_positive, generator)
    node, context = torch.where(is_walk, walked, labeled)
    return Pairs(node, context, torch.where(is_positive, 1.0, -1.0))


def _walk_pairs(
    graph: Adjacency, is_positive: Tensor, rule: PairRule, generator: torch.Generator | None
) -> Tensor:
    """Both ends, shape (2, count): places on one walk, or a place on a walk and any node."""
    from nodewise.models.baselines.walks import walks_from

    count, nodes = len(is_positive), graph.num_nodes
    seed = int(torch.randint(2**31, (), generator=generator))
    starts = torch.randint(nodes, (count,), generator=generator)
    walks = torch.from_numpy(walks_from(graph, starts.numpy(), length=rule.length, seed=seed))
    places = _places(rule.length, rule.window)
    chosen = places[torch.randint(len(places), (count,), generator=generator)]
    node, context = walks.long().gather(1, chosen).unbind(1)
    anyone = torch.randint(nodes, (count,), generator=generator)
    return torch.stack([node, torch.where(is_positive, context, anyone)])


@cache
def _places(length: int, window: int) -> Tensor:
    """All ordered pairs of different places on a walk within the window, shape (n, 2)."""
    place = torch.arange(length)
    apart = (place[:, None] - place).abs()
    return ((apart > 0) & (apart <= window)).nonzero()


def _label_pairs(
    nodes: Tensor, labels: Tensor, is_positive: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Both ends, shape (2, count): i is any labeled node, c another one of its class, or not."""
    count = len(is_positive)
    labels, order = torch.sort(labels, stable=True)
    sizes = torch.bincount(labels)
    if sizes.max() == len(labels):
        raise InputError(
            "labels", "must name at least two classes", way_out="label a node of another class"
        )
    i = torch.randint(len(labels), (count,), generator=generator)
    begin, size = (sizes.cumsum(0) - sizes)[labels[i]], sizes[labels[i]]
    draw = torch.rand(count, dtype=torch.float64, generator=generator)
    # Nodes of a class are consecutive: c is 1 to size - 1 places on, cyclically (i if it is alone).
    step = 1 + (draw * (size - 1)).long()
    same = begin + (i - begin + step) % size
    # Nodes of other classes are all but this row.
    other = (draw * (len(labels) - size)).long()
    other = other + size * (other >= begin)
    return nodes[order][torch.stack([i, torch.where(is_positive, same, other)])]
