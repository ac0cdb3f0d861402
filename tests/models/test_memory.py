"""Estimates of memory against what is measured, and sizes as texts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.errors import InputError
from nodewise.models import memory
from nodewise.models.memory import as_size, forward_bytes, memory_budget, step_bytes
from nodewise.models.zoo import build_model


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4GB", 4 * 10**9), ("1.5 g", 15 * 10**8), ("2GiB", 2**31), ("500mb", 5 * 10**8), ("7b", 7)],
)
def test_sizes(text: str, expected: int) -> None:
    assert memory_budget(text) == expected


@pytest.mark.parametrize("text", ["", "4", "4 parsec", "-1GB", "0GB", "GB", "1e3"])
def test_what_is_no_size_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match=r"^memory: is not a size .*4GB"):
        memory_budget(text)


def test_the_default_is_half_of_the_memory_or_of_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (limit, tmp_path / "missing"))
    everything = memory_budget(None)
    assert everything > 10**8
    limit.write_text("max\n")
    assert memory_budget(None) == everything
    limit.write_text("2000000000\n")
    assert memory_budget(None) == min(everything, 10**9)


def test_sizes_in_words() -> None:
    assert [as_size(n) for n in (999, 12_300_000, 7_800_000_000)] == [
        "0.999 kB",
        "12.3 MB",
        "7.8 GB",
    ]


def test_estimates_grow_with_nodes_edges_and_width() -> None:
    def step(width: int, nodes: int, edges: int) -> int:
        return step_bytes(build_model("LGCN", 10, 3, hidden_channels=width), nodes, edges)

    small = step(8, 1000, 10_000)
    assert min(step(64, 1000, 10_000), step(8, 9000, 10_000), step(8, 1000, 90_000)) > small
    model = build_model("LGCN", 10, 3)
    assert forward_bytes(model, 1000, 10_000) < step_bytes(model, 1000, 10_000)


def test_models_that_are_not_computed_on_a_graph_need_nothing() -> None:
    assert step_bytes(build_model("Majority", 10, 3, 1000), 1000, 10_000) == 0


MEASURE = """
import sys, torch
from pathlib import Path
from nodewise.models.memory import forward_bytes, step_bytes
from nodewise.models.zoo import build_model

torch.set_num_threads(1)
name, trains = sys.argv[1], sys.argv[2] == "step"
nodes, edges = 60_000, 600_000
model = build_model(name, 64, 4, hidden_channels=int(sys.argv[3]))
small = torch.rand(2, 64), torch.tensor([[0], [1]])
x, edge_index = torch.rand(nodes, 64), torch.randint(nodes, (2, edges))

def work(*graph):
    if not trains:
        with torch.no_grad():
            return model.eval()(*graph)
    every = torch.arange(len(graph[0]))
    field = model.receptive_field(graph[1], len(graph[0]), every)
    out, modulations = model(field.take(graph[0]), field, return_modulations=True)
    parts = [one.scale_squares + one.shift_squares for one in modulations]
    sum([*parts, out.sum()]).backward()

def kilobytes(field):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0])

work(*small)  # compiles the kernels
before = kilobytes("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
work(x, edge_index)
estimate = (step_bytes if trains else forward_bytes)(model, nodes, edges)
print((kilobytes("VmHWM") - before) * 1024 / estimate)
"""


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("name", "width", "what"),
    [
        ("GAT-FiLM", 8, "forward"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("LGCN", 64, "forward"),
                ("LGCN", 64, "step"),
                ("LGAT", 8, "forward"),
                ("LGAT", 8, "step"),
                ("SAGE", 64, "forward"),
                ("SAGE", 64, "step"),
                ("GAT-FiLM", 8, "step"),
            )
        ),
    ],
)
def test_the_estimate_is_near_what_is_measured(name: str, width: int, what: str) -> None:
    command = [sys.executable, "-c", MEASURE, name, what, str(width)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert 0.4 < float(done.stdout) < 1.1
