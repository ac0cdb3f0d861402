"""Which engine trains a stack of layers, and why."""

from __future__ import annotations

from typing import NamedTuple

from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.models.memory import as_size, step_bytes
from nodewise.training.batching import Batching
from nodewise.training.engines.resources import Resources


class EngineChoice(NamedTuple):
    """An engine, and why it was chosen.

    Attributes:
        engine: "field", "full" or "minibatch".
        reason: A sentence for the user; empty where nothing was decided.
    """

    engine: str
    reason: str = ""


def choose_engine(
    model: Module,
    sizes: tuple[int, int],
    batching: Batching,
    resources: Resources = Resources(),  # noqa: B008  # immutable
    *,
    in_memory: bool = True,
) -> EngineChoice:
    """The engine that the settings name, or for "auto" the one that fits.

    Args:
        model: The model.
        sizes: The numbers of nodes and of edges.
        batching: The settings.
        resources: With what it computes.
        in_memory: Whether the graph is in memory; one in files is trained by mini-batches.

    Raises:
        InputError: The engine cannot train this model, or not with these resources.
    """
    choice = _choice(model, sizes, batching, resources, in_memory)
    if choice.engine == "minibatch":
        if not isinstance(model, Classifier):
            raise InputError(
                "engine",
                "'minibatch' trains stacks of layers of the zoo only",
                value=type(model).__name__,
                way_out="leave it out, or choose a model such as LGCN, SAGE or GCN",
            )
        batching.fanouts(len(model.layers))
    elif resources.processes.count > 1:
        raise InputError(
            "engine",
            "computes on the whole graph, which several processes cannot share",
            value=choice.engine,
            way_out="take --engine minibatch, or start one process",
        )
    return choice


def _choice(
    model: Module,
    sizes: tuple[int, int],
    batching: Batching,
    resources: Resources,
    in_memory: bool,
) -> EngineChoice:
    if not in_memory and batching.engine in ("field", "full"):
        raise InputError(
            "engine",
            "needs the graph in memory, and it is in files",
            value=batching.engine,
            way_out="leave it out, or read the files into memory with --nodes",
        )
    if batching.engine != "auto":
        return EngineChoice(batching.engine)
    if not in_memory:
        return EngineChoice("minibatch", "mini-batches, since the graph is in files")
    if resources.loader is not None:
        return EngineChoice("minibatch", "mini-batches of the given loader")
    if resources.processes.count > 1:
        return EngineChoice("minibatch", "mini-batches, of which each process has a part")
    budget = batching.budget
    if budget is None or not isinstance(model, Classifier):
        return EngineChoice("field")
    needed = step_bytes(model, *sizes)
    if needed <= budget:
        return EngineChoice("field")
    return EngineChoice(
        "minibatch",
        f"mini-batches, since a step on the whole graph takes about {as_size(needed)}, "
        f"more than {as_size(budget)}",
    )
