"""Sparse node features as the kernels take them: three arrays, with gradients for the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from nodewise.ops.neighbourhood import Neighbourhood, offsets

# The share of entries from which on products and sums are taken of the dense matrix: they do
# several times as many multiplications a second as those of sparse rows.
_CROWDED = 0.2


class Columns(NamedTuple):
    """The same entries column by column.

    Attributes:
        ccol: Column f's entries are `ccol[f]` to `ccol[f + 1]`, int32, shape (width + 1,).
        row: The row of each entry, int32, shape (nnz,).
        entry: Where each entry stands among the rows' entries, int64, shape (nnz,).
    """

    ccol: Tensor
    row: Tensor
    entry: Tensor


class Places(NamedTuple):
    """Where the entries of sparse rows stand: `crow` and `col` of `SparseRows`."""

    crow: Tensor
    col: Tensor


@dataclass
class _Kept:
    """What was found out about the places of some rows; shared by all that have the same."""

    columns: Columns | None = None
    flat: Tensor | None = None
    pooled: tuple[Neighbourhood, Places] | None = None
    walks: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class SparseRows:
    """Node features in compressed sparse rows.

    A `torch.sparse_csr` tensor drops out of autograd at most operations; its three arrays do not.

    Attributes:
        crow: Row u's entries are `crow[u]` to `crow[u + 1]`, int32, shape (N + 1,).
        col: The column of each entry, int32, shape (nnz,).
        values: The value of each entry, shape (nnz,).
        width: How many columns there are.
        is_thinned: Whether many of the entries may be zero, as dropout leaves them.
    """

    crow: Tensor
    col: Tensor
    values: Tensor
    width: int
    is_thinned: bool = False
    _kept: _Kept = field(default_factory=_Kept, repr=False, compare=False)
    _dense: list[tuple[int, Tensor]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    _pooled: list[_Pooled] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def from_csr(cls, x: Tensor) -> SparseRows:
        """Take a `torch.sparse_csr` matrix apart; 32-bit indices are half the memory to walk."""
        crow, col = x.crow_indices().to(torch.int32), x.col_indices().to(torch.int32)
        return cls(crow, col, x.values(), x.size(1))

    @classmethod
    def from_dense(cls, x: Tensor) -> SparseRows:
        """Keep what is not zero."""
        row, col = x.nonzero(as_tuple=True)
        return cls(offsets(row, len(x)).int(), col.int(), x[row, col], x.size(1))

    @property
    def columns(self) -> Columns:
        """The entries column by column, sorted once."""
        if self._kept.columns is None:
            with torch.inference_mode(False):  # like all that is kept: it may be for learning
                column, entry = torch.sort(self.col.long(), stable=True)
                ccol = offsets(column, self.width).to(torch.int32)
                row = self._row()[entry].to(torch.int32)
                self._kept.columns = Columns(ccol, row, entry)
        return self._kept.columns

    def pooled_places(self, hood: Neighbourhood) -> Places:
        """Where the sums of these rows over each C_v have entries, found once for a graph."""
        if hood.is_alone and not self._repeats_columns:
            return Places(self.crow, self.col)
        if self._kept.pooled is None or self._kept.pooled[0] is not hood:
            with torch.inference_mode(False):
                self._kept.pooled = hood, _united(self, hood)
        return self._kept.pooled[1]

    @property
    def kept_walks(self) -> list[Any]:
        """What `nodewise.ops.walks` keeps with these places: edges, a limit, and their walks."""
        return self._kept.walks

    def pooled(self, how: str, weight: Tensor | None, hood: Neighbourhood, make: Sums) -> Features:
        """Sums of these rows under some weights, made anew unless nothing has changed since.

        Args:
            how: The kernel's name.
            weight: Weights of the edges, if any.
            hood: The edges.
            make: Makes the sums.
        """
        versions = self.values._version, None if weight is None else weight._version
        for kept in self._pooled:
            same = kept.weight is weight and kept.hood is hood
            if same and (kept.how, kept.versions) == (how, versions):
                return kept.sums
        with torch.inference_mode(False):
            sums = make(self, weight, hood)
        self._pooled[:] = [_Pooled(how, weight, hood, versions, sums)]
        return sums

    @property
    def is_crowded(self) -> bool:
        """Whether so little is zero that products and sums of the dense matrix are faster."""
        return self.values.numel() >= _CROWDED * self.num_rows * self.width

    @property
    def _repeats_columns(self) -> bool:
        """Whether a row has more entries than there are columns; kernels have room for these."""
        lengths = self.crow[1:] - self.crow[:-1]
        return lengths.numel() > 0 and int(lengths.max()) > self.width

    def _row(self) -> Tensor:
        """The row of each entry."""
        rows = torch.arange(self.num_rows, device=self.device)
        return torch.repeat_interleave(rows, (self.crow[1:] - self.crow[:-1]).long())

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self.crow.numel() - 1

    @property
    def dtype(self) -> torch.dtype:
        """The values' type."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where the values are."""
        return self.values.device

    def with_values(self, values: Tensor) -> SparseRows:
        """The same places, other values."""
        return replace(self, values=values)

    def dense(self) -> Tensor:
        """The same matrix, dense; made once for the same values, unless its gradient is wanted."""
        # An inference tensor has no version that would tell of changes.
        version = None if self.values.is_inference() else self.values._version
        for kept, made in self._dense:
            if kept == version:
                return made
        if self._kept.flat is None:
            with torch.inference_mode(False):
                self._kept.flat = self._row() * self.width + self.col
        flat = self.values.new_zeros(self.num_rows * self.width)
        flat.scatter_add_(0, self._kept.flat, self.values)
        out = flat.view(self.num_rows, self.width)
        if version is not None and not (out.requires_grad or out.is_inference()):
            self._dense[:] = [(version, out)]
        return out

    def take(self, index: Tensor) -> SparseRows:
        """The rows named by `index`, in that order."""
        lengths = (self.crow[1:] - self.crow[:-1])[index]
        crow = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(torch.int32)
        shift = torch.repeat_interleave(self.crow[index] - crow[:-1], lengths)
        entry = torch.arange(shift.numel(), device=self.device) + shift
        return SparseRows(crow, self.col[entry], self.values[entry], self.width)


