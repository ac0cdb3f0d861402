"""A table that is streamed into a store gives, file by file, the bytes that it gives in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nodewise as nw
from nodewise.data.options import ReadOptions
from nodewise.data.preprocessing import Preprocessing
from nodewise.data.sources.input_file import InputFile
from nodewise.data.store import GraphStore
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.convert import Converted, convert_tables
from nodewise.data.writers.store import write_store
from nodewise.errors import GraphError, InputError, NodewiseError, TableError

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


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blocks of a few rows, so that every small table has many."""
    monkeypatch.setattr(Budget, "block", 700)
    monkeypatch.setattr(Budget, "rows", 37)
    monkeypatch.setattr(Budget, "entries", 150)
    monkeypatch.setattr(Budget, "rows_of", lambda self, width: 13)
    monkeypatch.chdir(tmp_path)


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


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet"])
def test_every_format_gives_what_it_gives_in_memory(ending: str) -> None:
    store = assert_same(write(*tables(), ending), label="topic", text="about")
    assert store.num_nodes == 300 and store.num_features > 15


@pytest.mark.parametrize(
    "options",
    [
        {"weight": "w"},
        {"weight": "w", "directed": True},
        {"directed": True},
        {"text": "about", "text_as": "bag", "max_vocabulary": 4},
        {"text": "about", "max_vocabulary": 7, "scale": False},
        {"features": ["kind", "size"]},
        {"features": []},
        {"features": [], "directed": True},
        {"unlabeled": ["art"], "features": ["count"]},
    ],
)
def test_options_do_what_they_do_in_memory(options: dict[str, Any]) -> None:
    assert_same(write(*tables()), label="topic", **options)


def test_a_table_without_labels_gives_a_store_to_predict_for() -> None:
    nodes, edges = tables()
    store = assert_same(write(nodes.drop(columns="topic"), edges))
    assert store.classes == () and (store.y == -1).all()


