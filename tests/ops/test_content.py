"""What is cached for a tensor is not used after any change of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import nodewise as nw
from nodewise.ops.content import content_of


def by_torch(index: Tensor) -> None:
    index[0] = 2


def by_numpy(index: Tensor) -> None:
    index.numpy()[0] = 2


def by_data(index: Tensor) -> None:
    index.data[0] = 2


def by_swapping(index: Tensor) -> None:
    """Numbers change their places, and their sum stays."""
    index.numpy()[:] = index.numpy()[::-1].copy()


CHANGES = (by_torch, by_numpy, by_data, by_swapping)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("in_inference", [False, True])
def test_edges_that_were_changed_are_sorted_again(
    change: Callable[[Tensor], None], in_inference: bool
) -> None:
    x, model = torch.rand(5, 3), nw.LGCN(3, 4, 2).eval()
    with torch.inference_mode(in_inference):
        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
        before = model(x, edges)
        change(edges[1])
        after = model(x, edges)
        assert torch.equal(after, model(x, edges.clone())) and not torch.equal(before, after)


@pytest.mark.parametrize("change", CHANGES)
def test_sparse_rows_whose_columns_were_changed_are_read_again(
    change: Callable[[Tensor], None],
) -> None:
    edges, model = torch.tensor([[0, 1], [1, 2]]), nw.LGCN(4, 4, 2).eval()
    x = torch.tensor([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4]]).to_sparse_csr()
    before = model(x, edges)
    change(x.col_indices()[:1] if change is not by_swapping else x.col_indices()[1:3])
    after = model(x, edges)
    torch.testing.assert_close(after, model(x.clone(), edges))
    assert not torch.equal(before, after)


def test_edges_seen_in_inference_mode_train_later() -> None:
    model, x = nw.LGCN(3, 4, 2).eval(), torch.rand(3, 3)
    with torch.inference_mode():
        edges = torch.tensor([[0, 1], [1, 2]])
        model(x, edges)
    gradients = []
    for later in (edges.clone(), torch.tensor([[0, 1], [1, 2]])):
        gradients.append(torch.autograd.grad(model(x, later).sum(), list(model.parameters())))
    torch.testing.assert_close(*gradients)
    assert any(gradient.any() for gradient in gradients[0])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 60), st.data())
def test_any_change_of_up_to_three_numbers_is_seen(size: int, data: st.DataObject) -> None:
    numbers = np.arange(size) % 5
    before = content_of(torch.from_numpy(numbers))
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True))
    for place in places:
        numbers[place] += data.draw(st.sampled_from([-7, -1, 1, 2, 2**40]))
    assert content_of(torch.from_numpy(numbers)) != before
