"""The memory that a model needs on a full graph, estimated from sizes, and the budget for it.

Counted are the rows that nodes and edges have in each layer, on the CPU's kernels; features, the
edges as given and the weights are there in any case. A training step keeps the rows of all layers
until their gradients are computed, and has gradients of one layer beside them; a forward pass
forgets each layer. For other models than stacks of ours, every matrix of weights is taken for a
layer whose messages are formed, as PyG's convs do.
"""

from __future__ import annotations

import os
import re
from functools import singledispatch
from math import inf
from pathlib import Path
from typing import NamedTuple, cast

from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.scikit import ScikitModel
from nodewise.models.classifier import Classifier
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.dense import Dense
from nodewise.nn.lazy import shape_of

_NUMBER = 4  # bytes of a float32
# Source, target, offset and place of an edge in int64, once by target and once by source, and the
# copies that sorting them makes.
_EDGE = 72
# Numbers that an edge has for each head where there are no messages.
_SCORES = 4
# What measured peaks have beyond the rows: gaps between blocks of the C library, small tensors.
_SLACK = 1.5
_UNITS = {"k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
# The limit of a container, in the second and in the first version of control groups.
_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_UNKNOWN = 8 * 1000**3  # where the system does not say how much memory there is


class LayerRows(NamedTuple):
    """How many numbers a layer has for each node and for each edge."""

    node: int
    edge: int


def forward_bytes(model: Module, nodes: int, edges: int) -> int:
    """The memory of a forward pass over a full graph without gradients, in bytes.

    Args:
        model: The model.
        nodes: How many nodes the graph has.
        edges: How many edges it has.
    """
    layers = layer_rows(model)
    largest = max((_numbers(layer, nodes, edges) for layer in layers), default=0)
    return int(_SLACK * (_NUMBER * largest + _EDGE * (nodes + edges) * bool(layers)))


def step_bytes(model: Module, nodes: int, edges: int) -> int:
    """The memory of a training step over a full graph, in bytes.

    Args:
        model: The model.
        nodes: How many nodes the graph has.
        edges: How many edges it has.
    """
    sizes = [_numbers(layer, nodes, edges) for layer in layer_rows(model)]
    numbers = sum(sizes) + max(sizes, default=0)
    # Training and validation nodes have a receptive field each, cut out of the full graph.
    return int(_SLACK * (_NUMBER * numbers + 3 * _EDGE * (nodes + edges) * bool(sizes)))


def _numbers(layer: LayerRows, nodes: int, edges: int) -> int:
    # Every node may get a loop.
    return layer.node * nodes + layer.edge * (nodes + edges)


@singledispatch
def layer_rows(model: Module) -> list[LayerRows]:
    """The rows of each layer of a model."""
    shapes = [weight.shape for weight in model.parameters() if weight.dim() == 2]
    return [LayerRows(sum(shape), shape[0]) for shape in shapes]


@layer_rows.register(DeepWalk)
@layer_rows.register(EitherPlanetoid)
@layer_rows.register(ScikitModel)
def _(model: Module) -> list[LayerRows]:
    """None: these are not computed from the graph layer by layer."""
    return []


@layer_rows.register
def _(model: Classifier) -> list[LayerRows]:
    """The numbers of the layers, first to last, then those of the linear ends."""
    layers = [_layer(model, i) for i in range(model.depth)]
    ends = [] if model.ends is None else [model.ends.front.linear, model.ends.head]
    return [*layers, *map(_dense_rows, ends)]


def _layer(model: Classifier, i: int) -> LayerRows:
    conv = _conv_rows(model.layers[i]) if model.layers else LayerRows(0, 0)
    root = _dense_rows(cast(Dense, model.roots[i])).node if model.roots else 0
    return LayerRows(conv.node + root, conv.edge)


def _dense_rows(part: Dense) -> LayerRows:
    return LayerRows(sum(shape_of(part.weight)), 0)


def _conv_rows(conv: BaseConv) -> LayerRows:
    """Input, products with W and with the generators, output; messages before and after an edge's.

    Without messages an edge has a weight for each head, and what it is computed from: scores.
    """
    out, width = conv.heads * conv.out_channels, max(conv.widths[0], 0)
    products = sum(
        weight.size(0) * weight.size(1) for weight in conv.local_parameters() if weight.dim() == 3
    )
    return LayerRows(width + 2 * out + products, conv.rows_per_edge * out or _SCORES * conv.heads)


def part_cost(layer: LayerRows) -> int:
    """The bytes of a target, or of an edge with its source, where a layer is computed in parts."""
    return int(_SLACK * (_NUMBER * (layer.node + layer.edge) + _EDGE))


def memory_budget(text: str | None, option: str = "memory") -> int:
    """The bytes that a text such as "4GB", "500 MB" or "2GiB" stands for.

    Args:
        text: The size; None for half of the memory of the machine, or of the limit that is set for
            its processes.
        option: Where it was given, for the error.

    Raises:
        InputError: The text is not a size.
    """
    if text is None:
        return int(_machine_bytes() // 2)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgt])(i)?b?|b)\s*", text.lower())
    if found is None or float(found[1]) <= 0:
        raise InputError(option, "is not a size", value=text, way_out="write 4GB, or 500MB")
    number, unit, binary = found.groups()
    factor = _UNITS.get(unit, 1)
    if binary:
        factor = 1 << 10 * (1 + "kmgt".index(unit))
    return int(float(number) * factor)


def _machine_bytes() -> float:
    """The memory of the machine, or the limit that is set for its processes, if that is less."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        there = _UNKNOWN
    return min(there, *map(_limit, _LIMITS))


def _limit(path: Path) -> float:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such limit: the file says "max", or is not there
        return inf


def as_size(count: int) -> str:
    """A number of bytes in words: "3.1 GB"."""
    for unit in ("TB", "GB", "MB"):
        factor = _UNITS[unit[0].lower()]
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1000:.3g} kB"
