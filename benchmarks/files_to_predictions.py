"""Does a CSV graph of a million nodes go from files to predictions in one command?

Writes a planted graph of a million nodes with 64 numeric columns and about ten million edges as
nodes.csv and edges.csv, runs `nodewise train ... --memory 4GB --predictions` on them, and looks at
the memory of the command and of all processes that it starts, ten times a second: it should stay
below 4 GB, and end within 30 minutes.

Usage:
    python benchmarks/files_to_predictions.py [--nodes 1000000] [--folder FOLDER] [--out OUT.json]

Other options go to `nodewise train`. Prints the figures as JSON and exits 1 where the promise
fails. With `--folder`, tables stay there for the next time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from nodewise.bench.planted import PlantedGraph

SECONDS, MEGABYTES = 30 * 60.0, 4000.0
DEGREE, WIDTH = 10, 64
_BETWEEN_LOOKS = 0.1  # seconds


def write_tables(folder: Path, num_nodes: int) -> int:
    """The tables of nodes and edges, written some nodes at a time; returns the number of edges."""
    graph = PlantedGraph(num_nodes, degree=DEGREE, width=WIDTH)
    columns = ",".join(f"x{i}" for i in range(WIDTH))
    count = 0
    with (folder / "nodes.csv").open("w") as nodes, (folder / "edges.csv").open("w") as edges:
        nodes.write(f"id,topic,{columns}\n")
        edges.write("source,target\n")
        for block in graph.blocks():
            topics, _ = graph.labels(block)
            for number, topic, row in zip(
                range(block.start, block.stop), topics, graph.features(block).tolist(), strict=True
            ):
                cells = ",".join([f"{value:.4f}" for value in row])
                nodes.write(f"n{number},{'' if topic < 0 else f'topic-{topic}'},{cells}\n")
            degrees, sources = graph.edges(block)
            targets = np.repeat(np.arange(block.start, block.stop), degrees)
            pairs = zip(sources.tolist(), targets.tolist(), strict=True)
            edges.writelines(f"n{source},n{target}\n" for source, target in pairs)
            count += len(sources)
    return count


def watched(command: list[str]) -> dict[str, Any]:
    """Run a command; the seconds it takes, and the peak memory of its processes together, in MB."""
    began, resident, anonymous = time.perf_counter(), 0.0, 0.0
    process = psutil.Popen(command)
    while process.poll() is None:
        found = [_memory_of(one) for one in _family(process)]
        resident = max(resident, sum(pages for pages, _ in found))
        anonymous = max(anonymous, sum(pages for _, pages in found))
        time.sleep(_BETWEEN_LOOKS)
    if process.returncode:
        sys.exit(f"the command failed: {' '.join(command)}")
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_mb": resident, "anonymous_mb": anonymous}


def _family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _memory_of(process: psutil.Process) -> tuple[float, float]:
    """What is resident, and what of it belongs to no file."""
    try:
        memory = process.memory_info()
    except psutil.NoSuchProcess:
        return 0.0, 0.0
    return memory.rss / 1e6, (memory.rss - memory.shared) / 1e6


def main() -> None:
    """Write, run, tell."""
    parser = argparse.ArgumentParser(description="From files to predictions in one command.")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="how many (default: 1000000)")
    parser.add_argument("--folder", type=Path, help="where tables and results go, and stay")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    asked, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        about = folder / "tables.json"
        if not about.exists() or json.loads(about.read_text())["nodes"] != asked.nodes:
            edges = write_tables(folder, asked.nodes)
            about.write_text(json.dumps({"nodes": asked.nodes, "edges": edges}))
        out, predictions = folder / "run", folder / "predictions.csv"
        files = ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]
        options = ["--label", "topic", "--memory", "4GB", "--set", "epochs=5", "--out", str(out)]
        command = ["train", *files, *options, "--predictions", str(predictions), *more]
        found = watched([sys.executable, "-m", "nodewise", *command])
        with predictions.open() as lines:
            rows = sum(1 for _ in lines) - 1
        record = json.loads((out / "result.json").read_text())
    figures = {
        "command": f"nodewise {' '.join(command)}".replace(f"{folder}/", ""),
        **json.loads(about.read_text()),
        "columns": WIDTH,
        **found,
        "predictions": rows,
        **{key: record[key] for key in ("model", "engine", "epochs", "test_accuracy")},
    }
    print(json.dumps(figures))
    if asked.out is not None:
        asked.out.write_text(json.dumps(figures) + "\n")
    kept = found["seconds"] < SECONDS and found["peak_mb"] < MEGABYTES and rows == asked.nodes
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
