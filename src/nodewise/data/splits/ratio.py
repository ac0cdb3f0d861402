"""Ratios of a drawn split, such as 60/20/20. This module does not import torch."""

from __future__ import annotations

from typing import Final

from nodewise.errors import SplitError

RATIO: Final = "60/20/20"


def shares_of(ratio: str) -> tuple[float, float, float]:
    """The shares of training, validation and test nodes, which sum to one.

    Args:
        ratio: Three numbers with slashes between them, such as 60/20/20 or 3/1/1.

    Raises:
        SplitError: It is something else, or a number is not positive.
    """
    try:
        train, val, test = (float(part) for part in ratio.split("/"))
    except (ValueError, AttributeError):
        raise _wrong(ratio) from None
    total = train + val + test
    if not (min(train, val, test) > 0 and total < float("inf")):
        raise _wrong(ratio)
    return train / total, val / total, test / total


def _wrong(ratio: object) -> SplitError:
    return SplitError(
        "split_ratio",
        "is not three positive numbers, to train, validate and test",
        value=ratio,
        way_out=f"write them with slashes between, such as {RATIO}",
    )
