from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from nodewise.analysis import local_weights
from nodewise.analysis.local_weights import LocalWeights
from nodewise.ops import reference
from nodewise.runs import diagnostics
from tests.analysis.subjects import random_view


@pytest.fixture(params=[2**20, 0], ids=["kept", "generated again"])
def local(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LocalWeights:
    monkeypatch.setattr(diagnostics, "_SCALES_AT_ONCE", 100)
    monkeypatch.setattr(local_weights, "_KEPT", request.param)
    found = LocalWeights.of(random_view("LGAT").subject)
    assert found is not None
    return found


def test_the_distance_is_the_length_of_the_difference_of_the_matrices(local: LocalWeights) -> None:
    modulation = local.modulation
    every = reference.localized_weight(local.weight, modulation.scale, modulation.shift)
    expected = (every - local.weight).flatten(1).norm(dim=1).detach()
    np.testing.assert_allclose(local.distance, expected.numpy())
    assert local.distance[local.rank.argsort()].tolist() == sorted(local.distance, reverse=True)
    distance, rank, relative = local.place(4)
    assert (distance, rank) == (local.distance[4], local.rank[4])
    assert relative == pytest.approx(distance / float(local.weight.norm()))


def test_similarity_is_the_cosine_of_scales_and_shifts(local: LocalWeights) -> None:
    modulation = local.modulation
    rows = torch.cat([(modulation.scale - 1).flatten(1), modulation.shift.flatten(1)], 1).detach()
    expected = cosine_similarity(rows[7:8], rows).numpy()
    np.testing.assert_allclose(local.similarity(7), expected)
    similar = local.similar(7, 5)
    assert len(similar) == 5 and 7 not in dict(similar)
    assert similar[0][1] == pytest.approx(np.delete(expected, 7).max())


def test_an_unlocalized_node_is_similar_to_none() -> None:
    view = random_view()
    modulator = view.subject.layered.layers[0].node_modulator
    for generator in (modulator.to_scale, modulator.to_shift):
        generator.expand.data.zero_()
    local = LocalWeights.of(view.subject)
    assert local is not None
    assert not local.similarity(0).any() and not local.distance.any()


@pytest.mark.parametrize("name", ["GCN", "LGCN:edge", "GAT-FiLM", "MLP"])
def test_without_a_node_level_there_are_none(name: str) -> None:
    assert LocalWeights.of(random_view(name).subject) is None
