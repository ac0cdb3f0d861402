"""Localized messages of sparse rows: W_v is formed only in the columns that occur in C_v.

    z_uv = sum_j h_u[j] W_v[:, j],  W_v[:, j] = W[:, j] a_v[j] + b_v[j],  a_v[j] = 1 + sigma(m),
    m = code_v . expand_j, and b_v[j] alike, without the one

With the gradient g_uv of z_uv and T_v[:, j] = sum_u h_u[j] g_uv:

    dW[:, j] = sum_v a_v[j] T_v[:, j],  da_v[j] = W[:, j] . T_v[:, j],  db_v[j] = 1 . T_v[:, j],
    dh_u[j] = sum_v W_v[:, j] . g_uv,  dcode_v = sum_j dm expand_j,  dexpand_j = sum_v dm code_v

Every sum runs over segments of a batch of visits (see `visit_batches`). The backward pass forms
W_v again. Gathers of narrow rows bound the speed, so one table holds all that belongs to a column
j.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import leaky_relu

from nodewise.ops.dropconnect import DropConnect, keep_pairs
from nodewise.ops.factored.segments import leaky_backward, row_dots, segment_sums
from nodewise.ops.factored.visits import VisitBatch, visit_batches


class _Tables(NamedTuple):
    """The weights with a row for each column j or target v; scales' heads before shifts' heads.

    Attributes:
        weight: W, shape (in, H * out).
        expand: Both expansions, shape (in, 2 * H * k).
        code: Both codes, shape (targets, 2 * H * k).
    """

    weight: Tensor
    expand: Tensor
    code: Tensor

    @classmethod
    def of(cls, weight: Tensor, *generators: Tensor) -> _Tables:
        """Tables of the tensors that `messages` takes."""
        scale_code, scale_expand, shift_code, shift_expand = generators
        expands = torch.cat([scale_expand, shift_expand]).transpose(0, 1)
        codes = torch.cat([scale_code, shift_code], 1)
        return cls(weight.permute(2, 0, 1).flatten(1), expands.flatten(1), codes.flatten(1))

    def untangled(self, heads: int) -> tuple[Tensor, ...]:
        """The inverse of `of`."""
        weight = torch.unflatten(self.weight, 1, (heads, -1)).permute(1, 2, 0)
        expands = torch.unflatten(self.expand, 1, (2, heads, -1)).transpose(0, 2).unbind(1)
        codes = torch.unflatten(self.code, 1, (2, heads, -1)).unbind(1)
        return weight, codes[0], expands[0], codes[1], expands[1]


class _Formed(NamedTuple):
    """W_v[:, j] for each column use (v, j) of a batch, and the factors it is computed from.

    Attributes:
        local: W_v[:, j], shape (uses, H, out).
        column: W[:, j], shape (uses, H, out).
        scale: a_v[j], shape (uses, H, 1).
        before: m of a_v[j] and of b_v[j], shape (uses, 2 * H).
        keep: DropConnect's factors, shape (uses, H, out), if any.
    """

    local: Tensor
    column: Tensor
    scale: Tensor
    before: Tensor
    keep: Tensor | None


def _form(
    batch: VisitBatch, tables: _Tables, heads: int, drop: DropConnect | None, slope: float
) -> _Formed:
    """W_v in the columns that a batch uses."""
    code = tables.code[batch.first : batch.last].index_select(0, batch.target)
    size = max(tables.code.size(1) // (2 * heads), 1)
    before = row_dots(code, tables.expand.index_select(0, batch.col), size)
    scale, shift = torch.unflatten(leaky_relu(before, slope), 1, (2, heads, 1)).unbind(1)
    scale = scale + 1
    column = torch.unflatten(tables.weight.index_select(0, batch.col), 1, (heads, -1))
    local, keep = torch.addcmul(shift, column, scale), None
    if drop is not None:
        nodes = batch.target.long() + batch.first
        kept = keep_pairs(drop, nodes, batch.col.long(), heads, column.size(2))
        keep = kept.to(local.dtype) / (1 - drop.rate)
        local *= keep
    return _Formed(local, column, scale, before, keep)


class SparseMessages(torch.autograd.Function):
    """z_uv = W_v h_u, batch by batch.

    Takes the values of the rows, the five tensors of `messages`, the rows, the edges, DropConnect,
    the slope, and how many numbers a chunk may have.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, *args: Any) -> Tensor:
        """Return the messages, shape (E, H, out)."""
        *given, x, neighbors, drop, slope, limit = args
        heads, out, _ = given[0].shape
        ctx.save_for_backward(values, *given)
        most_visits = limit // max(heads * max(out, 2 * given[1].size(2)), 1)
        ctx.rest = (x, neighbors, most_visits), drop, slope
        tables = _Tables.of(*given)
        z = values.new_empty(neighbors.num_edges, heads * out)
        for batch in visit_batches(x, neighbors, most_visits):
            local = _form(batch, tables, heads, drop, slope).local.flatten(1)
            visited = values.index_select(0, batch.entry)
            z[batch.edges] = segment_sums(local, batch.use, batch.ptr, visited)
        return z.view(-1, heads, out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradients of the first six inputs."""
        values, *given = ctx.saved_tensors
        ways, drop, slope = ctx.rest
        tables, heads = _Tables.of(*given), given[0].size(0)
        grads = _Tables(*(torch.zeros_like(table) for table in tables))
        of_values = torch.zeros_like(values) if ctx.needs_input_grad[0] else None
        grad = grad.flatten(1).contiguous()
        for batch in visit_batches(*ways):
            formed, g = _form(batch, tables, heads, drop, slope), grad[batch.edges]
            if of_values is not None:
                of_values.index_add_(0, batch.entry, _visit_dots(batch, formed, g))
            if any(ctx.needs_input_grad[1:6]):
                visited = values.index_select(0, batch.entry_by_use)
                t = segment_sums(g, batch.edge_by_use, batch.use_ptr, visited)
                _add_gradients(batch, formed, t.view_as(formed.local), tables, grads, slope)
        return of_values, *grads.untangled(heads), *[None] * 5


def _visit_dots(batch: VisitBatch, formed: _Formed, g: Tensor) -> Tensor:
    """W_v[:, j] . g_uv for each visit."""
    of_edge = torch.repeat_interleave(g, batch.ptr.diff(), 0)
    return row_dots(of_edge, formed.local.flatten(1).index_select(0, batch.use), g.size(1))[:, 0]


def _add_gradients(
    batch: VisitBatch, formed: _Formed, t: Tensor, tables: _Tables, grads: _Tables, slope: float
) -> None:
    """Add what T_v[:, j] of a batch's column uses gives to the gradients of the tables."""
    if formed.keep is not None:
        t *= formed.keep
    uses, heads, out = t.shape
    scaled = (t * formed.scale).flatten(1)
    grads.weight.add_(segment_sums(scaled, batch.by_col, batch.col_ptr))
    of_shift = (t.view(-1, out) @ t.new_ones(out)).view(uses, heads)
    of_scale = row_dots(t.flatten(1), formed.column.flatten(1), out)
    dm = leaky_backward(torch.cat([of_scale, of_shift], 1), formed.before, slope)
    by_target, by_col = dm.t().contiguous(), dm.index_select(0, batch.by_col).t().contiguous()
    split, targets = (2 * heads, -1), slice(batch.first, batch.last)
    code, of_code = (torch.unflatten(each.code[targets], 1, split) for each in (tables, grads))
    expand, of_expand = (torch.unflatten(each.expand, 1, split) for each in (tables, grads))
    for h in range(2 * heads):
        rows = expand[:, h].contiguous(), code[:, h].contiguous()
        of_code[:, h] += segment_sums(rows[0], batch.col, batch.target_ptr, by_target[h])
        of_expand[:, h] += segment_sums(rows[1], batch.target_by_col, batch.col_ptr, by_col[h])
