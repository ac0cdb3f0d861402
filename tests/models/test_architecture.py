from __future__ import annotations

import torch
from torch.nn import BatchNorm1d

from nodewise.models.architecture import Architecture
from nodewise.nn.block import BlockRule
from nodewise.nn.row_norm import RowNorm


def test_a_rule_keeps_the_backbones_normalization_unless_another_is_given() -> None:
    backbone = BlockRule(normalization="symmetric", loops=True)
    assert Architecture().rule(backbone) == backbone
    changed = Architecture(normalization="mean", self_weight=2.0, max_neighbors=5).rule(backbone)
    assert (changed.normalization, changed.loops) == ("mean", backbone.loops)
    assert (changed.self_weight, changed.max_neighbors) == (2.0, 5)


def test_sizes_grow_by_heads_unless_linear_layers_stand_at_the_ends() -> None:
    narrow = Architecture(hidden_channels=8, num_layers=3)
    assert list(narrow.layer_sizes((100, 7), heads=4)) == [(100, 8, 4), (32, 8, 4), (32, 7, 1)]
    strong = Architecture(hidden_channels=8, num_layers=2, linear_ends=True)
    assert list(strong.layer_sizes((100, 7), heads=4)) == [(32, 8, 4)] * 2


def test_a_stack_without_convs_is_a_perceptron_of_its_roots() -> None:
    plain = Architecture(hidden_channels=5, num_layers=1, root=True, output_act="none")
    model = plain.stack([], (3, 2), heads=1).eval()
    x, edges = torch.rand(4, 3), torch.tensor([[0, 1], [1, 2]])
    torch.testing.assert_close(model(x, edges), model(x, edges.flip(0)))
    assert sum(weight.numel() for weight in model.parameters()) > 0


def test_norms_stand_between_layers_and_a_rate_of_features_replaces_the_inputs() -> None:
    def norms(**settings: bool) -> list[type]:
        shape = Architecture(hidden_channels=4, num_layers=2, root=True, **settings)  # type: ignore[arg-type]
        return [type(module) for module in shape.stack([], (3, 2), heads=1).modules()]

    assert BatchNorm1d in norms(batch_norm=True) and RowNorm not in norms(batch_norm=True)
    assert RowNorm in norms(layer_norm=True)
    assert not {BatchNorm1d, RowNorm} & {*norms()}


def test_options_of_a_conv_are_grouped() -> None:
    options = Architecture(
        weight_dropout=0.1, message_dropout=0.2, message_bias=True
    ).conv_options()
    assert (options["drop_rates"].weight, options["drop_rates"].message) == (0.1, 0.2)
    assert options["message"].bias and options["message"].act is None and not options["bias"]
    localization = Architecture(context="sum", generator_row_sum=0.3).localization_options(True)
    assert (localization.context, localization.bias) == ("sum", True)
    assert localization.generator_row_sum == 0.3
