"""SHA-256 of graphs, of feature names and of logits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from nodewise.ops.sparse import Features, SparseRows, as_features

if TYPE_CHECKING:
    from torch_geometric.data import Data


def graph_sha256(data: Data) -> str:
    """The fingerprint of features, edges and labels; the same for dense and sparse features."""
    x: Features = as_features(data.x)
    rows = x if isinstance(x, SparseRows) else SparseRows.from_dense(x)
    weights = [data.edge_weight] if "edge_weight" in data else []
    return _sha256(rows.crow, rows.col, rows.values, data.edge_index, data.y, *weights)


def logits_sha256(logits: Tensor) -> str:
    """The fingerprint of a model's output, bit for bit."""
    return _sha256(logits)


def names_sha256(names: Sequence[str] | None) -> str:
    """The fingerprint of the features' names in their order; empty where they have none."""
    return hashlib.sha256("\0".join(names).encode()).hexdigest() if names else ""


def _sha256(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return digest.hexdigest()
