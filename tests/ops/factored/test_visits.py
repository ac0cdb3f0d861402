"""Batches of visits to the entries of the rows along edges."""

from __future__ import annotations

import pytest
import torch

from nodewise.ops.factored import visits
from tests.graphs import sparse
from tests.ops.factored.test_factored import a_case


def test_batches_are_cached_with_the_places_unless_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = a_case(0.1)
    rows = sparse(case.x)
    first = list(visits.visit_batches(rows, case.neighbors, 100))
    again = list(visits.visit_batches(rows.with_values(2 * rows.values), case.neighbors, 100))
    assert len(first) > 1 and all(a is b for a, b in zip(first, again, strict=True))
    assert next(iter(visits.visit_batches(rows, case.neighbors, 50))) is not first[0]
    monkeypatch.setattr(visits, "CACHED_VISITS", 10)
    fresh = sparse(case.x)
    assert list(visits.visit_batches(fresh, case.neighbors, 100)) and not fresh.cached_visits


def test_batches_visit_every_entry_of_every_edge_once() -> None:
    case = a_case(0.1)
    rows = sparse(case.x)
    dense = torch.zeros(case.neighbors.num_edges, rows.width, dtype=torch.float64)
    for batch in visits.visit_batches(rows, case.neighbors, 64):
        assert batch.entry.numel() <= 64
        edge = torch.repeat_interleave(batch.ptr.diff().long()) + batch.edges.start
        dense[edge, batch.col[batch.use].long()] += rows.values[batch.entry]
        targets = batch.target[batch.use] + batch.first
        assert torch.equal(targets.long(), case.neighbors.target[edge])
    assert torch.equal(dense, case.x[case.neighbors.source])
