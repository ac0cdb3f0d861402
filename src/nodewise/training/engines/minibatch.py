"""`MinibatchEngine`: an epoch is one pass over the training nodes, in batches.

The loss of a batch estimates that of all training nodes and their full receptive field: its
expected value over batches and samples has the same cross-entropy (where the model is linear in
what was sampled) and the same penalty. See `sampled_field` and `reach`.

Random numbers are functions of (seed, epoch, number of the batch, process), so that a run that
continues from a checkpoint computes the same bits, whatever the number of sampling threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import BatchNorm1d
from torch.nn.functional import cross_entropy, pad

from nodewise.data.sampling.batches import BatchLoader
from nodewise.data.sampling.edge_sums import EdgeSums
from nodewise.data.sampling.sampler import NeighborSampler, SampledBatch
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.models.layerwise import Watch, unwatched
from nodewise.models.receptive_field import ReceptiveField
from nodewise.ops.dispatch import compile_ahead
from nodewise.ops.sparse import Features
from nodewise.randomness import FrozenRandom
from nodewise.training.engines.base import Loss, Validation
from nodewise.training.engines.batch_graph import BatchGraph
from nodewise.training.engines.class_weights import class_weights, weighs_classes
from nodewise.training.engines.optimized import OptimizedEngine
from nodewise.training.engines.pyg_batch import from_pyg
from nodewise.training.engines.resources import Resources
from nodewise.training.engines.sampled_field import FieldMaker
from nodewise.training.engines.transfer import moved, pinned
from nodewise.training.inference import Inference
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
        whole_size: How many seeds the whole batch has.
    """

    x: Features
    field: ReceptiveField
    y: Tensor
    places: Tensor
    whole_size: int


