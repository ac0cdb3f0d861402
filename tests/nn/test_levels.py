from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import Module

from nodewise.errors import UnknownNameError
from nodewise.models.zoo import build_model
from nodewise.nn.levels import LEVELS, levels_of, with_levels
from tests.training.tasks import small_graph

FAMILIES = ("LGCN", "LGAT", "LGIN", "LSAGE", "LGAT-strong")
KEPT = {":global": (), ":node": ("node",), ":edge": ("edge",), "": LEVELS}


def random_model(name: str) -> Module:
    torch.manual_seed(0)
    model = build_model(name, 7, 3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.3)
    return model


def output(model: Module) -> Tensor:
    data = small_graph()
    with torch.no_grad():
        logits: Tensor = model(data.x, data.edge_index)
    return logits


@pytest.mark.parametrize("tag", KEPT)
@pytest.mark.parametrize("family", FAMILIES)
def test_levels_switched_off_are_the_row_of_the_zoo_with_the_same_weights(
    family: str, tag: str
) -> None:
    model, row = random_model(family), build_model(f"{family}{tag}", 7, 3)
    found = row.load_state_dict(model.state_dict(), strict=False)
    assert not found.missing_keys
    assert torch.equal(output(with_levels(model, KEPT[tag])), output(row.eval()))


def test_the_given_model_keeps_its_levels_its_mode_and_its_weights() -> None:
    model = random_model("LGCN").train()
    twin = with_levels(model, ())
    assert (levels_of(model), levels_of(twin)) == (LEVELS, ())
    assert model.training and not twin.training
    assert all(module.training for module in model.modules())
    assert twin.get_parameter("convs.0.weight") is model.get_parameter("convs.0.weight")


def test_a_hook_and_a_parameter_of_the_twin_are_not_those_of_the_model() -> None:
    model = random_model("LGCN")
    twin = with_levels(model, LEVELS)
    conv = twin.get_submodule("convs.0")
    conv.register_forward_hook(lambda *args: None)
    conv.register_parameter("mask", torch.nn.Parameter(torch.ones(1)))
    theirs = model.get_submodule("convs.0")
    assert not theirs._forward_hooks and "mask" not in dict(theirs.named_parameters())


def test_a_module_that_occurs_twice_is_one_in_the_twin() -> None:
    layer = torch.nn.Linear(2, 2)
    twin = with_levels(torch.nn.ModuleList([layer, layer]), ())
    assert twin[0] is twin[1] and twin[0] is not layer


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'node'"):
        with_levels(random_model("LGCN"), ["nodes"])
