"""Training of Planetoid: batches of the context loss and of the class loss by turns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam

from nodewise.models.baselines.context_pairs import PairRule, sample_pairs
from nodewise.models.baselines.planetoid import Planetoid
from nodewise.ops.sparse import Features, as_features


@dataclass(frozen=True)
class Schedule:
    """Batch sizes and learning rates, chosen on the validation nodes of Cora and Citeseer.

    Attributes:
        label_warmup: Batches of pairs from labels, before anything else.
        walk_warmup: Batches of pairs from walks, after that and before the first step.
        context_batches: Batches of the context loss in each step.
        class_batches: Passes over the labeled nodes in each step.
        pairs: Pairs in a batch.
        context_rate: Adam's learning rate for the context loss.
        class_rate: Adam's learning rate for the class loss.
        embedding_rate: The same for the embedding. Lower: embeddings of labeled nodes would
            move away from the others, and the classifier would not generalize to those.
        weight_decay: Decay of the classifier's weights.
        rule: How pairs are drawn; its `from_walks` holds for the steps, not for the warm-up.
    """

    label_warmup: int = 10
    walk_warmup: int = 800
    context_batches: int = 10
    class_batches: int = 5
    pairs: int = 4000
    context_rate: float = 0.01
    class_rate: float = 0.01
    embedding_rate: float = 0.001
    weight_decay: float = 1e-3
    rule: PairRule = field(default_factory=PairRule)


class PlanetoidTrainer:
    """Trains a model step by step; the caller validates, stops and keeps the best.

    All randomness comes from torch's global generator.

    Args:
        model: The model; it is changed in place.
        x: Features of all nodes, dense or `torch.sparse_csr`.
        edge_index: The edges, taken as undirected.
        y: Labels of all nodes; only those of `train` are read.
        train: The labeled nodes, a mask or node numbers.
        schedule: How much of each loss, and how fast.
    """

    def __init__(
        self,
        model: Planetoid,
        x: Features,
        edge_index: Tensor,
        y: Tensor,
        train: Tensor,
        schedule: Schedule | None = None,
    ) -> None:
        self.model, self.x, self.y = model, as_features(x), y
        self.train = train.nonzero().view(-1) if train.dtype == torch.bool else train
        from nodewise.models.baselines.walks import Adjacency

        self.graph = Adjacency.from_edges(edge_index, len(model.context))
        self.schedule = schedule or Schedule()
        self.is_warm = False
        self._optimize_context, self._optimize_class = self._optimizers()

    def _optimizers(self) -> tuple[Adam, Adam]:
        """One for each loss; both hold the embedding, on which no decay acts."""
        embedding, context = self.model.embedding_parameters(), self.model.context
        apart = {id(weight) for weight in (*embedding, context)}
        rest = [weight for weight in self.model.parameters() if id(weight) not in apart]
        groups: list[dict[str, Any]] = [
            {"params": rest, "weight_decay": self.schedule.weight_decay},
            {"params": embedding, "lr": self.schedule.embedding_rate},
        ]
        return (
            Adam([*embedding, context], lr=self.schedule.context_rate),
            Adam(groups, lr=self.schedule.class_rate),
        )

    def step(self) -> tuple[float, float]:
        """Train on some batches of both losses; returns the last class loss and context loss."""
        self.model.train()
        if not self.is_warm:
            self._learn_contexts(self.schedule.label_warmup, from_walks=0.0)
            self._learn_contexts(self.schedule.walk_warmup, from_walks=1.0)
            self.is_warm = True
        share = self.schedule.rule.from_walks
        context_loss = self._learn_contexts(self.schedule.context_batches, share)
        return self._learn_classes(self.schedule.class_batches), context_loss

    def _learn_contexts(self, batches: int, from_walks: float) -> float:
        rule, loss = replace(self.schedule.rule, from_walks=from_walks), torch.zeros(())
        for _ in range(batches):
            pairs = sample_pairs(
                self.graph,
                self.train,
                self.y[self.train],
                self.schedule.pairs,
                rule,
            )
            loss = self.model.context_loss(self.x, pairs)
            _descend(loss, self._optimize_context)
        return loss.item()

    def _learn_classes(self, batches: int) -> float:
        loss = torch.zeros(())
        for _ in range(batches):
            loss = self.model.supervised_loss(self.x, self.y, self.train)
            _descend(loss, self._optimize_class)
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        """The state that a checkpoint needs besides the model and torch's random state."""
        return {
            "is_warm": self.is_warm,
            "context": self._optimize_context.state_dict(),
            "class": self._optimize_class.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        self.is_warm = state["is_warm"]
        self._optimize_context.load_state_dict(state["context"])
        self._optimize_class.load_state_dict(state["class"])


def _descend(loss: Tensor, optimizer: Adam) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
    optimizer.step()