class MinibatchEngine(OptimizedEngine):
    """Trains on batches of training nodes with sampled neighbors, in bounded memory.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
        resources: With what it computes: each process takes its part of every batch.
    """

    name = "minibatch"
    model: Classifier

    def __init__(
        self,
        model: Classifier,
        graph: BatchGraph,
        recipe: Recipe,
        resources: Resources = Resources(),  # noqa: B008  # immutable
    ) -> None:
        _check(model, recipe, resources)
        super().__init__(model, recipe)
        self.graph, self.processes, self.loader = graph, resources.processes, resources.loader
        self.epoch = 0
        self._penalized: tuple[list[Tensor], list[Tensor]] = (
            [*model.global_parameters()],
            [*model.local_parameters()],
        )
        if self._penalized[1]:
            compile_ahead(self._penalized[1][0])
        # Of the random state that the model was initialized from, so that it is the run's.
        self.seed = int(torch.randint(2**31, ()))
        self._edges = EdgeSums.of(graph.csc)
        self._parts = {part: self._part(part, resources.workers) for part in ("train", "val")}
        self._class_weights = self._weights_of_classes()

    def _part(self, part: str, workers: int) -> _Part:
        nodes = dict(self.graph.split)[part]
        rules = [layer.aggregator.rule for layer in self.model.layers]
        dtype = next(self.model.parameters()).dtype
        fanouts = self.recipe.batching.fanouts(len(rules))
        stream = FrozenRandom(self.seed, f"neighbors of {part}")
        sampler = NeighborSampler(self.graph.csc, fanouts, int(stream.integers(2**31, 1)[0]))
        batches = (self.recipe.batching.batch_size, part == "train", workers)
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
            self._seed_dropout(number)
            self.optimizer.zero_grad()
            if len(batch.y):  # a last batch may have fewer seeds than there are processes
                loss, _ = self._loss(batch, "train", 1 / batch.whole_size)
                loss.total.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
                sums += batch.whole_size * _values(loss)
            self.processes.sum_gradients(self.model.parameters())
            self.optimizer.step()
            seeds += batch.whole_size
        self.epoch += 1
        return Loss(*(self.processes.sum(sums) / max(1, seeds)).unbind())

    def _seed_dropout(self, number: int) -> None:
        """Seed dropout of a batch; no two processes drop the same."""
        place = f"dropout of batch {number} of epoch {self.epoch} in process {self.processes.rank}"
        torch.manual_seed(int(FrozenRandom(self.seed, place).integers(2**31, 1)[0]))

    @torch.no_grad()
    def validate(self) -> Validation:
        """Loss, accuracy and logits on the validation nodes, with sampled neighbors.

        They are the same in every epoch, so that epochs differ by the model alone.
        """
        self.model.eval()
        nodes = self._parts["val"].nodes
        sums = torch.zeros(_TERMS, dtype=torch.float64)
        found: list[tuple[Tensor, Tensor]] = []
        for batch in self._batches("val", _VALIDATION):
            if len(batch.y):
                loss, logits = self._loss(batch, "val", 1 / len(nodes))
                sums += _values(loss)
                found.append((batch.places.cpu(), logits.cpu()))
        logits = self._of_all(found, len(nodes))
        loss = Loss(*self.processes.sum(sums).unbind())
        return Validation.of(loss, logits, self.graph.labels(nodes))

    def _of_all(self, found: Sequence[tuple[Tensor, Tensor]], count: int) -> Tensor:
        """The logits of all nodes of a part, of which each process has found some."""
        width = found[0][1].size(1) if found else 0
        like = found[0][1] if found else torch.empty(0, dtype=next(self.model.parameters()).dtype)
        logits = like.new_zeros(count, self.processes.largest(width))
        for places, rows in found:
            logits[places] = rows
        return self.processes.sum(logits)

    def _loss(self, batch: Batch, part: str, share: float) -> tuple[Loss, Tensor]:
        """This process's part of the loss, and the logits of its seeds.

        Parts add up to the loss, since each is a sum over seeds, times `share` for each.
        """
        logits, modulations = self.model(batch.x, batch.field, return_modulations=True)
        fit = cross_entropy(logits, batch.y, self._weights_for(part, logits), reduction="sum")
        if self.recipe.optimization.loss_reduction == "sum":
            fit = fit * len(self._parts[part].nodes)
        of_global, of_local, of_modulations = self.recipe.penalty(*self.penalized(), modulations)
        here = len(batch.y) * share
        terms = (share * fit, here * of_global, here * of_local, of_modulations)
        return Loss(*terms, fit.new_zeros(())), logits

    def _weights_for(self, part: str, logits: Tensor) -> Tensor | None:
        """The weights of classes, one for each logit; none for validation."""
        if part != "train" or self._class_weights is None:
            return None
        missing = logits.size(1) - len(self._class_weights)
        return pad(self._class_weights, (0, missing)).to(logits.device)

    def _batches(self, part: str, epoch: int) -> Iterator[Batch]:
        """This process's part of each batch of an epoch, on the device."""
        of_part, device = self._parts[part], self.graph.device
        if part == "train" and self.loader is not None:
            for given in self.loader:
                batch = from_pyg(given, self.graph.csc, len(self.model.layers))
                yield moved(self._made(of_part, batch), device)
            return
        make = partial(self._made, of_part)
        batches = of_part.loader.epoch(epoch, make, self.processes.part)
        with closing(batches):  # type: ignore[type-var]
            for made in batches:
                yield made if device.type == "cpu" else moved(made, device)

    def _made(self, part: _Part, batch: SampledBatch) -> Batch:
        """A batch with all that the model takes; runs on the threads that sample."""
        seeds, n_id = batch.n_id[: batch.batch_size], torch.from_numpy(batch.n_id)
        # Each training seed stands for several; those of validation are added over all batches.
        each = len(part.nodes) / batch.whole_size if part.loader.shuffle else 1.0
        field = part.fields(batch, each)
        for block in field.blocks:
            _ = block.neighbors.reverse  # sorted here rather than where the model waits for it
        places = torch.from_numpy(batch.input_id)
        labels = self.graph.labels(seeds)
        made = Batch(self.graph.take(n_id), field, labels, places, batch.whole_size)
        return pinned(made) if self.graph.device.type == "cuda" else made

    def logits(self, watch: Watch = unwatched) -> Tensor:
        """Logits of all nodes, from all their neighbors; layer by layer in a large graph."""
        how = Inference.within(self.recipe.batching.budget, watch)
        return how.logits(self.model, self.graph.inputs)

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


def _check(model: Classifier, recipe: Recipe, resources: Resources) -> None:
    """Check that a model can be trained by mini-batches.

    Raises:
        InputError: It cannot.
    """
    several = resources.processes.count > 1
    batch_norm = any(isinstance(part, BatchNorm1d) for part in model.modules())
    reasons = {
        "hops": (model.needs_all_nodes, "spreads features over all nodes"),
        "consistency": (recipe.optimization.consistency > 0, "compares predictions on all nodes"),
        "batch_norm": (
            batch_norm and several,
            "normalizes over all nodes, of which each process has some",
        ),
        "loader": (several and resources.loader is not None, "has whole batches"),
    }
    for key, (found, reason) in reasons.items():
        if found:
            raise InputError(
                key, f"{reason}, which this process does not have", way_out=f"leave {key} out"
            )
