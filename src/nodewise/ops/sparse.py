"""Sparse node features in the layout of the kernels: three arrays, gradients for the values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from nodewise.errors import InputError
from nodewise.ops.content import content_of
from nodewise.ops.neighbors import offsets
from nodewise.ops.safety import check_dtype, check_shape, check_sparse, has_numbers

# At this density and above, products and sums use the dense matrix: they do several times as many
# multiplications a second as those of sparse rows.
_CROWDED = 0.2


class ColumnMajor(NamedTuple):
    """The same entries column by column.

    Attributes:
        ccol: Column f's entries are `ccol[f]` to `ccol[f + 1]`, int32, shape (width + 1,).
        row: The row of each entry, int32, shape (nnz,).
        entry: The place of each entry among the rows' entries, int64, shape (nnz,).
    """

    ccol: Tensor
    row: Tensor
    entry: Tensor


@dataclass
class _PlacesCache:
    """Facts about the places of entries, shared by all rows with the same places."""

    columns: ColumnMajor | None = None
    flat: Tensor | None = None
    visits: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class SparseRows:
    """Node features in compressed sparse rows.

    Most operations on a `torch.sparse_csr` tensor have no gradient; those on its three arrays do.

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
    _cache: _PlacesCache = field(default_factory=_PlacesCache, repr=False, compare=False)
    _dense: list[tuple[int, Tensor]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if has_numbers(self.crow):
            check_sparse("x", self.crow, self.col, self.values, self.width)

    @classmethod
    def from_csr(cls, x: Tensor) -> SparseRows:
        """The three arrays of a `torch.sparse_csr` matrix; 32-bit indices take half the memory."""
        crow, col = x.crow_indices(), x.col_indices()
        # Before the conversion to 32 bits, which would wrap large numbers back into range.
        check_sparse("x", crow, col, x.values(), x.size(1))
        check_shape("x.crow", crow, (x.size(0) + 1,))
        if col.numel() >= 2**31:
            raise InputError(
                "x",
                "has too many entries for 32-bit offsets",
                value=col.numel(),
                way_out="cut it",
            )
        return cls(crow.to(torch.int32), col.to(torch.int32), x.values(), x.size(1))

    @classmethod
    def from_dense(cls, x: Tensor) -> SparseRows:
        """The rows of a dense matrix without its zeros."""
        row, col = x.nonzero(as_tuple=True)
        return cls(offsets(row, len(x)).int(), col.int(), x[row, col], x.size(1))

    @property
    def columns(self) -> ColumnMajor:
        """The entries column by column, sorted once."""
        if self._cache.columns is None:
            with torch.inference_mode(False):  # a later call may need gradients
                column, entry = torch.sort(self.col.long(), stable=True)
                ccol = offsets(column, self.width).to(torch.int32)
                row = self._row()[entry].to(torch.int32)
                self._cache.columns = ColumnMajor(ccol, row, entry)
        return self._cache.columns

    @property
    def cached_visits(self) -> list[Any]:
        """The cache of `nodewise.ops.factored.visits` for these places and some edges."""
        return self._cache.visits

    @property
    def is_crowded(self) -> bool:
        """Whether rows are so dense that products and sums of the dense matrix are faster."""
        return self.values.numel() >= _CROWDED * self.num_rows * self.width

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
        """Rows with the same places and other values."""
        return replace(self, values=values)

    def dense(self) -> Tensor:
        """The dense matrix, cached for the same values unless it needs a gradient."""
        # An inference tensor has no version counter.
        version = None if self.values.is_inference() else self.values._version
        for cached_version, dense in self._dense:
            if cached_version == version:
                return dense
        if self._cache.flat is None:
            with torch.inference_mode(False):
                self._cache.flat = self._row() * self.width + self.col
        flat = self.values.new_zeros(self.num_rows * self.width)
        flat.scatter_add_(0, self._cache.flat, self.values)
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


Features = Tensor | SparseRows

# From a CSR tensor to the content of its indices and its rows, as long as the tensor exists.
_rows_of: WeakIdKeyDictionary = WeakIdKeyDictionary()


def as_features(x: Features) -> Features:
    """The input of the ops: a dense tensor as it is, a CSR tensor as its three arrays.

    Raises:
        InputError: It is neither.
    """
    if isinstance(x, SparseRows):
        return x
    if not isinstance(x, Tensor):
        raise InputError(
            "x",
            "must be a tensor",
            value=type(x).__name__,
            way_out="convert it, an array with torch.from_numpy",
        )
    if x.layout == torch.strided:
        return x
    if x.layout != torch.sparse_csr:
        raise InputError(
            "x",
            "must be dense or torch.sparse_csr",
            value=str(x.layout),
            way_out="convert it with .to_sparse_csr()",
        )
    content = (content_of(x.crow_indices()), content_of(x.col_indices()))
    cached = _rows_of.get(x)  # type: ignore[no-untyped-call]
    if cached is None or cached[0] != content:
        cached = _rows_of[x] = content, SparseRows.from_csr(x)
    return cached[1].with_values(x.values())  # type: ignore[no-any-return]


def num_rows(x: Features) -> int:
    """How many rows features of either kind have."""
    return x.num_rows if isinstance(x, SparseRows) else x.size(0)


def row_width(x: Features) -> int:
    """The size of a row of either kind of features."""
    return x.width if isinstance(x, SparseRows) else x.size(-1)


def take_rows(x: Features, index: Tensor) -> Features:
    """Rows of either kind of features."""
    # Several times as fast as x[index], whose gradient is made for any number of indices.
    return x.take(index) if isinstance(x, SparseRows) else x.index_select(0, index)


def check_rows(
    x: Features, width: int, count: int | None = None, way_out: str = "check the sizes"
) -> None:
    """Check the numbers of columns and of rows of features.

    Raises:
        InputError: The features have another shape.
    """
    rows = (x.num_rows, x.width) if isinstance(x, SparseRows) else tuple(x.shape)
    if len(rows) != 2 or rows[1] != width or count not in (None, rows[0]):
        expected = f"({'nodes' if count is None else count}, {width})"
        raise InputError("x", f"must have the shape {expected}", value=rows, way_out=way_out)


def is_autocast_on(device: torch.device) -> bool:
    """Whether `torch.autocast` is on for a device; the meta device has none."""
    return device.type != "meta" and torch.is_autocast_enabled(device.type)


def check_precision(name: str, x: Features | Tensor, weight: Tensor) -> None:
    """Check that a tensor is multiplied with a weight of its own type, on its device.

    Raises:
        InputError: It is not; autocast converts types by itself.
    """
    if x.dtype != weight.dtype and not is_autocast_on(weight.device):
        check_dtype(weight.dtype, name, x)
    if x.device != weight.device:
        raise InputError(
            name,
            f"must be on {weight.device}, like the weights",
            value=str(x.device),
            way_out=f"move it with .to({str(weight.device)!r})",
        )
