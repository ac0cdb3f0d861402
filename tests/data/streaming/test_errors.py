"""What is wrong with a table is said in the same words as of a table in memory."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

import nodewise as nw
import nodewise.data.streaming.convert as streaming
from nodewise.data.options import ReadOptions
from nodewise.data.sources.input_file import InputFile
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.convert import check_free, convert_tables
from nodewise.errors import InputError, TableError
from tests.data.tables.broken_tables import CASES, BrokenTable

OF_TABLES = [case for case in CASES if all(case.names) and ".node" not in case.names[0]]


def convert(arguments: dict[str, Any], folder: Path) -> None:
    options = ReadOptions().changed(
        {name: value for name, value in arguments.items() if name not in ("nodes", "edges")}
    )
    nodes, edges = InputFile.open(arguments["nodes"]), InputFile.open(arguments["edges"])
    convert_tables(nodes, edges, options, folder, Budget(10**9))


@pytest.mark.parametrize("case", OF_TABLES, ids=[case.name for case in OF_TABLES])
def test_a_broken_table_is_refused_as_in_memory(case: BrokenTable, tmp_path: Path) -> None:
    arguments, folder = case.write(tmp_path), tmp_path / "store"
    with pytest.raises(TableError) as expected:
        nw.read_graph(**arguments)
    with pytest.raises(TableError) as caught:
        convert(arguments, folder)
    assert str(caught.value) == str(expected.value)
    assert not folder.exists()


def test_rows_count_through_all_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "block", 200)
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    arguments = {"nodes": nodes, "edges": edges, "label": "y", "weight": "w"}
    rows = [f"n{i},{i}.5,{'uv'[i % 2]}" for i in range(100)]
    links = [f"n{i},n{i + 1},1" for i in range(99)]
    cases = {
        "lines 1": (80, "n80,x,u", None, None),
        "lines 2": (80, "n3,1.0,u", None, None),
        "lines 3": (80, ",1.0,u", None, None),
        "lines 4": (80, "n80,,u", None, None),
        "lines 5": (80, "n80,1.0", None, None),
        "lines 6": (None, None, 70, "n3,n500,1"),
        "lines 7": (None, None, 70, "n3,n5,-1"),
        "lines 8": (None, None, 70, "n3,n5,strong"),
    }
    for node, node_row, edge, edge_row in cases.values():
        changed, others = list(rows), list(links)
        if node is not None:
            changed[node] = str(node_row)
        if edge is not None:
            others[edge] = str(edge_row)
        nodes.write_text("\n".join(["id,a,y", *changed]) + "\n")
        edges.write_text("\n".join(["source,target,w", *others]) + "\n")
        with pytest.raises(TableError) as expected:
            nw.read_graph(**arguments)
        with pytest.raises(TableError) as caught:
            convert(arguments, tmp_path / "store")
        assert str(caught.value) == str(expected.value)
        assert f"line {82 if edge is None else 72}" in str(caught.value)


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("")
    with pytest.raises(InputError, match=r"other files in it \(found 'precious.txt'\)"):
        check_free(tmp_path, force=True)
    with pytest.raises(InputError, match="is a file"):
        check_free(tmp_path / "precious.txt", force=True)
    check_free(tmp_path / "new", force=False)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "x.npy").write_bytes(b"half")  # of a conversion that was killed
    check_free(tmp_path / "new", force=False)


def test_features_that_the_disk_has_no_room_for_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = BrokenTable("none").write(tmp_path)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(streaming, "disk_usage", lambda folder: usage(99, 67, 32))
    with pytest.raises(InputError, match=r"3 of 4 nodes need 0.0 GB, and the disk has 0.0 GB left"):
        convert(arguments, tmp_path / "store")
    assert not (tmp_path / "store").exists()
