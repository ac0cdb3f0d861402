"""DeepWalk (Perozzi et al., 2014): nodes that occur on the same walks get similar vectors.

Walks are read as sentences and nodes as words: skip-gram with negative sampling. No label is used;
a logistic regression on [embedding, features] is trained afterwards (`logistic.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Linear, Module

from nodewise.errors import InputError
from nodewise.ops.dispatch import project
from nodewise.ops.sparse import Features, as_features
from nodewise.randomness import FrozenRandom


def deepwalk_embedding(
    edge_index: Tensor,
    num_nodes: int,
    *,
    walks: int = 10,
    length: int = 100,
    window: int = 5,
    dimension: int = 128,
    epochs: int = 1,
    seed: int = 0,
) -> Tensor:
    """A vector for each node, shape (nodes, dimension); the same bits for the same seed.

    Args:
        edge_index: The edges, shape (2, E), taken as undirected.
        num_nodes: How many nodes there are.
        walks: How many walks start at each node.
        length: How many nodes a walk visits.
        window: How far apart on a walk two nodes may be to count as neighbors.
        dimension: Size of a vector.
        epochs: Passes over the walks.
        seed: Decides the walks, their order, and the initial vectors.
    """
    from gensim.models import Word2Vec

    from nodewise.models.baselines.walks import Adjacency, random_walks

    graph = Adjacency.from_edges(edge_index, num_nodes)
    paths = random_walks(graph, walks=walks, length=length, seed=seed)
    order = FrozenRandom(seed, "order of walks").permutation(len(paths))
    names = [str(node) for node in range(num_nodes)]
    skip_gram = Word2Vec(
        _sentences(paths[order], names),
        sg=1,
        vector_size=dimension,
        window=window,
        min_count=1,
        sample=0,  # gensim's default would skip frequent words, which are hubs here
        epochs=epochs,
        seed=seed,
        workers=1,  # more threads write over each other's updates
    )
    return torch.from_numpy(skip_gram.wv[names])


def _sentences(paths: NDArray[np.int32], names: list[str]) -> list[list[str]]:
    words = np.array(names, dtype=object)
    return [list(words[path]) for path in paths]


class DeepWalk(Module):
    """A linear classifier on [embedding, features] of the nodes of one graph.

    `embed` trains the embedding, `fit_logistic` (`logistic.py`) the classifier; the state dict
    contains both.

    Args:
        in_channels: Size of the input features.
        out_channels: How many classes.
        num_nodes: How many nodes the graph has.
        dimension: Size of a node's vector.
    """

    embedding: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, num_nodes: int, dimension: int = 128
    ) -> None:
        super().__init__()
        self.register_buffer("embedding", torch.zeros(num_nodes, dimension))
        self.linear = Linear(dimension + in_channels, out_channels)

    @property
    def paper_parameter_count(self) -> int:
        """2 d N, as the paper counts: two vectors for each node, one as a word, one as a context.

        The context vectors are discarded after training, and the classifier is not counted.
        """
        return 2 * self.embedding.numel()

    def embed(self, edge_index: Tensor, *, seed: int, **options: Any) -> None:
        """Learn the embedding; `options` are those of `deepwalk_embedding`."""
        nodes, dimension = self.embedding.shape
        rows = deepwalk_embedding(edge_index, nodes, dimension=dimension, seed=seed, **options)
        self.embedding.copy_(rows)

    def forward(self, x: Features, edge_index: Tensor | None = None) -> Tensor:
        """Logits of all nodes, (N, classes).

        Args:
            x: Features of all nodes, dense or `torch.sparse_csr`.
            edge_index: Ignored: the embedding was trained on the graph.
        """
        nodes, dimension = self.embedding.shape
        weight = self.linear.weight
        rows = project(as_features(x), weight[:, dimension:])
        if len(rows) != nodes:
            raise InputError(
                "x",
                f"must be the features of the {nodes} nodes that were embedded, in their order",
                value=len(rows),
                way_out="embed the new graph with another DeepWalk",
            )
        return self.embedding @ weight[:, :dimension].t() + rows + self.linear.bias
