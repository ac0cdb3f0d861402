"""`Batching`: on what part of a graph a step computes, as keys of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from nodewise.errors import InputError
from nodewise.models.memory import memory_budget

EngineName = Literal["auto", "full", "field", "minibatch"]


@dataclass(frozen=True)
class Batching:
    """On what part of a graph a step computes, and how mini-batches are sampled.

    Attributes:
        engine: "field" computes the receptive field of all training nodes at once, "full" the whole
            graph, "minibatch" some training nodes with sampled neighbors at a time. "auto" takes
            mini-batches where a step on the whole graph would not fit `memory`.
        memory: The memory that a step may take, such as "4GB"; empty for no limit.
        fanout: How many neighbors of a node a mini-batch samples at most: one number, or one for
            each hop from the training nodes on, such as "10,5"; -1 takes all.
        batch_size: How many training nodes are in a mini-batch, over all processes.
    """

    engine: EngineName = "auto"
    memory: str = ""
    fanout: str = "10"
    batch_size: int = 1024

    def __post_init__(self) -> None:
        self.fanouts(1 + self.fanout.count(","))
        if self.memory:
            memory_budget(self.memory)

    @property
    def budget(self) -> int | None:
        """The memory that a step may take, in bytes; None for no limit."""
        return memory_budget(self.memory) if self.memory else None

    def fanouts(self, hops: int) -> list[int]:
        """How many neighbors are sampled at each hop.

        Raises:
            InputError: They are not numbers, or not as many as hops.
        """
        parts = self.fanout.split(",")
        try:
            given = [int(part) for part in parts]
        except ValueError:
            given = [0]
        if any(number != -1 and number < 1 for number in given):
            raise InputError(
                "fanout",
                "is not a list of numbers",
                value=self.fanout,
                way_out="give such as 10, or 10,5 for two hops, or -1 for all neighbors",
            )
        if len(given) not in (1, hops):
            raise InputError(
                "fanout",
                f"has {len(given)} numbers, and the model has {hops} layers",
                value=self.fanout,
                way_out="give one number for all hops, or one for each",
            )
        return given * hops if len(given) == 1 else given


def fanout_text(value: Any) -> Any:
    """A fanout as a recipe has it, from a number or a list of numbers."""
    numbers = value if isinstance(value, list) else [value]
    if all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return ",".join(map(str, numbers))
    return value
