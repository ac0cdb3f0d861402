"""`nodewise bench epoch`: a training epoch of our models against PyG's on dense features.

LGCN-8 is measured against GCN-8, PyG's and our own; the strong SAGE of the recipe `nodewise`, which
has linear ends and norms around its two layers, against two of PyG's SAGE layers of the same width.

PyG's GCN has dense features, cached normalization and the full graph. Most of its time may be
dropout on the dense feature matrix, which is timed, too. So our GCN is measured as well, which
works on sparse features and on the receptive field of the training nodes, as LGCN does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy, dropout, elu
from torch_geometric.nn import GCNConv

from nodewise.bench.timing import side_by_side
from nodewise.data.graph import GraphTable
from nodewise.models import classifier
from nodewise.models.baselines.pyg import PygSAGE
from nodewise.models.receptive_field import ReceptiveField
from nodewise.nn.base_conv import BaseConv
from nodewise.ops import registered
from nodewise.ops.sparse import SparseRows
from nodewise.runs.sources import dataset_source, load_source, make_task
from nodewise.training.engines.base import Engine
from nodewise.training.recipe import load_recipe

HIDDEN = 8
DROPOUT = 0.6
# Where a model checks its arguments, besides its ops.
_CHECKS = (
    (SparseRows, "__post_init__"),
    (ReceptiveField, "check_rows"),
    (BaseConv, "_check"),
    (BaseConv, "_check_block"),
    (classifier, "check_precision"),
)


class CachedGCN(Module):
    """Two of PyG's GCN layers that cache their normalization, with dropout in front of each."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, HIDDEN, cached=True)
        self.second = GCNConv(HIDDEN, out_channels, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of all nodes."""
        x = elu(self.first(dropout(x, DROPOUT, self.training), edge_index))
        logits: Tensor = self.second(dropout(x, DROPOUT, self.training), edge_index)
        return logits


def _pyg_step(
    make: Callable[[int, int], Module], data: Any, learning_rate: float
) -> Callable[[], None]:
    """An epoch of a model of PyG's on the full graph, as a function."""
    torch.manual_seed(0)
    model = make(data.num_features, int(data.y.max()) + 1)
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=5e-4)
    return partial(_pyg_epoch, model, adam, data)


def _pyg_epoch(model: Module, optimizer: torch.optim.Optimizer, data: Any) -> None:
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _step_and_validation(engine: Engine) -> None:
    engine.step()
    engine.validate()


def _check_share(step: Callable[[], object], repeats: int) -> float:
    """The median share of a step's time that checks of sizes and indices take."""
    clock, spent, shares = time.perf_counter, 0.0, []

    def timed(check: Callable[..., None]) -> Callable[..., None]:
        def wrapped(*args: Any) -> None:
            nonlocal spent
            start = clock()
            check(*args)
            spent += clock() - start

        return wrapped

    ops = (registered.messages, registered.squares, registered.modulate_edges, registered.sum_runs)
    checks = [*((op, "check") for op in ops), *_CHECKS]
    with ExitStack() as stack:
        for owner, name in checks:
            stack.enter_context(patch.object(owner, name, timed(getattr(owner, name))))
        for _ in range(repeats):
            spent, start = 0.0, clock()
            step()
            shares.append(spent / (clock() - start))
    return median(shares)


def bench_epoch(
    dataset: str,
    root: str | Path | None = None,
    repeats: int = 25,
    progress: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command."""
    graph = load_source(dataset_source(dataset), root)
    dense = graph.data.clone().update({"x": graph.data.x.to_dense()})
    progress("LGCN-8, PyG's GCN-8 and our GCN-8, taking turns")
    engine = partial(_engine, graph)
    lgcn = engine("LGCN", "paper").step
    times = side_by_side(
        {
            "lgcn": lgcn,
            "pyg": _pyg_step(CachedGCN, dense, 0.005),
            "dropout": partial(dropout, dense.x, DROPOUT),
            "gcn": engine("GCN", "paper").step,
        },
        repeats,
    )
    progress("LGAT and LGIN, taking turns")
    others = side_by_side({name: engine(name, "paper").step for name in ("LGAT", "LGIN")}, repeats)
    progress("our SAGE-64 and PyG's, taking turns")
    sage = side_by_side(
        {"ours": engine("SAGE", "nodewise").step, "pyg": _pyg_step(PygSAGE, dense, 0.01)}, repeats
    )
    progress("the official step and its validation, one after the other, as a run takes them")
    step = partial(_step_and_validation, engine("LGCN", "official"))
    official = side_by_side({"official": step}, repeats)["official"]
    return {
        "dataset": dataset,
        "threads": torch.get_num_threads(),
        "lgcn_s": times["lgcn"],
        "pyg_gcn_s": times["pyg"],
        "pyg_gcn_input_dropout_share": times["dropout"] / times["pyg"],
        "ratio_vs_pyg_gcn": times["lgcn"] / times["pyg"],
        "checks_share": _check_share(lgcn, repeats),
        "our_gcn_s": times["gcn"],
        "ratio_vs_our_gcn": times["lgcn"] / times["gcn"],
        "lgat_s": others["LGAT"],
        "lgin_s": others["LGIN"],
        "sage_s": sage["ours"],
        "pyg_sage_s": sage["pyg"],
        "ratio_vs_pyg_sage": sage["ours"] / sage["pyg"],
        "official_step_s": official,
    }


def _engine(graph: GraphTable, model: str, recipe: str) -> Engine:
    """The task that `nodewise train` would make."""
    return make_task(graph, model, load_recipe(recipe, model, graph.source["dataset"])).engine()
