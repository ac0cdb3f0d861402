"""A graph of 200,000 nodes: it opens with a sample, says so, and answers."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from nodewise.analysis.view import View
from nodewise.explorer import app
from nodewise.explorer.explorer_data import LIMIT, ExplorerData
from nodewise.explorer.state import State
from nodewise.models.zoo import build_model
from tests.explorer.test_app import ask

pytestmark = pytest.mark.slow
NODES, EDGES, FEATURES = 200_000, 1_000_000, 50


def large() -> ExplorerData:
    """A model with random weights on a random graph."""
    torch.manual_seed(0)
    x, y = torch.rand(NODES, FEATURES), torch.randint(4, (NODES,))
    data = Data(x=x, y=y, edge_index=torch.randint(NODES, (2, EDGES)))
    model = build_model("LGCN", FEATURES, 4)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.3)
    return ExplorerData(View(model, data))


def test_a_large_graph_opens_with_a_sample_and_says_so() -> None:
    pytest.importorskip("dash", reason="dash is not installed")
    start = time.process_time()
    explored = large()
    opened = time.process_time() - start
    page = app.make_app(explored, "large").server.test_client()

    def answer(output: str, state: State) -> tuple[dict[str, dict[str, object]], float]:
        start = time.process_time()
        asked = {"state": state.query() or "?", "show": state.show}
        found = ask(page, output, asked).json["response"]
        return found, time.process_time() - start

    found, drawn = answer("map.figure", State())
    traces: Any = found["map"]["figure"]
    assert sum(len(trace.get("customdata", ())) for trace in traces["data"]) == LIMIT
    assert found["sampled"]["children"] == "A random sample of 20,000 of 200,000 nodes is drawn."
    answer("node.children", State(node="7"))  # ranks and places are computed once
    _, clicked = answer("node.children", State(node="199999"))
    _, changed = answer("answer.children", State(node="199999", off=("edge",)))
    print(
        f"\nopened in {opened:.1f} s of computing, map {drawn:.2f} s, click {clicked:.2f} s, "
        f"what if {changed:.2f} s"
    )
    assert opened < 60 and drawn < 2 and clicked < 1 and changed < 1
