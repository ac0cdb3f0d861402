"""The types of columns, found block by block, are those that Arrow finds of all cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nodewise as nw
from nodewise.errors import NodewiseError
from tests.data.streaming.same_store import assert_same, convert

pytestmark = pytest.mark.usefixtures("small_blocks")

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