def _united(rows: SparseRows, hood: Neighbourhood) -> Places:
    """The columns that occur in each C_v: a product of patterns."""
    from scipy.sparse import csr_matrix

    def pattern(ptr: Tensor, index: Tensor, shape: tuple[int, int]) -> csr_matrix:
        return csr_matrix((torch.ones(index.numel()).numpy(), index.numpy(), ptr.numpy()), shape)

    graph = pattern(hood.ptr, hood.source, (hood.num_targets, rows.num_rows))
    united = graph @ pattern(rows.crow, rows.col, (rows.num_rows, rows.width))
    united.sort_indices()
    return Places(*(torch.from_numpy(part).int() for part in (united.indptr, united.indices)))


Features = Tensor | SparseRows
# From rows, weights of the edges and the edges to the sums over each C_v.
Sums = Callable[[SparseRows, Tensor | None, Neighbourhood], Features]


class _Pooled(NamedTuple):
    """Sums of rows over each C_v, and what they were made of and by."""

    how: str
    weight: Tensor | None
    hood: Neighbourhood
    versions: tuple[int, int | None]
    sums: Features


# From a CSR tensor to its rows, as long as the tensor lives.
_rows_of: WeakIdKeyDictionary = WeakIdKeyDictionary()


def as_features(x: Features) -> Features:
    """What the ops take: a dense tensor as it is, a CSR tensor as its three arrays."""
    if isinstance(x, SparseRows) or x.layout != torch.sparse_csr:
        return x
    if x not in _rows_of:
        _rows_of[x] = SparseRows.from_csr(x)
    return _rows_of[x].with_values(x.values())  # type: ignore[no-any-return]


def take_rows(x: Features, index: Tensor) -> Features:
    """Rows of either kind of features."""
    return x.take(index) if isinstance(x, SparseRows) else x[index]
