"""`Resources`: with what an engine computes. They do not decide what it computes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from nodewise.training.processes import Processes


@dataclass(frozen=True)
class Resources:
    """The processes, threads, batches and time that an engine may use.

    Attributes:
        seconds: How long a model of scikit-learn may take; others can be stopped after any epoch.
        workers: How many threads sample mini-batches; 0 samples where the model is computed.
        processes: The processes that train together.
        loader: Batches of the training nodes for each epoch, such as PyG's `NeighborLoader`; None
            samples them here.
    """

    seconds: float = inf
    workers: int = 1
    processes: Processes = field(default_factory=Processes)
    loader: Iterable[Any] | None = None
