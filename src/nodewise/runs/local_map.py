"""The local weights of some nodes in the plane, for a run's page: a small map of the explorer's."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from nodewise.nn.modulation import Modulation
from nodewise.runs.axes import principal

_NODES: Final = 1000
_NUMBERS: Final = 2**22  # scales and shifts at once, 32 MB


def local_map(modulation: Modulation, predicted: Tensor) -> dict[str, Any]:
    """Nodes on the first two principal axes of (a_v - 1, b_v) with their classes; the global model.

    Args:
        modulation: The node level's modulation in the first layer.
        predicted: The predicted class of each node, shape (N,).
    """
    count = len(predicted)
    size = max(2, min(_NODES, _NUMBERS * count // (2 * modulation.count)))
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    nodes = order[:size].sort().values
    a, b = modulation.rows(nodes)
    rows = torch.cat([a.flatten(1), b.flatten(1)], 1).detach().cpu().double()
    none = rows.new_zeros(1, rows.size(1))  # a = 1, b = 0
    points = principal(lambda: iter([rows]), *rows.shape, count=2, also=none)
    largest = max(float(abs(points).max()), torch.finfo(torch.double).tiny)
    *places, middle = (points / largest).round(3).tolist()
    classes = predicted.cpu()[nodes].tolist()
    return {"nodes": [[*at, k] for at, k in zip(places, classes, strict=True)], "global": middle}
