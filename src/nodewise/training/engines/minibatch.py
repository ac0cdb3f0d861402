"""`MinibatchEngine`: an epoch is one pass over the training nodes, in batches with sampled neighbors.

The loss of a batch estimates that of all training nodes and their full receptive field: its
expected value over batches and samples has the same cross-entropy (where the model is linear in
what was sampled) and the same penalty. See `sampled_field` and `reach`.

Random numbers are functions of (seed, epoch, number of the batch, process), so that a run that
continues from a checkpoint computes the same bits, whatever the number of sampling threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from nodewise.data.batches import BatchLoader
from nodewise.data.in_edges import InEdges
from nodewise.data.sampler import NeighborSampler, SampledBatch
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.models.receptive_field import ReceptiveField
from nodewise.ops.dispatch import compile_ahead
from nodewise.ops.sparse import Features
from nodewise.randomness import FrozenRandom
from nodewise.training.batching import Batching
from nodewise.training.engines.base import Loss, Validation
from nodewise.training.engines.batch_graph import BatchGraph
from nodewise.training.engines.class_weights import class_weights, weighs_classes
from nodewise.training.engines.optimized import OptimizedEngine
from nodewise.training.engines.sampled_field import FieldMaker
from nodewise.training.engines.transfer import moved, pinned
from nodewise.training.processes import Processes
from nodewise.training.recipe import Recipe

# What stands for an epoch where validation nodes are sampled: their neighbors are always the same.
_VALIDATION = 0
_TERMS = len(Loss._fields)


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch on its way into the model, or the part of it that this process has.

    Attributes:
        x: The features of the field's nodes.
        field: The receptive field of the seeds.
        y: The classes of the seeds.
        places: The places of the seeds among the nodes that batches are made of.
        count: How many seeds the whole batch has.
    """

    x: Features
    field: ReceptiveField
    y: Tensor
    places: Tensor
    count: int


