"""Every broken table gives one line with the file, the row, the column, the value, the way out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nodewise as nw
from nodewise.errors import TableError
from tests.data.tables.broken_tables import CASES, EDGES, LABEL, NODES, BrokenTable


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_broken_table_says_what_is_wrong(case: BrokenTable, tmp_path: Path) -> None:
    arguments = case.write(tmp_path)
    started = time.perf_counter()
    with pytest.raises(TableError) as caught:
        nw.read_graph(**arguments)
    assert time.perf_counter() - started < 5
    message = str(caught.value)
    assert message.startswith(str(tmp_path)) and "\n" not in message
    for part in case.says:
        assert part in message
    assert case.way_out in caught.value.way_out and caught.value.way_out in message


@given(st.binary(max_size=60) | st.text('ab1,;\t\n\r"# .', max_size=60).map(str.encode))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_the_bytes_there_is_a_graph_or_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "edges.csv").write_bytes(content)
    try:
        graph = nw.read_graph(edges=tmp_path / "edges.csv")
    except TableError as error:
        assert "\n" not in str(error) and error.way_out
    else:
        assert graph.data.num_nodes == len(graph.ids) >= 2


def test_the_table_is_long_enough_and_its_names_differ() -> None:
    assert len(CASES) >= 30 and len({case.name for case in CASES}) == len(CASES)


def test_the_tables_that_are_broken_are_sound_otherwise(tmp_path: Path) -> None:
    graph = nw.read_graph(**BrokenTable("none", NODES, EDGES, LABEL).write(tmp_path))
    assert graph.data.num_nodes == 4 and graph.summary.labels == {"x": 2, "y": 2}
