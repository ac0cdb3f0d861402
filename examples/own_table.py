"""Classify the nodes of a graph given as two pandas frames.

Usage:
    python examples/own_table.py [--epochs 100]

The frames come from scikit-learn's wines: a node is a wine, its features are thirteen chemical
measurements, and it has an edge to each of the five most similar wines. One wine in four has a
label, its cultivar; the others are predicted.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import scale

import nodewise as nw


def tables() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """The nodes, one wine in four with its label; the edges; and the label of every wine."""
    wines = load_wine(as_frame=True)
    ids = [f"wine {i}" for i in range(len(wines.data))]
    truth = pd.Series(wines.target_names[wines.target], index=ids)
    label = truth.where(np.arange(len(ids)) % 4 == 0)
    nodes = wines.data.assign(id=ids, cultivar=label.to_numpy())
    one, other = kneighbors_graph(scale(wines.data), 5).nonzero()
    edges = pd.DataFrame({"source": np.array(ids)[one], "target": np.array(ids)[other]})
    return nodes, edges, truth


def main() -> None:
    """Train on the wines whose cultivar is known, and predict the others."""
    parser = argparse.ArgumentParser(description="Classify the nodes of two tables.")
    parser.add_argument("--epochs", type=int, default=100, help="default: 100")
    args = parser.parse_args()
    nodes, edges, truth = tables()
    graph = nw.read_graph(nodes, edges, label="cultivar")
    print(graph.summary)
    split = nw.stratified_split(graph.data.y)
    print(f"{len(split.train)} train, {len(split.val)} validate, {len(split.test)} test")
    clf = nw.NodeClassifier("LGCN", random_state=0, settings={"epochs": args.epochs})
    clf.fit(split.apply(graph.data))
    predicted = pd.Series(clf.predict(graph.data), index=graph.ids)
    unknown = nodes.loc[nodes["cultivar"].isna(), "id"]
    right = (predicted[unknown] == truth[unknown]).mean()
    print(f"{right:.2f} of {len(unknown)} wines without a label are predicted right")


if __name__ == "__main__":
    main()
