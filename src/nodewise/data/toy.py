"""The toy graph: papers whose words mean different things in different fields.

An example of the paper's Figure 1. Each paper belongs to a field and has a class: theory, method or
application. It carries *keywords* ("cell", "kernel", "tree", ...) that stand for its class, but
which group of keywords stands for which class is another permutation in every field. The field
itself is not a feature. It shows in *topic words*, each of which is shared by two neighbors on a
ring of fields ("gene": biology and bioinformatics; "svm": bioinformatics and computer science): a
single word does not determine the field, the words in a paper's neighborhood do.

One global weight matrix has to average over the fields. A model that generates its weights from
the neighborhood does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from nodewise.errors import InputError
from nodewise.randomness import FrozenRandom

if TYPE_CHECKING:
    from torch_geometric.data import Data

Ints = NDArray[np.int64]

CLASSES = ("theory", "method", "application")

# Neighbors share topic words, and the last is a neighbor of the first.
FIELDS = (
    "biology",
    "bioinformatics",
    "computer science",
    "mathematics",
    "physics",
    "chemistry",
)

# TOPICS[f] belongs to field f and to the next one on the ring.
TOPICS = (
    ("gene", "genome"),
    ("svm", "classifier"),
    ("vc-dim", "complexity"),
    ("tensor", "symmetry"),
    ("quantum", "molecule"),
    ("enzyme", "protein"),
)

# Three groups of words that occur in every field, with another meaning in each.
AMBIGUOUS = (
    ("cell", "tree", "network", "ring", "chain", "cluster", "branch", "root"),
    ("kernel", "vector", "agent", "signal", "filter", "domain", "base", "spectrum"),
    (
        "expression",
        "translation",
        "evolution",
        "diffusion",
        "mutation",
        "reduction",
        "regression",
        "replication",
    ),
)

# MEANINGS[f][k] is the group that stands for class k in field f. Over the first three fields, and
# over all six, every group stands for every class equally often: no meaning is more frequent.
MEANINGS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2))

# PLAIN[k] stands for class k in every field.
PLAIN = (
    ("theorem", "conjecture", "axiom"),
    ("protocol", "procedure", "technique"),
    ("deployment", "product", "industry"),
)

_GROUP = len(AMBIGUOUS[0])
_FIRST_PLAIN = len(AMBIGUOUS) * _GROUP
_FIRST_TOPIC = _FIRST_PLAIN + len(PLAIN) * len(PLAIN[0])


def toy_graph(
    num_nodes: int = 1200,
    *,
    contexts: int = 6,
    ambiguity: float = 0.99,
    degree: int = 12,
    noise: float = 0.1,
    affinity: float = 0.75,
    topics: float = 1.0,
    keywords: int = 4,
    seed: int = 0,
) -> Data:
    """Generate the toy graph; equal arguments give equal bits on every platform.

    Fields and classes are as even in size as `num_nodes` allows.

    Args:
        num_nodes: Papers.
        contexts: Fields: 1, or 3 to 6. Two on a ring would share every topic word, and three
            classes have only six permutations.
        ambiguity: Share of keywords whose meaning depends on the field; the others are plain
            ("theorem", "protocol", ...) and mean the same everywhere.
        degree: Neighbors per paper, on average, before repeated citations merge.
        noise: Share of keywords drawn from all words, and of citations drawn from all papers.
        affinity: Share of the other citations that stay within field and class; the rest
            stays within the field, whatever the class.
        topics: Share of papers that carry a topic word, one of the four of their field.
        keywords: Keywords drawn per paper; equal ones merge.
        seed: Which graph.

    Returns:
        A graph with `x` (nodes, words) float32, 1 where a word occurs; `edge_index` (2, edges),
        both directions of every edge, sorted by source and target; `y` and `field` (nodes) int64;
        and `feature_names`, `class_names` and `field_names`. It has no masks.

    Raises:
        InputError: An argument is out of range.
    """
    from torch_geometric.data import Data  # takes seconds, so only when a graph is wanted

    _check_counts(num_nodes, contexts, degree, keywords)
    _check_shares(ambiguity=ambiguity, noise=noise, affinity=affinity, topics=topics)
    label, field = _papers(num_nodes, contexts, seed)
    words = [_keyword(label, field, ambiguity, noise, seed, draw) for draw in range(keywords)]
    topic = _topic_word(field, contexts, topics, seed)
    return Data(
        x=torch.from_numpy(_occurrence([*words, topic], len(_vocabulary(contexts)))),
        edge_index=torch.from_numpy(_citations(label, field, degree, noise, affinity, seed)),
        y=torch.from_numpy(label),
        field=torch.from_numpy(field),
        feature_names=_vocabulary(contexts),
        class_names=list(CLASSES),
        field_names=list(FIELDS[:contexts]),
    )


def _vocabulary(contexts: int) -> list[str]:
    """Every word in the order of the features: ambiguous, plain, topics."""
    return [word for group in (*AMBIGUOUS, *PLAIN, *TOPICS[:contexts]) for word in group]


def _papers(num_nodes: int, contexts: int, seed: int) -> tuple[Ints, Ints]:
    """Deal classes and fields out in turn, to papers in random order."""
    place = FrozenRandom(seed, "toy papers").permutation(num_nodes)
    return place % len(CLASSES), place // len(CLASSES) % contexts


def _keyword(
    label: Ints, field: Ints, ambiguity: float, noise: float, seed: int, draw: int
) -> Ints:
    """One keyword for each paper, as a feature."""
    random, count = FrozenRandom(seed, f"toy keyword {draw}"), len(label)
    group = np.array(MEANINGS)[field, label]
    ambiguous = group * _GROUP + random.integers(_GROUP, count)
    plain = _FIRST_PLAIN + label * len(PLAIN[0]) + random.integers(len(PLAIN[0]), count)
    meant = np.where(random.uniform(count) < ambiguity, ambiguous, plain)
    blind = random.integers(_FIRST_TOPIC, count)
    return np.where(random.uniform(count) < noise, blind, meant)


def _topic_word(field: Ints, contexts: int, topics: float, seed: int) -> Ints:
    """One topic word for each paper, shared with the field before or after; -1 for none."""
    random, count = FrozenRandom(seed, "toy topics"), len(field)
    pair = (field - random.integers(2, count)) % contexts
    word = _FIRST_TOPIC + pair * len(TOPICS[0]) + random.integers(len(TOPICS[0]), count)
    return np.where(random.uniform(count) < topics, word, -1)


def _occurrence(words: Iterable[Ints], vocabulary: int) -> NDArray[np.float32]:
    """Papers by words, 1 where a word occurs; -1 stands for no word."""
    columns = np.stack(list(words))
    x = np.zeros((columns.shape[1], vocabulary), np.float32)
    draw, paper = np.nonzero(columns >= 0)
    x[paper, columns[draw, paper]] = 1
    return x


def _citations(
    label: Ints, field: Ints, degree: int, noise: float, affinity: float, seed: int
) -> Ints:
    """Both directions of every citation, sorted, without repeats and self-citations."""
    random, nodes = FrozenRandom(seed, "toy citations"), len(label)
    citing = np.arange(nodes * degree // 2) % nodes
    anywhere = random.integers(nodes, len(citing))
    in_field = _alike(field, citing, random)
    in_class = _alike(field * len(CLASSES) + label, citing, random)
    near = np.where(random.uniform(len(citing)) < affinity, in_class, in_field)
    cited = np.where(random.uniform(len(citing)) < noise, anywhere, near)
    return _undirected(citing, cited, nodes)


def _alike(kind: Ints, papers: Ints, random: FrozenRandom) -> Ints:
    """For each of `papers`, a random paper of the same kind (maybe itself)."""
    by_kind, size = np.argsort(kind, kind="stable"), np.bincount(kind)
    first = np.cumsum(size) - size
    wanted = kind[papers]
    step = (random.uniform(len(papers)) * size[wanted]).astype(np.int64)
    chosen: Ints = by_kind[first[wanted] + step]
    return chosen


def _undirected(source: Ints, target: Ints, nodes: int) -> Ints:
    source, target = source[source != target], target[source != target]
    # One number per edge: sorting and merging these sorts and merges the edges.
    edge = np.unique(np.concatenate([source * nodes + target, target * nodes + source]))
    return np.stack([edge // nodes, edge % nodes])


def _check_counts(num_nodes: int, contexts: int, degree: int, keywords: int) -> None:
    _check_count("contexts", contexts, 1, len(FIELDS))
    if contexts == 2:
        raise InputError(
            "contexts",
            "would share every topic word",
            value=contexts,
            way_out="give 1, or 3 or more",
        )
    _check_count("num_nodes", num_nodes, len(CLASSES) * contexts, 2**31 - 1)
    _check_count("degree", degree, 1, num_nodes - 1)
    _check_count("keywords", keywords, 1, 100)


def _check_count(name: str, value: int, low: int, high: int) -> None:
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or not low <= value <= high:
        way_out = f"give an integer from {low} to {high}"
        raise InputError(name, "is out of range", value=value, way_out=way_out)


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 <= share <= 1:  # written so that NaN fails too
            raise InputError(
                name, "is a share", value=share, way_out="give a number between 0 and 1"
            )
