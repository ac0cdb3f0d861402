"""Moves everything that a batch consists of to a device, without waiting for the copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

Item = TypeVar("Item")


def moved(item: Item, device: torch.device) -> Item:
    """The same item on a device; from pinned memory the copy overlaps with what follows.

    Args:
        item: A tensor, a number, None, or a dataclass or tuple of such items.
        device: The device; items that are there already are not copied.
    """
    return _mapped(item, lambda tensor: tensor.to(device, non_blocking=True))


def pinned(item: Item) -> Item:
    """The same item in page-locked memory, from which devices copy by themselves."""
    return _mapped(item, lambda tensor: tensor.pin_memory())


def _mapped(item: Item, change: Callable[[Tensor], Tensor]) -> Item:
    """The item with a function applied to each of its tensors; caches are left behind."""
    if isinstance(item, Tensor):
        return cast(Item, change(item))
    if isinstance(item, tuple):
        parts = [_mapped(part, change) for part in item]
        named = hasattr(item, "_fields")
        return cast(Item, type(item)(*parts) if named else tuple(parts))
    if is_dataclass(item) and not isinstance(item, type):
        copied = [field for field in fields(item) if field.init and field.compare]
        given: dict[str, Any] = {f.name: _mapped(getattr(item, f.name), change) for f in copied}
        return replace(item, **given)
    return item
