r"""Planetoid (Yang et al., 2016, https://arxiv.org/abs/1603.08861): labels and contexts at once.

A node's class is predicted from its features and its embedding e_i, each through a hidden layer,

.. math::
    p(y \mid i) = \mathrm{softmax}(W [\mathrm{relu}(U x_i) ; \mathrm{relu}(V e_i)])

while e_i also predicts the node's contexts: the loss of a pair (i, c, gamma) is
-log sigmoid(gamma w_c . e_i), see `nodewise.models.baselines.context_pairs`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module, Parameter
from torch.nn.functional import cross_entropy, logsigmoid

from nodewise.errors import InputError
from nodewise.models.baselines.context_pairs import Pairs
from nodewise.ops.dispatch import AnyFeatures, dropout, project
from nodewise.ops.sparse import Features, as_features, num_rows, take_rows


class Planetoid(Module):
    """The shared part of the transductive and the inductive form, which define e_i.

    Args:
        in_channels: Size of the input features, d0.
        out_channels: How many classes, K.
        num_nodes: How many nodes can be contexts, N.
        dimension: Size of an embedding, d.
        hidden_channels: Width of each of the two hidden layers, d1.
        dropout: Rate at which entries of every layer's input are dropped.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_nodes: int,
        dimension: int = 50,
        hidden_channels: int = 50,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.context = Parameter(torch.empty(num_nodes, dimension).normal_(std=0.1))
        self.of_features = Linear(in_channels, hidden_channels)
        self.of_embedding = Linear(dimension, hidden_channels)
        self.classifier = Linear(2 * hidden_channels, out_channels)

    @property
    def paper_parameter_count(self) -> int:
        """2 d N + d1 d0 + d1 d + 2 K d1, as the paper counts: the transductive form, no biases."""
        layers = (self.of_features, self.of_embedding, self.classifier)
        return 2 * self.context.numel() + sum(layer.weight.numel() for layer in layers)

    def embed(self, x: Features, nodes: Tensor) -> Tensor:
        """e of some nodes, (n, dimension), from their rows of features and their numbers."""
        raise NotImplementedError

    def embedding_parameters(self) -> list[Parameter]:
        """The parameters of e_i; both losses train them."""
        raise NotImplementedError

    def forward(self, x: Features, edge_index: Tensor | None = None) -> Tensor:
        """Logits of all nodes, (N, classes).

        Args:
            x: Features of all nodes, dense or `torch.sparse_csr`.
            edge_index: Ignored: the pairs of training contain the graph.
        """
        x = as_features(x)
        rows = num_rows(x)
        return sum(self._halves(x, torch.arange(rows)), self.classifier.bias)

    def supervised_loss(self, x: Features, y: Tensor, nodes: Tensor) -> Tensor:
        """Cross-entropy of some nodes, plus that of each half alone, as in the released program."""
        halves = self._halves(take_rows(as_features(x), nodes), nodes)
        bias, labels = self.classifier.bias, y[nodes]
        total = cross_entropy(sum(halves, bias), labels)
        return sum((cross_entropy(half + bias, labels) for half in halves), total)

    def context_loss(self, x: Features, pairs: Pairs) -> Tensor:
        """The mean of -log sigmoid(gamma w_c . e_i)."""
        rows = self.embed(take_rows(as_features(x), pairs.node), pairs.node)
        return -logsigmoid(pairs.sign * (rows * self.context[pairs.context]).sum(1)).mean()

    def _halves(self, x: Features, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The logits' two summands, from the features and from the embedding."""
        of_x = project(self._drop(x), self.of_features.weight) + self.of_features.bias
        of_e = self.of_embedding(self._drop(self.embed(x, nodes)))
        weights = self.classifier.weight.chunk(2, 1)
        left, right = (
            self._drop(hidden.relu()) @ weight.t()
            for hidden, weight in zip((of_x, of_e), weights, strict=True)
        )
        return left, right

    def _drop(self, x: AnyFeatures) -> AnyFeatures:
        return dropout(x, self.dropout, self.training)


class PlanetoidT(Planetoid):
    """The transductive form: every node has an embedding; see `Planetoid`.

    Its dropout is higher than that of the inductive form: a table can memorize the labels.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_nodes: int,
        dropout: float = 0.7,
        **sizes: int,
    ) -> None:
        super().__init__(in_channels, out_channels, num_nodes, dropout=dropout, **sizes)
        self.embedding = Parameter(torch.empty_like(self.context).normal_(std=0.1))

    def embed(self, x: Features, nodes: Tensor) -> Tensor:
        """The nodes' rows of the table."""
        if len(nodes) and int(nodes.max()) >= len(self.embedding):
            raise InputError(
                "x",
                f"must be the features of the {len(self.embedding)} nodes that have an embedding",
                value=int(nodes.max()) + 1,
                way_out="use PlanetoidI for nodes that were not there in training",
            )
        return self.embedding[nodes]

    def embedding_parameters(self) -> list[Parameter]:
        """The table of embeddings."""
        return [self.embedding]


class PlanetoidI(Planetoid):
    """The inductive form: a node's embedding is linear in its features; see `Planetoid`."""

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int, **more: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **more)
        self.to_embedding = Parameter(torch.empty(self.context.size(1), in_channels))
        torch.nn.init.xavier_uniform_(self.to_embedding)

    def embed(self, x: Features, nodes: Tensor) -> Tensor:
        """A matrix times the features."""
        return project(self._drop(x), self.to_embedding)

    def embedding_parameters(self) -> list[Parameter]:
        """The matrix."""
        return [self.to_embedding]


class EitherPlanetoid(Module):
    """Both forms, one of them active: the one with the better validation accuracy.

    Args:
        in_channels: Size of the input features.
        out_channels: How many classes.
        num_nodes: How many nodes the graph has.
    """

    is_inductive: Tensor

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int) -> None:
        super().__init__()
        self.transductive = PlanetoidT(in_channels, out_channels, num_nodes)
        self.inductive = PlanetoidI(in_channels, out_channels, num_nodes)
        self.register_buffer("is_inductive", torch.tensor(False))

    @property
    def paper_parameter_count(self) -> int:
        """The number of weights of one form, as the paper counts them."""
        return self.transductive.paper_parameter_count

    def take(self, form: Planetoid) -> None:
        """Copy a trained model into its form, and make that form the active one."""
        self.is_inductive.fill_(isinstance(form, PlanetoidI))
        self.active.load_state_dict(form.state_dict())

    @property
    def active(self) -> Planetoid:
        """The active form."""
        return self.inductive if self.is_inductive else self.transductive

    def forward(self, x: Features, edge_index: Tensor | None = None) -> Tensor:
        """Logits of all nodes, (N, classes)."""
        logits: Tensor = self.active(x, edge_index)
        return logits
