"""All nodes at once or layer by layer: one rule, the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from nodewise.data.csc import CscGraph
from nodewise.data.store import GraphStore
from nodewise.data.store_writer import StoreWriter
from nodewise.models.memory import forward_bytes
from nodewise.models.zoo import build_model
from nodewise.runs.diagnostics import first_modulation, localization
from nodewise.training.inference import Inference, MappedGraph
from tests.training.tasks import small_graph, small_task

LITTLE = Inference(memory=1)
MUCH = Inference(memory=10**9)


def store_of(folder: Path, weighted: bool = False) -> GraphStore:
    """The small graph in files."""
    data = small_graph()
    weight = torch.rand(data.edge_index.size(1)) if weighted else None
    csc = CscGraph.from_edges(data.edge_index, data.x.size(0), weight)
    names = [f"f{i}" for i in range(data.x.size(1))]
    with StoreWriter(folder, len(data.x), names, "abc", weighted=weighted) as writer:
        writer.add_nodes(data.x.numpy(), data.y.numpy())
        writer.add_edges(np.diff(csc.colptr), csc.row, csc.edge_weight)
        return writer.finish()


@pytest.mark.parametrize("name", ["LGCN", "LSAGE", "GAT-64"])
@pytest.mark.parametrize("sparse", [True, False])
def test_the_rule_changes_no_number(name: str, sparse: bool) -> None:
    data = small_graph()
    x = data.x.to_sparse_csr() if sparse else data.x
    torch.manual_seed(0)
    model = build_model(name, data.x.size(1), 3).eval()
    inputs = (x, data.edge_index)
    assert MUCH.in_parts(model, inputs) is None and LITTLE.in_parts(model, inputs) is not None
    found = [[*how.outputs(model, inputs, embeddings=True)] for how in (MUCH, LITTLE)]
    assert len(found[0]) == 1 and len(found[1]) > 1
    for key in ("logits", "embedding"):
        both = [torch.cat([getattr(part, key) for part in parts]) for parts in found]
        torch.testing.assert_close(*both, rtol=1e-5, atol=1e-4)


def test_the_rule_compares_the_estimate_with_the_budget() -> None:
    data = small_graph()
    model = build_model("LGCN", data.x.size(1), 3)
    needed = forward_bytes(model, data.x.size(0), data.edge_index.size(1))
    inputs = (data.x, data.edge_index)
    assert Inference(needed).in_parts(model, inputs) is None
    assert Inference(needed - 1).in_parts(model, inputs) is not None


def test_other_models_are_computed_at_once() -> None:
    data = small_graph()
    model = build_model("PyG-GCN-64", data.x.size(1), 3)
    (part,) = LITTLE.outputs(model, (data.x, data.edge_index))
    assert part.logits.shape == (60, 3) and not model.training


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("features", ["none", "row-sum"])
def test_files_and_memory_agree(tmp_path: Path, weighted: bool, features: str) -> None:
    store = store_of(tmp_path, weighted)
    graph = MappedGraph(store, store.csc, features)
    torch.manual_seed(0)
    model = build_model("LGCN", store.num_features, 3).eval()
    with torch.no_grad():
        expected = model(*graph.arguments())
    for how in (MUCH, LITTLE):
        torch.testing.assert_close(how.logits(model, graph), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["LGCN", "LGAT", "LSAGE"])
def test_local_models_are_the_same_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_task(name)
    torch.manual_seed(0)
    model = task.engine().model.eval()
    for weight in model.parameters():
        weight.data = torch.rand_like(weight) - 0.5
    whole, parts = (first_modulation(model, task.graph.inputs, how) for how in (MUCH, LITTLE))
    assert whole is not None and parts is not None
    torch.testing.assert_close(parts.scale, whole.scale)
    torch.testing.assert_close(parts.shift, whole.shift)
    expected = localization(model, task.graph)
    monkeypatch.setattr("nodewise.training.inference.memory_budget", lambda text: 1)
    torch.testing.assert_close(localization(model, task.graph), expected)
