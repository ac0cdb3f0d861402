from __future__ import annotations

import json
from itertools import combinations

import numpy as np

from nodewise.explorer.density import density, spots

POINTS = np.random.default_rng(0).normal(size=(300, 2))


def test_lines_are_densest_where_nodes_are() -> None:
    (trace,) = density(POINTS * 0.2 + [3, -1])
    height = np.array(trace["z"])
    row, column = np.unravel_index(height.argmax(), height.shape)
    assert height.max() == 1 and np.hypot(trace["x"][column] - 3, trace["y"][row] + 1) < 0.3
    edges = np.concatenate([height[0], height[-1], height[:, 0], height[:, -1]])
    assert edges.max() < trace["contours"]["start"]  # lines close inside of the map
    json.dumps(trace, allow_nan=False)


def test_few_nodes_and_nodes_at_one_place_have_no_density() -> None:
    assert density(POINTS[:5]) == [] == density(np.zeros((50, 2)))


def test_a_name_stands_where_its_group_is_and_others_are_not() -> None:
    left, right = POINTS * 0.3 - [4, 0], POINTS * 0.3 + [4, 0]
    both = {"a": np.concatenate([left, right[:150]]), "b": right}
    found = spots(both, ["a", "b"])
    assert abs(found["a"][0] + 4) < 1 and abs(found["b"][0] - 4) < 1


def test_names_of_groups_at_one_place_do_not_cover_each_other() -> None:
    found = spots({name: POINTS for name in "abc"}, [*"abc"])
    assert len({*found.values()}) == 3
    names = [letter * 20 for letter in "abcdef"]
    places = np.array([*spots(dict.fromkeys(names, POINTS), names).values()])
    cell = np.ptp(POINTS, 0) * 1.2 / 48
    for one, two in combinations(places / cell, 2):
        apart = abs(one - two)
        assert apart[0] > 18 or apart[1] > 3  # 20 letters take 18 cells of a narrow screen
    alone = spots({"a": np.zeros((1, 2))}, ["a"])
    assert np.allclose(alone["a"], 0, atol=1e-6)
