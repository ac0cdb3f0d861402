"""`Processes`: the processes that train one model together, started by torchrun.

Every process has a part of each batch. Sums over all of them are exact: a loss, a gradient or a
count is written as a sum over nodes, and torch adds the parts in one order on every process.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import torch
from torch import Tensor, distributed

from nodewise.errors import InputError, RunError

_BETWEEN_QUESTIONS = 0.05  # seconds
_PATIENCE = 600.0  # seconds


@dataclass(frozen=True)
class Processes:
    """This process among those that train together.

    Attributes:
        rank: The number of this one; 0 writes files and prints.
        count: How many there are.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    @property
    def part(self) -> slice:
        """The seeds of a batch that this process takes: no two take the same."""
        return slice(self.rank, None, self.count)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, the same bits on each of them."""
        if self.count > 1:
            with _explaining_lost_processes():
                distributed.all_reduce(values)
        return values

    def sum_gradients(self, weights: Iterable[Tensor]) -> None:
        """Replace the gradient of every weight by the sum over all processes; None counts as zero.

        One message for all of them: many small ones wait for the network many times.
        """
        if self.count == 1:
            return
        weights = list(weights)
        for weight in weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        grads = [weight.grad for weight in weights if weight.grad is not None]
        joined = self.sum(torch.cat([grad.flatten() for grad in grads]))
        parts = torch.split_with_sizes(joined, [grad.numel() for grad in grads])
        for grad, total in zip(grads, parts, strict=True):
            grad.copy_(total.view_as(grad))

    def any(self, here: bool) -> bool:
        """Whether it is true in any process; all get the same answer."""
        return here if self.count == 1 else bool(self.sum(torch.tensor(int(here))))

    def largest(self, number: int) -> int:
        """The largest of the numbers that all processes give."""
        if self.count == 1:
            return number
        found = torch.tensor(number)
        with _explaining_lost_processes():
            distributed.all_reduce(found, distributed.ReduceOp.MAX)
        return int(found)

    def of_first(self, item: Any) -> Any:
        """The value of the first process, in every process."""
        if self.count == 1:
            return item
        items = [item]
        with _explaining_lost_processes():
            distributed.broadcast_object_list(items)
        return items[0]


def local_device(device: str) -> str:
    """The device of this process: each of several on a machine takes another GPU.

    Args:
        device: The device that was asked for.
    """
    place = os.environ.get("LOCAL_RANK")
    return f"cuda:{place}" if device == "cuda" and place is not None else device


@contextmanager
def _explaining_lost_processes() -> Iterator[None]:
    """Raise an error of the network as one that says what to do.

    Raises:
        RunError: Another process has ended, or is not reached any more.
    """
    try:
        yield
    except RuntimeError as error:
        raise RunError(
            "torchrun",
            f"has lost a process ({str(error).splitlines()[0]})",
            way_out="start it again with the same command: training goes on from the last "
            "checkpoint; with --max-restarts torchrun does so by itself",
        ) from error


def _name_of_start(store: Any, rank: int, count: int) -> str:
    """A name that is new at every start, the same in all processes.

    torchrun starts processes again with the store of those that failed, in which the addresses of
    these are still found. So each process writes a random number, the first process answers to each
    number with the name, and waits until all have taken it.
    """
    number = secrets.token_hex(8)
    if rank:
        store.set(f"number/{rank}", number)
        name: str = store.get(f"name for {number}").decode()
        store.set(f"{name}/{rank}", "taken")
        return name
    others, ends = range(1, count), monotonic() + _PATIENCE
    while not all(store.check([f"{number}/{other}"]) for other in others):
        for other in others:
            if store.check([f"number/{other}"]):
                # Perhaps that of a process that is gone: it is asked again until all have answered.
                theirs = store.get(f"number/{other}").decode()
                store.set(f"name for {theirs}", number)
        if monotonic() > ends:
            raise RuntimeError(f"not all of {count} processes came within {_PATIENCE:g} seconds")
        sleep(_BETWEEN_QUESTIONS)
    return number


@contextmanager
def joined_processes(device: str = "cpu") -> Iterator[Processes]:
    """Join the processes that torchrun has started; alone without it.

    Args:
        device: Where they compute: gloo connects CPUs, nccl GPUs.

    Raises:
        InputError: They cannot be reached.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        yield Processes()
        return
    backend = "gloo"
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl"
    try:
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store, rank, count = next(rendezvous("env://"))
        local_store = PrefixStore(_name_of_start(store, rank, count), store)
        distributed.init_process_group(backend, store=local_store, rank=rank, world_size=count)
    except (RuntimeError, ValueError) as error:
        raise InputError(
            "torchrun",
            f"has started processes that do not find each other ({str(error).splitlines()[0]})",
            way_out="check --rdzv-endpoint, and GLOO_SOCKET_IFNAME if there are several networks",
        ) from error
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
