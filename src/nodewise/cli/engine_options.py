"""The options of `train` that say on what part of the graph a step computes: keys of the recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from nodewise.cli.options import option_of, with_options
from nodewise.data.stores.meta import is_store

_option = option_of("Large graphs")
_KEYS: Final[Mapping[str, Any]] = {
    "engine": Annotated[
        str | None,
        _option(
            "--engine",
            "auto, field (the receptive field of all training nodes at once), full (all nodes), or "
            "minibatch (default: auto, which takes mini-batches where --memory asks for them).",
        ),
    ],
    "memory": Annotated[
        str | None,
        _option("--memory", "What a training step may take, such as 4GB (default: no limit)."),
    ],
    "fanout": Annotated[
        str | None,
        _option(
            "--fanout",
            "Neighbors that a mini-batch samples of each node: 10, or 10,5 for two hops; -1 for "
            "all (default: 10).",
        ),
    ],
    "batch_size": Annotated[
        int | None,
        _option(
            "--batch-size",
            "Training nodes in a mini-batch, over all processes (default: 1024).",
            min=1,
        ),
    ],
}
_WORKERS: Final = Annotated[
    int,
    _option("--sampling-workers", "Threads that sample; results are the same bits.", min=0),
]


def with_engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options; it receives them as its argument `batching`."""
    options = {name: (kind, None) for name, kind in _KEYS.items()}
    return with_options(command, "batching", {**options, "sampling_workers": (_WORKERS, 1)})


def stored_source(source: Mapping[str, Any], batching: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a graph; a store that was given as `--nodes` stays in files for mini-batches.

    Args:
        source: Where the graph comes from.
        batching: What was given of these options.
    """
    files = source.get("files", {})
    nodes = Path(files.get("nodes", ""))
    if batching["engine"] != "minibatch" or set(files) != {"nodes"} or not is_store(nodes):
        return source
    return {"store": str(nodes), "split_seed": source["split_seed"]}


def engine_settings(batching: Mapping[str, Any]) -> list[str]:
    """The keys of a recipe that were given, as `KEY=VALUE`.

    Raises:
        InputError: `--memory` is not a size.
    """
    from nodewise.models.memory import memory_budget

    if batching["memory"]:
        memory_budget(batching["memory"], "--memory")
    return [f"{key}={batching[key]}" for key in _KEYS if batching[key] is not None]
