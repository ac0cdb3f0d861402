"""Models with levels of their localization switched off: the same weights, nothing copied.

A model with all levels switched off is its global part. That is not the model that training
without localization would have given: its weights were trained together with the modulators.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Final, TypeVar

from torch.nn import Module

from nodewise.errors import UnknownNameError
from nodewise.nn.localized_conv import LocalizedConv

# The parts of a localized conv that belong to each level.
_PARTS: Final = {"node": ("node_modulator", "bias_modulator"), "edge": ("edge_modulator",)}
LEVELS: Final = tuple(_PARTS)

AnyModule = TypeVar("AnyModule", bound=Module)


def levels_of(model: Module) -> tuple[str, ...]:
    """The levels that a model has: "node", "edge", both or none."""
    convs = [module for module in model.modules() if isinstance(module, LocalizedConv)]
    return tuple(
        level
        for level, parts in _PARTS.items()
        if any(getattr(conv, part) is not None for conv in convs for part in parts)
    )


def check_levels(levels: Iterable[str]) -> frozenset[str]:
    """The levels as a set.

    Raises:
        UnknownNameError: One of them is neither "node" nor "edge".
    """
    chosen = frozenset([levels] if isinstance(levels, str) else levels)
    for level in sorted(chosen - {*LEVELS}):
        raise UnknownNameError("levels", level, LEVELS)
    return chosen


def with_levels(model: AnyModule, levels: Iterable[str]) -> AnyModule:
    """The model with only these levels of its localization, in evaluation mode.

    Modules are new, so that the given model keeps its levels, its mode and its hooks; weights are
    shared.

    Args:
        model: A model with any number of localized convs, or such a conv.
        levels: The levels to keep: "node", "edge", both, or none for the global model.

    Raises:
        UnknownNameError: A level is not known.
    """
    kept = check_levels(levels)
    dropped = {part for level, parts in _PARTS.items() if level not in kept for part in parts}
    twin = _twin(model, dropped, {})
    twin.eval()
    return twin


def _twin(module: AnyModule, dropped: set[str], known: dict[int, Module]) -> AnyModule:
    """A module that shares its weights, without the dropped parts of localized convs."""
    if id(module) in known:
        return known[id(module)]  # type: ignore[return-value]
    known[id(module)] = twin = copy(module)
    # A copied module has the same dictionaries; an explainer's masks and hooks are written to them.
    for name in ("_parameters", "_buffers", "_forward_hooks", "_forward_pre_hooks"):
        setattr(twin, name, copy(getattr(module, name)))
    off = dropped if isinstance(module, LocalizedConv) else set()
    twin._modules = {
        name: None if part is None or name in off else _twin(part, dropped, known)
        for name, part in module._modules.items()
    }
    return twin
