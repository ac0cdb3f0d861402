"""A table of inputs that would read or write memory that is not theirs, for all entry points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

NODES, WIDTH, CLASSES = 30, 12, 3
MODELS = ("LGCN", "LGAT", "LGIN")
KERNELS = ("reference", "factored", "fused")


def good_edges() -> Tensor:
    return torch.randint(0, NODES, (2, 90), generator=torch.Generator().manual_seed(0))


def good_rows(width: int = WIDTH) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    return (torch.rand(NODES, width, generator=draw) < 0.3).float()


@dataclass(frozen=True)
class Bad:
    """Features and edges of which one is wrong, and the argument that the error must name."""

    name: str
    x: Tensor
    edge_index: Tensor
    blamed: str

    def __str__(self) -> str:
        return self.name


def _edges(**changes: dict[tuple[int, int], int]) -> Iterator[tuple[str, Tensor]]:
    for name, change in changes.items():
        edges = good_edges()
        for place, value in change.items():
            edges[place] = value
        yield name.replace("_", " "), edges


def bad_edges() -> Iterator[tuple[str, Tensor]]:
    """Edges to and from nodes that are not there, and tensors that hold no edges."""
    yield from _edges(
        source_minus_one={(0, 7): -1},
        target_minus_one={(1, 7): -1},
        both_ends_minus_one={(0, 7): -1, (1, 7): -1},
        source_too_large={(0, 89): NODES},
        target_too_large={(1, 89): NODES},
        both_ends_too_large={(0, 3): NODES, (1, 3): NODES},
        source_far_outside={(0, 0): 2**40},
        target_far_outside={(1, 0): -(2**40)},
    )
    yield "edges as floats", good_edges().float()
    yield "edges in rows", good_edges().t().contiguous()
    yield "edges in one row", good_edges().view(-1)


def _csr(crow: Tensor, col: Tensor, values: Tensor, width: int = WIDTH) -> Tensor:
    size = (NODES, width)
    return torch.sparse_csr_tensor(crow, col, values, size, check_invariants=False)


def bad_rows() -> Iterator[tuple[str, Tensor]]:
    """Features of another width, and sparse ones whose arrays contradict each other."""
    for width in (WIDTH - 1, WIDTH + 1, 500):
        yield f"{width} dense columns", good_rows(width)
        yield f"{width} sparse columns", good_rows(width).to_sparse_csr()
    yield "features in one row", good_rows().view(-1)
    good = good_rows().to_sparse_csr()

    def parts(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        crow, col = good.crow_indices().clone().to(dtype), good.col_indices().clone().to(dtype)
        return crow, col, good.values().clone()

    for dtype in (torch.int32, torch.int64):
        for name, value in {"column -1": -1, "column = width": WIDTH, "column 2^30": 2**30}.items():
            crow, col, values = parts(dtype)
            col[5] = value
            yield f"{name}, {dtype}", _csr(crow, col, values)
        changes = {"rises too early": (3, 80), "falls": (9, 1), "below zero": (4, -7)}
        for name, (place, value) in changes.items():
            crow, col, values = parts(dtype)
            crow[place] = value
            yield f"crow {name}, {dtype}", _csr(crow, col, values)
        for name, place in {"begins late": 0, "ends early": -1}.items():
            crow, col, values = parts(dtype)
            crow[place] = 3
            yield f"crow {name}, {dtype}", _csr(crow, col, values)
        crow, col, values = parts(dtype)
        crow[-1] += 1000
        yield f"crow ends past its values, {dtype}", _csr(crow, col, values)
    crow, col, values = parts(torch.int64)
    col[5] = 2**32
    yield "column 2^32, which 32 bits cut to zero", _csr(crow, col, values)


def table() -> list[Bad]:
    """All of them."""
    rows = [Bad(name, x, good_edges(), "x") for name, x in bad_rows()]
    both = {"dense": good_rows(), "sparse": good_rows().to_sparse_csr()}
    edges = [
        Bad(f"{name}, {kind} features", x, edge_index, "edge_index")
        for name, edge_index in bad_edges()
        for kind, x in both.items()
    ]
    return [*rows, *edges]


def data_of(bad: Bad) -> Any:
    """The same as a graph with labels and a split."""
    from torch_geometric.data import Data

    y = torch.arange(NODES) % CLASSES
    masks = {f"{part}_mask": torch.arange(NODES) % 3 == i for i, part in enumerate(PARTS)}
    return Data(x=bad.x, edge_index=bad.edge_index, y=y, **masks)


PARTS = ("train", "val", "test")
