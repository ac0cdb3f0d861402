"""Does a million edges in a CSV file load in 10 seconds and 2 GB?

Writes 200 thousand nodes and a million edges with string ids, reads them with `read_graph` in a
separate process, and measures the time, the time to import torch and PyG before it, and the
memory at its highest.

Usage:
    python benchmarks/read_table.py [--edges 1000000] [--nodes 200000]

Prints one line and exits 1 where the promise fails.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SECONDS, GIGABYTES = 10.0, 2.0


def write_tables(folder: Path, nodes: int, edges: int) -> tuple[Path, Path]:
    """Random nodes with a label, two numbers and a category, and random edges between them."""
    rng = np.random.default_rng(0)
    numbers, colors = rng.normal(size=(nodes, 2)), rng.integers(5, size=nodes)
    rows = (
        f"node-{i},topic-{i % 7},{a:.4f},{b:.4f},color-{c}"
        for i, ((a, b), c) in enumerate(zip(numbers, colors, strict=True))
    )
    (folder / "nodes.csv").write_text("\n".join(["id,topic,age,size,color", *rows]) + "\n")
    ends = rng.integers(nodes, size=(edges, 2))
    pairs = (f"node-{source},node-{target}" for source, target in ends)
    (folder / "edges.csv").write_text("\n".join(["source,target", *pairs]) + "\n")
    return folder / "nodes.csv", folder / "edges.csv"


def measure(nodes: Path, edges: Path, answer: multiprocessing.Queue) -> None:
    """Read the graph; send seconds to import and to read, gigabytes and the summary."""
    begun = time.perf_counter()
    import torch_geometric.data  # noqa: F401 (what the first graph would import)

    from nodewise import read_graph

    started = time.perf_counter()
    summary = str(read_graph(nodes, edges, label="topic").summary)
    seconds = started - begun, time.perf_counter() - started
    answer.put((*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, summary))


def main() -> None:
    """Write, read, print."""
    parser = argparse.ArgumentParser(description="Time how long reading a big table takes.")
    parser.add_argument("--nodes", type=int, default=200_000, help="how many (default: 200000)")
    parser.add_argument("--edges", type=int, default=1_000_000, help="how many (default: 1000000)")
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")  # a fork would start with our memory
    with tempfile.TemporaryDirectory() as folder:
        paths = write_tables(Path(folder), asked.nodes, asked.edges)
        answer = context.Queue()
        child = context.Process(target=measure, args=(*paths, answer))
        child.start()
        importing, seconds, gigabytes, summary = answer.get()
        child.join()
    kept = seconds < SECONDS and gigabytes < GIGABYTES
    print(summary)
    print(
        f"{seconds:.1f} s after {importing:.1f} s of imports, {gigabytes:.2f} GB at the highest: "
        f"{'kept' if kept else 'NOT KEPT'}"
    )
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
