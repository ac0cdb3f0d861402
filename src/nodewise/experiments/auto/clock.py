"""The time that a selection may take."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from nodewise.errors import InputError

if TYPE_CHECKING:
    from nodewise.training.loop import Timer

_UNITS = {"": 60.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SHORT, _LONG = 100.0, 270.0  # with loading and the report, less than two and five minutes
_FEW_NODES, _FEW_EDGES = 5_000, 100_000


def seconds_of(budget: str | None, num_nodes: int, num_edges: int) -> float:
    """The seconds of a budget; without one, 100 on a small graph and 270 on others.

    Args:
        budget: "90s", "5m" or "2h", or None.
        num_nodes: The nodes of the graph.
        num_edges: Its edges; those of an undirected graph count twice.

    Raises:
        InputError: The budget is not a time.
    """
    if budget is not None:
        return parse_budget(budget)
    return _SHORT if num_nodes < _FEW_NODES and num_edges < _FEW_EDGES else _LONG


def parse_budget(text: str, option: str = "budget") -> float:
    """Seconds from "90s", "5m" or "2h"; a number alone is minutes.

    Args:
        text: The time.
        option: Where it was given, for the error.

    Raises:
        InputError: It is none of these.
    """
    found = re.fullmatch(r"([0-9]*\.?[0-9]+) *([a-z]*)", text.strip().lower())
    seconds = float(found[1]) * _UNITS.get(found[2], 0.0) if found else 0.0
    if seconds <= 0:
        raise InputError(
            option, "is not a time", value=text, way_out="write 90s, 5m or 2h, for example"
        )
    return seconds


@dataclass
class Clock:
    """The time used of a budget.

    Attributes:
        budget: The seconds that may be used.
        spent: The seconds that earlier sessions used.
        enough: True ends choosing as if the time were over.
        timer: Measures time: by a clock on the wall, or the processor time of this process.
    """

    budget: float
    spent: float = 0.0
    enough: Callable[[], bool] = lambda: False
    timer: Timer = perf_counter

    def __post_init__(self) -> None:
        self._began = self.timer()

    @property
    def used(self) -> float:
        """The seconds that are used."""
        return self.spent + self.timer() - self._began

    def left(self, share: float = 1.0) -> float:
        """The seconds that are left of a share of the budget; at least 0."""
        return 0.0 if self.enough() else max(0.0, share * self.budget - self.used)

    @property
    def over(self) -> str:
        """Why no time is left, in words."""
        return "choosing was stopped" if self.enough() else "the time was over"
