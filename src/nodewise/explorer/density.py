"""How densely nodes lie on a map, as contour lines below them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nodewise.explorer.palette import GRAY

_CELLS: Final = 48  # along each axis
_BLUR: Final = 1.4  # cells
_FEWEST: Final = 20  # nodes that have a density
_MARGIN: Final = 0.06  # of the map's width, so that lines close outside of the nodes


def density(places: NDArray[np.float64]) -> list[dict[str, Any]]:
    """A trace of contour lines; none where there are few nodes, or all at one place.

    Args:
        places: The nodes' coordinates, shape (N, 2).
    """
    if len(places) < _FEWEST or not np.ptp(places, 0).all():
        return []
    from scipy.ndimage import gaussian_filter

    margin = _MARGIN * np.ptp(places, 0)
    span = np.stack([places.min(0) - margin, places.max(0) + margin], 1)
    across, up = places.T
    counts, *edges = np.histogram2d(across, up, _CELLS, span.tolist())
    height = np.sqrt(gaussian_filter(counts, _BLUR))  # else only the densest place has lines
    x, y = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
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
