from __future__ import annotations

import numba
import numpy as np
import pytest

from nodewise.ops.fused.simd import get, views


def test_kernels_refuse_arrays_whose_strides_they_would_not_look_at() -> None:
    second = numba.njit(lambda array: get(views(array), 1))
    assert second(np.arange(6.0)) == 1
    with pytest.raises(TypeError, match="without gaps"):
        second(np.arange(6.0)[::2])
