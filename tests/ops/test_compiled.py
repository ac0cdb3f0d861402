from __future__ import annotations

import numba
import pytest

from nodewise.ops import compiled


def test_without_a_place_to_keep_it_code_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numba refuses to cache where neither the package nor the user's cache can be written."""

    def njit(**options: bool) -> object:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(compiled, "njit", njit)
    assert compiled.kernel(lambda x: x + 1)(2) == 3
