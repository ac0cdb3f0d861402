"""`Split`: the training, validation and test nodes of a graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nodewise.checked import Count, checked
from nodewise.data.splits.checks import check_apart, node_numbers, selected
from nodewise.errors import SplitError
from nodewise.io import file_bytes, parse_json, replacing
from nodewise.randomness import FrozenRandom

if TYPE_CHECKING:
    from torch_geometric.data import Data

PARTS = ("train", "val", "test")
_FORMAT = "nodewise split 1"


class SplitContent(TypedDict):
    """A split as JSON."""

    sha256: str
    train: list[Count]
    val: list[Count]
    test: list[Count]


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of node numbers, ascending, as int64, and read-only.

    Args:
        train: The nodes to train on.
        val: The nodes that choose between epochs and settings.
        test: The nodes to test on.

    Raises:
        SplitError: A number is negative, not an integer, or occurs twice.
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in PARTS:
            object.__setattr__(self, name, node_numbers(name, getattr(self, name)))
        for (one, first), (other, second) in combinations(self, 2):
            check_apart(one, first, other, second)

    def __iter__(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        return ((name, getattr(self, name)) for name in PARTS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Split) and self.sha256() == other.sha256()

    def __hash__(self) -> int:
        return hash(self.sha256())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={len(nodes)}" for name, nodes in self)
        return f"Split({sizes}, sha256={self.sha256()[:12]})"

    @classmethod
    def from_masks(cls, train_mask: ArrayLike, val_mask: ArrayLike, test_mask: ArrayLike) -> Split:
        """Build a split from three one-dimensional boolean masks, arrays or tensors."""
        masks = (train_mask, val_mask, test_mask)
        return cls(*(selected(name, mask) for name, mask in zip(PARTS, masks, strict=True)))

    def masks(self, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
        """The train, validation and test masks, each of shape (num_nodes,).

        Raises:
            SplitError: The split names a node that a graph of that size does not have.
        """
        train, val, test = (_mask(name, nodes, num_nodes) for name, nodes in self)
        return train, val, test

    def apply(self, data: Data) -> Data:
        """Set `train_mask`, `val_mask` and `test_mask` of `data`, in place, and return it."""
        data.train_mask, data.val_mask, data.test_mask = self.masks(data.num_nodes)
        return data

    def with_validation(self, count: int) -> Split:
        """The same split with `count` of its validation nodes, the same in every call.

        Raises:
            SplitError: There are fewer.
        """
        if count > len(self.val):
            raise SplitError(
                "val",
                "has fewer nodes",
                value=len(self.val),
                way_out=f"ask for at most {len(self.val)}",
            )
        order = FrozenRandom(0, "fewer validation nodes").permutation(len(self.val))
        return Split(self.train, self.val[order[:count]], self.test)

    def with_validation_learned(self) -> Split:
        """The same split with its validation nodes among those to train on."""
        return Split(np.concatenate([self.train, self.val]), np.empty(0, np.int64), self.test)

    def with_half_learned(self, half: int) -> Split:
        """The same split with the first (0) or second (1) half of its validation nodes to train on.

        The halves are the same in every call.
        """
        order = FrozenRandom(0, "halves of validation nodes").permutation(len(self.val))
        first, second = self.val[order[::2]], self.val[order[1::2]]
        learned, left = (second, first) if half else (first, second)
        return Split(np.concatenate([self.train, learned]), left, self.test)

    def sha256(self) -> str:
        """The split's fingerprint, 64 hexadecimal digits.

        It is taken over these bytes, for `train`, `val` and `test` in that order: the name in
        ASCII without terminator; the count of nodes as a little-endian signed 64-bit integer; the
        node numbers, ascending, each as a little-endian signed 64-bit integer.
        """
        digest = hashlib.sha256()
        for name, nodes in self:
            digest.update(name.encode("ascii"))
            digest.update(len(nodes).to_bytes(8, "little", signed=True))
            digest.update(nodes.astype("<i8").tobytes())
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the split as JSON: the three lists and their SHA-256."""
        lists = {name: nodes.tolist() for name, nodes in self}
        content = {"format": _FORMAT, "sha256": self.sha256(), **lists}
        with replacing(Path(path)) as stream:
            stream.write(json.dumps(content).encode() + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Split:
        """Read what `save` wrote.

        Raises:
            SplitError: The file is not a split, or its lists are not those that were saved.
        """
        content = _read_json(Path(path))
        split = cls(*(content[name] for name in PARTS))
        if content["sha256"] != split.sha256():
            raise SplitError(
                str(path),
                "does not match the SHA-256 it carries",
                value=split.sha256(),
                way_out="restore the file, or build and save the split again",
            )
        return split


def _mask(name: str, nodes: NDArray[np.int64], num_nodes: int) -> Tensor:
    check_below(name, nodes, num_nodes)
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[torch.from_numpy(nodes.copy())] = True
    return mask


def check_below(name: str, nodes: NDArray[np.int64], num_nodes: int) -> None:
    """Check that ascending node numbers are of a graph of that size.

    Raises:
        SplitError: One is not.
    """
    if nodes.size and nodes[-1] >= num_nodes:
        raise SplitError(
            name,
            f"names a node that a graph of {num_nodes} nodes does not have",
            value=int(nodes[-1]),
            position=nodes.size - 1,
            way_out="use the split with the graph it was made for",
        )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(checked(SplitContent, parse_json(file_bytes(path))))
    except (OSError, ValueError) as error:
        raise SplitError(
            str(path), f"is not a split ({error})", way_out="name a file that Split.save wrote"
        ) from error
