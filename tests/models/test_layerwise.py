"""The forward pass in parts is that of the full graph."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nodewise.data.sampling.csc import CscGraph
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.models.layerwise import Layerwise
from nodewise.models.stored_rows import RowsInMemory, StoredRows
from nodewise.models.zoo import ZOO, Row, build_model
from tests.graphs import edge_lists, sparse

STACKS = [name for name, row in ZOO.items() if isinstance(row, Row)]
SOME = ["MLP", "GCN", "GAT", "GIN-FiLM", "LGCN", "LGAT", "LGIN:node", "LSAGE", "LGAT-strong"]
STRONG: dict[str, Any] = {"linear_ends": True, "root": True, "residual": True}
# Settings that a recipe may have, each with what it changes in a pass in parts.
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "deep": {"num_layers": 3, "residual": True, "batch_norm": True},
    "linear ends": {**STRONG, "num_layers": 3, "layer_norm": True},
    "hops": {**STRONG, "hops": 2},
    "few neighbors": {"max_neighbors": 2, "self_weight": 2.0},
    "sums as contexts": {"context": "sum", "normalization": "mean", "generator_row_sum": 0.5},
    "attention of messages": {"attention_scores": "messages", "message_bias": True},
}
TINY = 1  # byte: each node is a part, and rows go to files


def trained(name: str, options: dict[str, Any]) -> Classifier:
    """A model whose norms have seen something and whose generators are not zero."""
    torch.manual_seed(0)
    model = build_model(name, 5, 3, **{"hidden_channels": 4, "heads": 2, **options}).double()
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point():
            tensor.data.copy_(torch.rand_like(tensor) - 0.3 * (tensor.dim() > 1))
    assert isinstance(model, Classifier)
    return model.eval()


def in_parts(model: Classifier, *graph: Any, memory: int = TINY) -> tuple[Tensor, Tensor]:
    x, edge_index, *weight = graph
    csc = CscGraph.from_edges(edge_index, len(x) if isinstance(x, Tensor) else x.num_rows, *weight)
    found = [*Layerwise(model, RowsInMemory(x), csc, memory).outputs()]
    assert [node for part in found for node in part.nodes] == [*range(csc.num_nodes)]
    return torch.cat([part.logits for part in found]), torch.cat([p.embedding for p in found])


def assert_same(model: Classifier, *graph: Any, memory: int = TINY) -> None:
    logits, embedding = in_parts(model, *graph, memory=memory)
    with torch.no_grad():
        torch.testing.assert_close(logits, model(*graph))
        torch.testing.assert_close(embedding, model.embed(*graph))


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, "as it is") for name in STACKS), *product(SOME, list(SETTINGS)[1:])],
)
def test_every_stack_in_parts_is_the_full_graph(name: str, options: str) -> None:
    make = torch.Generator().manual_seed(0)
    edge_index = torch.randint(0, 9, (2, 40), generator=make)  # with loops, repeats; 9, 10 isolated
    x = torch.rand(11, 5, generator=make, dtype=torch.float64)
    assert_same(trained(name, SETTINGS[options]), x, edge_index)


@pytest.mark.parametrize("name", ["LGCN", "GCN", "LGIN", "LSAGE", "GIN-FiLM", "LGCN-strong"])
def test_weights_of_edges(name: str) -> None:
    make = torch.Generator().manual_seed(1)
    edge_index = torch.randint(0, 9, (2, 40), generator=make)
    x, weight = (
        torch.rand(*shape, generator=make, dtype=torch.float64) for shape in ((9, 5), (40,))
    )
    assert_same(trained(name, {}), x, edge_index, weight)
    assert_same(trained(name, {**STRONG, "hops": 1}), x, edge_index, weight)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(edge_lists(), st.sampled_from(STACKS), st.booleans(), st.sampled_from([TINY, 3000, 10**9]))
def test_any_graph(graph: tuple[Tensor, int], name: str, dense: bool, memory: int) -> None:
    edge_index, nodes = graph
    x = torch.rand(nodes, 5, dtype=torch.float64) * (torch.rand(nodes, 5) < 0.3)
    assert_same(trained(name, {}), x if dense else sparse(x), edge_index, memory=memory)


def test_watch_receives_all_rows_of_all_stages() -> None:
    seen: list[tuple[int, int]] = []
    x, edge_index = torch.rand(7, 5, dtype=torch.float64), torch.tensor([[0, 1], [1, 2]])
    for options in SETTINGS.values():
        seen.clear()
        csc = CscGraph.from_edges(edge_index, 7)
        run = Layerwise(
            trained("LGCN", options), RowsInMemory(x), csc, TINY, watch=lambda *at: seen.append(at)
        )
        list(run.outputs())
        done = [count for count, _ in seen]
        assert done == sorted(done) and seen[-1][0] == seen[-1][1], options


def test_a_full_disk_is_an_error_that_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = StoredRows(100, memory=0)
    rows.append(torch.ones(1, 4))

    class Full:
        def write(self, data: object) -> None:
            raise OSError(28, "No space left on device")

    rows._stream = Full()  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"No space left.*TMPDIR"):
        rows.append(torch.ones(1, 4))


MEASURE = """
import sys, torch
from pathlib import Path
from nodewise.data.sampling.csc import CscGraph
from nodewise.models.layerwise import Layerwise
from nodewise.models.stored_rows import RowsInMemory
from nodewise.models.zoo import build_model

torch.set_num_threads(1)
memory, nodes, degree = int(sys.argv[1]), 100_000, 10
torch.manual_seed(0)
x = torch.rand(nodes, 16)
graph = CscGraph.from_edges(torch.randint(nodes, (2, degree * nodes)), nodes)
model = build_model("LGCN", 16, 4, hidden_channels=64)
small = CscGraph.from_edges(torch.tensor([[0], [1]]), 2)
list(Layerwise(model, RowsInMemory(x[:2]), small, memory).outputs())  # compiles the kernels

def kilobytes(field):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0])

before = kilobytes("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
for part in Layerwise(model, RowsInMemory(x), graph, memory).outputs():
    pass
print((kilobytes("VmHWM") - before) // 1024)
"""


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.slow
def test_memory_is_bounded_by_the_part() -> None:
    def peak(memory: int) -> int:
        command = [sys.executable, "-c", MEASURE, str(memory)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return int(done.stdout)

    # The full graph needs 600 MB: a million edges with two messages of 64 numbers.
    assert peak(100_000_000) < 160
