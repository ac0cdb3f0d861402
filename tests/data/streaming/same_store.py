"""Tables with columns of all kinds, and the check that a store is that of the graph in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import nodewise as nw
from nodewise.data.options import ReadOptions
from nodewise.data.sources.input_file import InputFile
from nodewise.data.stores.store import GraphStore
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.convert import Converted, convert_tables
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.writers.store import write_store

WORDS = [
    "graph",
    "node",
    "edge",
    "weight",
    "local",
    "global",
    "model",
    "context",
    "matrix",
    "gradient",
]


def tables(rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Nodes with columns of all kinds, and edges with repeats, reverses and self-loops."""
    random = np.random.default_rng(seed)
    names = np.array([f"n{i}" for i in random.permutation(rows)])
    texts = [" ".join(random.choice(WORDS, random.integers(0, 9))) for _ in range(rows)]
    nodes = pd.DataFrame(
        {
            "name": names,
            "size": random.normal(5, 3, rows),
            "count": random.integers(0, 1000, rows),
            "flag": random.integers(0, 2, rows),
            "kind": random.choice(["red", "green", "NA", "1", "2.0"], rows),
            "topic": random.choice(["math", "physics", "art", ""], rows),
            "about": texts,
            "constant": 3.25,
            "late": [1] * (rows - 3) + [2.5, 3, 4],
            "when": pd.date_range("2020-01-01", periods=rows),
        }
    )
    ends = names[random.integers(0, rows, (2, 900))]
    edges = pd.DataFrame({"source": ends[0], "target": ends[1], "w": random.random(900).round(1)})
    more = edges.iloc[:80].rename(columns={"source": "target", "target": "source"})
    loops = pd.DataFrame({"source": names[:5], "target": names[:5], "w": 1.0})
    return nodes, pd.concat([edges, edges.iloc[20:60].assign(w=9.5), more, loops])


def write(nodes: pd.DataFrame, edges: pd.DataFrame, ending: str = "csv") -> tuple[Path, Path]:
    files = Path(f"nodes.{ending}"), Path(f"edges.{ending}")
    for table, path in zip((nodes, edges), files, strict=True):
        if ending == "parquet":
            table.to_parquet(path, index=False)
        else:
            table.to_csv(path, index=False, sep="\t" if ending.startswith("tsv") else ",")
    return files


def convert(
    files: tuple[Path, Path], fitted: Preprocessing | None = None, **options: Any
) -> Converted:
    nodes, edges = map(InputFile.open, files)
    return convert_tables(
        nodes, edges, ReadOptions(**options), Path("streamed"), Budget(10**10), fitted
    )


def assert_same(
    files: tuple[Path, Path], fitted: Preprocessing | None = None, **options: Any
) -> GraphStore:
    """The same store, summary and preprocessing as of the graph in memory."""
    graph = nw.read_graph(*files, options=ReadOptions(**options), preprocessing=fitted)
    expected = write_store(graph, Path("expected"))
    done = convert(files, fitted, **options)
    assert str(done.summary) == str(graph.summary)
    assert done.store.preprocessing == graph.preprocessing
    assert done.store.meta["reading"] == expected.meta["reading"]
    for file in sorted(Path("expected").glob("*.npy")):
        ours = np.load(Path("streamed") / file.name)
        np.testing.assert_array_equal(ours, np.load(file), err_msg=file.name)
    assert done.store.sha256 == expected.sha256
    assert not (Path("streamed") / ".parts").exists()
    return done.store
