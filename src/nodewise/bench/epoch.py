"""`nodewise bench epoch`: a training epoch of LGCN-8 against GCN-8, PyG's and our own.

PyG's GCN as people run it: dense features, cached normalization, full graph. Nearly all of its time
is dropout on the dense feature matrix, so our own GCN on sparse features and receptive fields, the
same program as LGCN with localization off, is measured beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy, dropout, elu
from torch_geometric.nn import GCNConv

from nodewise.bench.messages import unit_rows
from nodewise.bench.timing import side_by_side
from nodewise.data.datasets import load_dataset
from nodewise.models.classifier import LGCN, Classifier
from nodewise.nn.penalty import Penalty
from nodewise.ops.rows import Features, SparseRows

HIDDEN = 8
# The released program's forms: biases, dropout everywhere, a sum as context, ELU on logits.
OFFICIAL: dict[str, Any] = {
    "context": "sum",
    "bias": True,
    "message_bias": True,
    "weight_dropout": 0.4,
    "message_dropout": 0.4,
    "output_act": elu,
    "weight_init": "truncated_he",
}


class PygGCN(Module):
    """Two of PyG's GCN layers with dropout in front of each."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, HIDDEN, cached=True)
        self.second = GCNConv(HIDDEN, out_channels, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits of all nodes."""
        x = elu(self.first(dropout(x, 0.6, self.training), edge_index))
        logits: Tensor = self.second(dropout(x, 0.6, self.training), edge_index)
        return logits


def _pyg_epoch(model: PygGCN, optimizer: torch.optim.Optimizer, data: Any) -> None:
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()  # type: ignore[no-untyped-call]
    optimizer.step()


class Fit:
    """A model of ours on the receptive fields of its training and validation nodes."""

    def __init__(self, model: Classifier, data: Any, x: Features, penalty: Penalty) -> None:
        self.model, self.penalty = model, penalty
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.005, foreach=True)
        self.penalized = list(model.global_parameters()), list(model.local_parameters())
        self.parts = {}
        for name in ("train_mask", "val_mask"):
            nodes = data[name].nonzero().view(-1)
            field = model.receptive_field(data.edge_index, data.num_nodes, nodes)
            self.parts[name] = (field.take(x), field, data.y[nodes])

    def _loss(self, part: str) -> Tensor:
        x, field, y = self.parts[part]
        out, made = self.model(x, field, return_modulations=True)
        terms = self.penalty(*self.penalized, made)
        return cross_entropy(out, y) + torch.stack(terms).sum()

    def epoch(self) -> None:
        """One training step."""
        self.model.train()
        self.optimizer.zero_grad()
        self._loss("train_mask").backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def epoch_and_validation(self) -> None:
        """One training step, and the loss of the validation nodes without dropout."""
        self.epoch()
        self.model.eval()
        with torch.no_grad():
            self._loss("val_mask")


def bench_epoch(
    dataset: str,
    root: str | Path | None = None,
    repeats: int = 25,
    progress: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command."""
    data = load_dataset(dataset, root)
    data.x = unit_rows(data.x)
    sizes = (data.num_features, HIDDEN, int(data.y.max()) + 1)
    x = SparseRows.from_dense(data.x)
    torch.manual_seed(0)
    off: dict[str, Any] = {"node_level": False, "edge_level": False}
    official = Penalty(modulation_mean="tensor", half_norms=True)
    pyg = PygGCN(data.num_features, sizes[2])
    adam = torch.optim.Adam(pyg.parameters(), lr=0.005, weight_decay=5e-4)
    progress("LGCN-8, PyG's GCN-8, our GCN-8 and the official step, taking turns")
    times = side_by_side(
        {
            "lgcn": Fit(LGCN(*sizes), data, x, Penalty()).epoch,
            "pyg": partial(_pyg_epoch, pyg, adam, data),
            "gcn": Fit(LGCN(*sizes, dropout=0.6, **off), data, x, Penalty()).epoch,
            "official": Fit(LGCN(*sizes, **OFFICIAL), data, x, official).epoch_and_validation,
        },
        repeats,
    )
    return {
        "dataset": dataset,
        "threads": torch.get_num_threads(),
        "lgcn_s": times["lgcn"],
        "pyg_gcn_s": times["pyg"],
        "ratio_vs_pyg_gcn": times["lgcn"] / times["pyg"],
        "our_gcn_s": times["gcn"],
        "ratio_vs_our_gcn": times["lgcn"] / times["gcn"],
        "official_step_s": times["official"],
    }
