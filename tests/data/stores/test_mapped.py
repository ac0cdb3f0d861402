from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nodewise.errors import GraphError


def test_numbers_are_checked_across_blocks(tmp_path: Path) -> None:
    from nodewise.data.stores.mapped import GrowingArray, checks_of, open_mapped, read_blocks

    path = tmp_path / "a.npy"
    with GrowingArray(path, np.int32) as array:
        array.append([0, 1, 2])
        array.append([3, 9])
        array.close()
    mapped = open_mapped(path, "i", (None,))
    assert [block.tolist() for block in read_blocks(path, mapped, 2)] == [[0, 1], [2, 3], [9]]
    with pytest.raises(GraphError, match=r"a\[4\]"):
        checks_of(path).index_blocks("a", read_blocks(path, mapped, 2), bound=9)
