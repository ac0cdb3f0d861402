"""The toy graph's words: what a person reads when a model turns a feature up or down."""

from __future__ import annotations

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

# Three groups of words that every field knows and every field reads in its own way.
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
# over all six, every group stands for every class equally often: no reading is the usual one.
MEANINGS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2))

# PLAIN[k] stands for class k in every field.
PLAIN = (
    ("theorem", "conjecture", "axiom"),
    ("protocol", "procedure", "technique"),
    ("deployment", "product", "industry"),
)
