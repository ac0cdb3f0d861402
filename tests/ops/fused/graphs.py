"""A small graph whose targets are cut into several chunks."""

from __future__ import annotations

import torch

from nodewise.ops.neighbors import Neighborhood

SOURCES, TARGETS, EDGES, WIDTH = 170, 150, 900, 30


def a_graph() -> Neighborhood:
    """Sources that are not targets, more chunks than threads, and a target with many sources."""
    draw = torch.Generator().manual_seed(0)
    source = torch.randint(0, SOURCES, (EDGES,), generator=draw)
    target = torch.randint(0, TARGETS, (EDGES,), generator=draw)
    target[: EDGES // 5] = 3
    return Neighborhood.from_edges(torch.stack([source, target]), TARGETS, SOURCES)
