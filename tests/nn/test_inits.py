from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.nn import inits as pyg_inits

from nodewise.errors import UnknownNameError
from nodewise.nn.inits import INITIALIZERS, initialize
from nodewise.nn.lazy import LazyWeight


def filled(name: str) -> torch.Tensor:
    torch.manual_seed(0)
    weight = torch.full((2, 300, 200), float("nan"))
    initialize(weight, name)
    return weight


# The standard deviation and the largest absolute value of each, for 200 inputs and 300 outputs.
EXPECTED = {
    "glorot": (math.sqrt(2 / 500), math.sqrt(6 / 500)),
    "truncated_he": (0.8796 * math.sqrt(2 / 200), 2 * math.sqrt(2 / 200)),
    "small_uniform": (0.02 / math.sqrt(12), 0.01),
    "zeros": (0.0, 0.0),
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_weights_have_the_spread_and_the_bounds_of_their_initializer(name: str) -> None:
    weight = filled(name)
    deviation, bound = EXPECTED[name]
    assert weight.std().item() == pytest.approx(deviation, rel=0.01)
    assert weight.abs().max() <= bound * 1.001 and weight.abs().max() >= 0.99 * bound


def test_glorot_is_pygs() -> None:
    torch.manual_seed(0)
    weight = torch.empty(2, 300, 200)
    pyg_inits.glorot(weight)
    assert torch.equal(filled("glorot"), weight)


def test_names_are_checked_even_where_a_weight_waits() -> None:
    for weight in (torch.empty(2, 2), LazyWeight((2, -1), "zeros")):
        with pytest.raises(UnknownNameError, match="did you mean 'glorot'"):
            initialize(weight, "glorott")
    initialize(LazyWeight((2, -1), "zeros"), "zeros")