@pytest.mark.parametrize("missing", ["mean", "median", "zero"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_cells_are_filled_as_in_memory(missing: str, ending: str) -> None:
    nodes, edges = tables()
    random = np.random.default_rng(1)
    for column in ("size", "count", "flag", "kind"):
        nodes[column] = nodes[column].mask(random.random(300) < 0.1)
    assert_same(write(nodes, edges, ending), label="topic", missing=missing)


def test_a_split_is_that_of_its_column() -> None:
    nodes, edges = tables()
    parts = np.random.default_rng(2).choice(["train", "Val", "test", ""], 300)
    nodes["split"] = np.where(nodes["topic"] == "", np.where(parts == "test", "test", ""), parts)
    store = assert_same(write(nodes, edges), label="topic")
    assert store.split is not None and len(store.split.val) > 20


def test_later_tables_are_encoded_as_the_first() -> None:
    fitted = nw.read_graph(*write(*tables()), label="topic", text="about").preprocessing
    nodes, edges = tables(seed=3)
    nodes.loc[5, "kind"] = "violet"
    nodes["topic"] = nodes["topic"].replace("art", "music")
    store = assert_same(write(nodes, edges), fitted)
    assert store.classes == ("art", "math", "physics")


def test_ids_keep_their_type() -> None:
    nodes, edges = tables()
    number = {name: int(name[1:]) for name in nodes["name"]}
    nodes["name"] = nodes["name"].map(number)
    for end in ("source", "target"):
        edges[end] = edges[end].map(number)
    assert assert_same(write(nodes, edges, "parquet"), label="topic").meta["ids"] == "integers"
    nodes = nodes.sort_values("name")
    assert assert_same(write(nodes, edges, "parquet"), label="topic").meta["ids"] == "numbers"
    assert assert_same(write(nodes, edges), label="topic").meta["ids"] == "texts"


def test_ids_are_compared_as_names() -> None:
    Path("nodes.csv").write_text("id,a,y\n 1 ,2,u\n2.0,3,v\n007,4,u\nü,5,v\n")
    Path("edges.csv").write_text("source,target\n1.0,2\n007,ü\n ü,1\n")
    assert_same((Path("nodes.csv"), Path("edges.csv")), label="y")


CELLS = {
    "int then float": ["1", "2"] * 20 + ["3.5"],
    "int then text": ["1", "2"] * 4 + ["a", "b"] * 20,
    "bool then text": ["true", "false"] * 10 + ["maybe"] * 20,
    "bool": ["true", "False"] * 20,
    "bool with gaps": ["true", "", "FALSE", "NA"] * 10,
    "zeros, ones and booleans": ["0", "1"] * 15 + ["true"] * 10,
    "ints and booleans": ["0", "2"] * 15 + ["true"] * 10,
    "empty": [""] * 40,
    "NA": ["NA", "", "null"] * 13,
    "dates": ["2020-01-01"] * 40,
    "dates then times": ["2020-01-01"] * 30 + ["2020-01-01 10:00"] * 10,
    "times of day": ["10:00", "10:00:01"] * 20,
    "with a zone": ["2020-01-01T10:00:00Z"] * 40,
    "fractions of seconds": ["2020-01-01 10:00:00.5"] * 40,
    "dates then text": ["2020-01-01"] * 20 + ["never"] * 20,
    "hexadecimal": ["0x1F", "3"] * 20,
    "hexadecimal and float": ["0x1F"] * 20 + ["3.5"] * 20,
    "signs and spaces": ["+1", " 2 ", "\t3"] * 13,
    "large": ["9223372036854775807", "1"] * 20,
    "larger": ["18446744073709551616", "1"] * 20,
    "a large one and a gap": ["9007199254740993", ""] * 20,
    "quoted": ['"5"', '"NA"', "7"] * 13,
    "exponents": ["1e5", "2E-3", ".5", "1."] * 10,
    "NA among names": ["NA", "DE", "FR"] * 13,
    "mostly distinct": [f"t{i}" for i in range(40)],
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS.keys())
def test_types_are_those_that_arrow_finds_of_all_cells(cells: list[str]) -> None:
    lines = [f"n{i},{i % 7},{cell},{'uv'[i % 2]}" for i, cell in enumerate(cells)]
    Path("nodes.csv").write_text("\n".join(["id,a,b,y", *lines]) + "\n")
    ends = "\n".join(f"n{i},n{(i * 5 + 1) % len(cells)}" for i in range(len(cells)))
    Path("edges.csv").write_text(f"source,target\n{ends}\n")
    files = Path("nodes.csv"), Path("edges.csv")
    options: dict[str, Any] = {"label": "y", "missing": "zero"}
    try:
        nw.read_graph(*files, **options)
    except NodewiseError as error:
        with pytest.raises(type(error)) as caught:
            convert(files, **options)
        assert str(caught.value) == str(error)
    else:
        assert_same(files, **options)


def test_a_decimal_comma_is_read() -> None:
    rows = "\n".join(f"n{i};{i},5;{i}.5;{'uv'[i % 2]}" for i in range(40))
    Path("nodes.csv").write_text(f"id;a;b;y\n{rows}\n")
    Path("edges.csv").write_text("source;target;w\nn0;n1;1,5\nn1;n2;2\nn3;n4;0,25\n")
    assert_same((Path("nodes.csv"), Path("edges.csv")), label="y", weight="w")


def test_cells_of_several_lines_and_blank_lines_are_read() -> None:
    rows = "".join(f'n{i},"a\nb, {i % 3}",{i}.5,{"uv"[i % 2]}\n\n' for i in range(60))
    Path("nodes.csv").write_text(f"id,k,a,y\n{rows}")
    Path("edges.csv").write_text("source,target\nn0,n1\nn1,n2\n")
    assert_same((Path("nodes.csv"), Path("edges.csv")), label="y")


def test_of_repeated_edges_the_first_weight_counts() -> None:
    """Also where the two directions of an edge alternate, in rows far from each other."""
    Path("nodes.csv").write_text("id,a,y\n1,2,u\n2,3,v\n3,4,u\n4,5,v\n")
    rows = ["2,1,0.5", "1,2,0.25", "2,1,4", "3,4,7", "4,3,7", "1,1,2", "1,2,0.25", "3,1,1"]
    Path("edges.csv").write_text("\n".join(["source,target,w", *rows]) + "\n")
    files = Path("nodes.csv"), Path("edges.csv")
    assert assert_same(files, label="y", weight="w").num_edges == 6
    assert assert_same(files, label="y", weight="w", directed=True).num_edges == 5


def test_columns_that_copy_the_label_are_warned_of() -> None:
    nodes, edges = tables()
    number = nodes["topic"].map({"math": 3, "physics": 1, "art": 2, "": None})
    random = pd.Series(np.random.default_rng(5).integers(0, 9, 300))
    nodes["copy"] = number.fillna(random).astype(int)
    nodes["word"] = nodes["topic"].replace("", "none")
    store = assert_same(write(nodes, edges), label="topic")
    warned = " ".join(store.meta["reading"]["warnings"])
    assert "'copy' determines the label" in warned and "'word' determines the label" in warned


def test_a_store_that_is_there_is_replaced_by_a_complete_one_only() -> None:
    files = write(*tables())
    before = convert(files, label="topic").store.sha256
    with pytest.raises(TableError):
        convert(files, label="topic", features=["about"])
    assert GraphStore.open("streamed").sha256 == before
    assert convert(files, label="topic", scale=False).store.sha256 != before


def test_what_a_killed_conversion_left_is_removed() -> None:
    Path("streamed/.parts/store").mkdir(parents=True)
    Path("streamed/.parts/store/x.npy").write_bytes(b"half")
    with pytest.raises(GraphError, match="was not completed"):
        nw.read_graph("streamed")
    convert(write(*tables()), label="topic")
    assert not Path("streamed/.parts").exists()


def test_too_little_memory_is_said_before_it_is_used() -> None:
    with pytest.raises(InputError, match=r"--memory: is too little for anything .*0\.8GB or more"):
        Budget(600 * 10**6)
    with pytest.raises(InputError, match=r"is too little for 50,000,000 nodes .*7\.2GB or more"):
        Budget(2 * 10**9).beside(50_000_000)
    whole = Budget(8 * 10**9)
    assert 0 < whole.beside(50_000_000)._free < whole._free