class MinibatchEngine(OptimizedEngine):
    """Trains on batches of training nodes with sampled neighbors, in bounded memory.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
        workers: How many threads sample; they do not change results.
        processes: The processes that train together, each on its part of every batch.
        loader: Batches of the training nodes for each epoch, such as PyG's `NeighborLoader`; None
            samples them.
    """

    model: Classifier

    def __init__(
        self,
        model: Classifier,
        graph: BatchGraph,
        recipe: Recipe,
        workers: int = 1,
        processes: Processes | None = None,
        loader: Iterable[Any] | None = None,
    ) -> None:
        _check(model, recipe, processes := processes or Processes())
        super().__init__(model, recipe)
        self.graph, self.workers, self.processes, self.loader = graph, workers, processes, loader
        self.epoch = 0
        self._penalized: tuple[list[Tensor], list[Tensor]] = (
            [*model.global_parameters()],
            [*model.local_parameters()],
        )
        if self._penalized[1]:
            compile_ahead(self._penalized[1][0])
        # Of the random state that the model was initialized from, so that it is the run's.
        self.seed = int(torch.randint(2**31, ()))
        self._edges = InEdges.of(graph.csc)
        self._parts = {part: self._part(part) for part in ("train", "val")}
        self._class_weights = self._weights_of_classes()

    def _part(self, part: str) -> _Part:
        nodes = dict(self.graph.split)[part]
        rules = [layer.aggregator.rule for layer in self.model.layers]
        dtype = next(self.model.parameters()).dtype
        fanouts = self.recipe.batching.fanouts(len(rules))
        stream = FrozenRandom(self.seed, f"neighbors of {part}")
        sampler = NeighborSampler(self.graph.csc, fanouts, int(stream.integers(2**31, 1)[0]))
        batches = (self.recipe.batching.batch_size, part == "train", self.workers)
        fields = FieldMaker.of(self._edges, rules, nodes, dtype)
        return _Part(nodes, BatchLoader(sampler, nodes, *batches), fields)

    def _weights_of_classes(self) -> Tensor | None:
        """The weights of classes in the cross-entropy, from all training nodes."""
        if not weighs_classes(self.recipe):
            return None
        y = self.graph.labels(self._parts["train"].nodes)
        return class_weights(y, int(y.max()) + 1)

    def penalized(self) -> tuple[list[Tensor], list[Tensor]]:
        """The model's global and local parameters."""
        return self._penalized

    def step(self) -> Loss:
        """One pass over the training nodes; returns the mean loss of the batches, with dropout."""
        self.model.train()
        sums, seeds = torch.zeros(_TERMS, dtype=torch.float64), 0
        for number, batch in enumerate(self._batches("train", self.epoch)):
            self._seed(number)
            self.optimizer.zero_grad()
            loss, _ = self._loss(batch, "train", 1 / batch.count)
            if loss.total.requires_grad:
                loss.total.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
            self.processes.sum_gradients(self.model.parameters())
            self.optimizer.step()
            sums += batch.count * _values(loss)
            seeds += batch.count
        self.epoch += 1
        return _loss_of(self.processes.sum(sums) / max(1, seeds))

    def _seed(self, number: int) -> None:
        """Seed dropout of a batch; no two processes drop the same."""
        place = f"dropout of batch {number} of epoch {self.epoch} in process {self.processes.rank}"
        torch.manual_seed(int(FrozenRandom(self.seed, place).integers(2**31, 1)[0]))

    @torch.no_grad()
    def validate(self) -> Validation:
        """Loss, accuracy and logits on the validation nodes, with sampled neighbors.

        The same ones in every epoch, so that epochs differ by the model alone.
        """
        self.model.eval()
        nodes, y = self._parts["val"].nodes, self.graph.labels(self._parts["val"].nodes)
        sums = torch.zeros(_TERMS, dtype=torch.float64)
        found: Tensor | None = None
        for batch in self._batches("val", _VALIDATION):
            loss, logits = self._loss(batch, "val", 1 / len(nodes))
            sums += _values(loss)
            if found is None:
                found = logits.new_zeros(len(nodes), logits.size(1))
            found[batch.places] = logits
        assert found is not None
        return Validation.of(_loss_of(self.processes.sum(sums)), self.processes.sum(found), y)

    def _loss(self, batch: Batch, part: str, share: float) -> tuple[Loss, Tensor]:
        """This process's part of the loss, and the logits of its seeds.

        Parts add up to the loss, since each is a sum over seeds, times `share` for each.
        """
        logits, modulations = self.model(batch.x, batch.field, return_modulations=True)
        here = len(batch.y) * share
        weights = self._class_weights if part == "train" else None
        if weights is not None:  # of classes without training nodes it is zero
            weights = torch.nn.functional.pad(weights, (0, logits.size(1) - len(weights)))
        fit = cross_entropy(logits, batch.y, weights, reduction="sum") * share
        if self.recipe.optimization.loss_reduction == "sum":
            fit = fit * len(self._parts[part].nodes)
        on_global, on_local, on_modulations = self.recipe.penalty(*self.penalized(), modulations)
        terms = (fit, here * on_global, here * on_local, on_modulations)
        return Loss(*terms, fit.new_zeros(())), logits

    def _batches(self, part: str, epoch: int) -> Iterator[Batch]:
        """This process's part of each batch of an epoch, on the device."""
        of_part = self._parts[part]
        if part == "train" and self.loader is not None:
            for given in self.loader:
                yield self._moved(self._made(of_part, SampledBatch.of_pyg(given, self._edges.graph)))
            return
        make: Callable[[SampledBatch], Batch] = lambda batch: self._made(of_part, batch)  # noqa: E731
        with closing(of_part.loader.epoch(epoch, make, self.processes.part)) as batches:
            for batch in batches:
                yield self._moved(batch)

    def _made(self, part: _Part, batch: SampledBatch) -> Batch:
        """A batch with all that the model takes; runs on the threads that sample."""
        field = part.fields(batch, part.seed_weight(batch))
        for block in field.blocks:
            _ = block.neighbors.reverse  # sorted here rather than where the model waits for it
        seeds = batch.n_id[: batch.batch_size]
        made = Batch(
            self.graph.take(batch.n_id),
            field,
            self.graph.labels(seeds),
            torch.from_numpy(batch.input_id),
            batch.total,
        )
        return pinned(made) if self.graph.device.type == "cuda" else made

    def _moved(self, batch: Batch) -> Batch:
        device = self.graph.device
        return batch if device.type == "cpu" else moved(batch, device)

    @torch.no_grad()
    def logits(self) -> Tensor:
        """Logits of all nodes, from all their neighbors."""
        self.model.eval()
        return self.graph.logits(self.model)

    def state(self) -> dict[str, Tensor]:
        """The optimizer's state, and the number of the epoch."""
        return {**super().state(), _EPOCH: torch.tensor(self.epoch)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Restore both."""
        self.epoch = int(state[_EPOCH])
        super().load_state({key: value for key, value in state.items() if key != _EPOCH})


_EPOCH = "epoch"


@dataclass(frozen=True, eq=False)
class _Part:
    """The training or the validation nodes, their batches, and how these become fields."""

    nodes: NDArray[np.int64]
    loader: BatchLoader
    fields: FieldMaker


def _values(loss: Loss) -> Tensor:
    return torch.stack([term.detach().double().cpu() for term in loss])


def _loss_of(terms: Tensor) -> Loss:
    return Loss(*terms.unbind())
