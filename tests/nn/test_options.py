from __future__ import annotations

import pytest

from nodewise.errors import InputError
from nodewise.nn.options import DropRates


@pytest.mark.parametrize("place", ["weight", "message"])
@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_impossible_rates_are_refused(place: str, rate: float) -> None:
    with pytest.raises(InputError, match=rf"drop_rates\.{place}: must be at least 0"):
        DropRates(**{place: rate})
