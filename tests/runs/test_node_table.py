from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from nodewise.errors import InputError
from nodewise.runs.node_table import check_table_path, write_node_table


def test_the_ending_decides_and_digits_are_kept_unless_asked_otherwise(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["ä b", "c,d"], "p": [1 / 3, 2e-9]})
    for name in ("t.csv", "t.parquet"):
        write_node_table(tmp_path / name, frame)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), frame)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), frame)
    write_node_table(tmp_path / "t.csv", frame, "%.6g")
    assert (tmp_path / "t.csv").read_text("utf-8") == 'id,p\nä b,0.333333\n"c,d",2e-09\n'


@pytest.mark.parametrize("name", ["t.txt", "t", ".", "t.csv.gz"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"--out: must be a CSV or a Parquet file"):
        check_table_path("--out", Path(name))
