"""Types of a call that returns modulations when it is asked to."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar, overload

from torch import Tensor

from nodewise.nn.modulation import Modulations

Rows = TypeVar("Rows", contravariant=True)
Graph = TypeVar("Graph", contravariant=True)


class TypedCall(Protocol[Rows, Graph]):
    """`module(x, edge_index)` is a tensor, with `return_modulations=True` a pair."""

    @overload
    def __call__(
        self,
        x: Rows,
        edge_index: Graph,
        edge_weight: Tensor | None = None,
        return_modulations: Literal[False] = False,
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        x: Rows,
        edge_index: Graph,
        edge_weight: Tensor | None = None,
        *,
        return_modulations: Literal[True],
    ) -> tuple[Tensor, Modulations]: ...

    @overload
    def __call__(
        self,
        x: Rows,
        edge_index: Graph,
        edge_weight: Tensor | None,
        return_modulations: Literal[True],
    ) -> tuple[Tensor, Modulations]: ...

    @overload
    def __call__(
        self,
        x: Rows,
        edge_index: Graph,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> Tensor | tuple[Tensor, Modulations]: ...
