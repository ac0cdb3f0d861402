"""The density of nodes on a map: contour lines below them, and the places of class names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nodewise.explorer.palette import GRAY

_CELLS: Final = 48  # along each axis
_BLUR: Final = 1.4  # cells
_FEWEST: Final = 20  # nodes that have a density
_MARGIN: Final = 0.1  # of the map's width, so that lines close outside of the nodes
_LETTER: Final = 0.9  # cells that a letter of a name takes where a map is 350 pixels wide
_LINE: Final = 3  # cells from a name to the one above it
NAME: Final = 24  # letters of a name on a map
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """A grid over a map.

    Attributes:
        low: Its lower left corner, shape (2,).
        high: Its upper right corner, shape (2,).
    """

    low: Floats
    high: Floats

    @classmethod
    def over(cls, places: Floats) -> Grid:
        """The grid over some places, shape (N, 2), and a margin around them."""
        margin = _MARGIN * np.ptp(places, 0) + 1e-9
        return cls(places.min(0) - margin, places.max(0) + margin)

    def heights(self, places: Floats) -> Floats:
        """How many places lie in each cell, blurred, shape (cells across, cells up)."""
        from scipy.ndimage import gaussian_filter

        across, up = places.T
        span = list(zip(self.low.tolist(), self.high.tolist(), strict=True))
        counts = np.histogram2d(across, up, _CELLS, span)[0]
        return np.asarray(gaussian_filter(counts, _BLUR, mode="constant"))

    def centers(self) -> tuple[Floats, Floats]:
        """The coordinates of the cells, across and up."""
        steps = (np.arange(_CELLS) + 0.5) / _CELLS
        x, y = (self.low + steps[:, None] * (self.high - self.low)).T
        return x, y


def density(places: Floats) -> list[dict[str, Any]]:
    """A trace of contour lines; none where there are few nodes, or all at one place.

    Args:
        places: The nodes' coordinates, shape (N, 2).
    """
    if len(places) < _FEWEST or not np.ptp(places, 0).all():
        return []
    grid = Grid.over(places)
    height = np.sqrt(grid.heights(places))  # else only the densest place has lines
    x, y = grid.centers()
    return [
        {
            "type": "contour",
            "name": "density",
            "showlegend": True,
            "x": x.round(4).tolist(),
            "y": y.round(4).tolist(),
            "z": (height.T / height.max()).round(2).tolist(),
            "autocontour": False,
            "contours": {"start": 0.15, "end": 0.9, "size": 0.15, "coloring": "none"},
            "line": {"color": GRAY, "width": 1},
            "showscale": False,
            "opacity": 0.7,
            "hoverinfo": "skip",
        }
    ]


def spots(groups: Mapping[str, Floats], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The places of the names of groups: where a group is dense, and denser than others.

    Args:
        groups: The places of each group, by name, shape (n, 2).
        names: The groups in the order in which they choose; each keeps away from earlier ones.
    """
    grid = Grid.over(np.concatenate([*groups.values()]))
    heights = {name: grid.heights(groups[name]) for name in names}
    total = np.maximum(sum(heights.values(), np.zeros((_CELLS, _CELLS))), 1e-12)
    x, y = grid.centers()
    found: dict[str, tuple[float, float]] = {}
    taken: list[tuple[int, int, str]] = []
    for name in names:
        worth, free = heights[name] ** 2 / total, _free(taken, name)
        best = (worth * free if (worth * free).any() else worth).argmax()
        column, row = map(int, np.unravel_index(best, worth.shape))
        found[name] = (float(x[column]), float(y[row]))
        taken.append((column, row, name))
    return found


def _free(taken: Sequence[tuple[int, int, str]], name: str) -> Floats:
    """1 for the cells in whose middle a name can stand, 0 where it would cover one of the others.

    Args:
        taken: The column and row of the middle of each other name, and the name.
        name: The name.
    """
    free = np.ones((_CELLS, _CELLS))
    for column, row, other in taken:
        across = round(_LETTER * (min(NAME, len(name)) + min(NAME, len(other))) / 2) + 1
        up = slice(max(0, row - _LINE), row + _LINE + 1)
        free[max(0, column - across) : column + across + 1, up] = 0
    return free
