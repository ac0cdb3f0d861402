from __future__ import annotations

import pytest

from nodewise.bench.memory import in_child
from nodewise.bench.memory_limit import memory_limit
from nodewise.errors import InputError, RunError
from tests.bench.jobs import (
    fill_in_group,
)


def test_a_process_under_a_limit_ends_where_it_needs_more() -> None:
    try:
        with memory_limit(300_000_000) as group:
            with pytest.raises(RunError, match="ended early"):
                in_child(fill_in_group, group, 1000)
            assert in_child(fill_in_group, group, 1) == 1
        assert not group.exists()
    except InputError as refused:
        pytest.skip(str(refused))
