"""Node-wise localized graph neural networks.

Names are imported on first use (PEP 562), so that `import nodewise` and `nodewise --help` stay
fast: torch alone takes two seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nodewise._version import __version__

if TYPE_CHECKING:
    from nodewise.analysis.view import analyze as analyze
    from nodewise.data.datasets import load_dataset as load_dataset
    from nodewise.data.graph import GraphTable as GraphTable
    from nodewise.data.options import ReadOptions as ReadOptions
    from nodewise.data.read_graph import from_pandas as from_pandas
    from nodewise.data.read_graph import read_graph as read_graph
    from nodewise.data.sources.networkx_graph import from_networkx as from_networkx
    from nodewise.data.splits.drawn import random_split as random_split
    from nodewise.data.splits.drawn import stratified_split as stratified_split
    from nodewise.data.splits.split import Split as Split
    from nodewise.data.tables.preprocessing import Preprocessing as Preprocessing
    from nodewise.data.toy import toy_graph as toy_graph
    from nodewise.data.writers.write_graph import write_graph as write_graph
    from nodewise.estimator import NodeClassifier as NodeClassifier
    from nodewise.models.classifier import LGAT as LGAT
    from nodewise.models.classifier import LGCN as LGCN
    from nodewise.models.classifier import LGIN as LGIN
    from nodewise.models.zoo import build_model as build_model
    from nodewise.nn.localize import localize as localize
    from nodewise.nn.localized_conv import LocalizedConv as LocalizedConv
    from nodewise.nn.penalty import Penalty as Penalty
    from nodewise.ops.dispatch import use_kernel as use_kernel
    from nodewise.runs.saved import SavedRun as SavedRun
    from nodewise.runs.saved import load_run as load_run
    from nodewise.training.recipe import Recipe as Recipe
    from nodewise.training.recipe import load_recipe as load_recipe
    from nodewise.workflow import train as train

_HOME = {
    "GraphTable": "nodewise.data.graph",
    "LGAT": "nodewise.models.classifier",
    "LGCN": "nodewise.models.classifier",
    "LGIN": "nodewise.models.classifier",
    "LocalizedConv": "nodewise.nn.localized_conv",
    "NodeClassifier": "nodewise.estimator",
    "Penalty": "nodewise.nn.penalty",
    "Preprocessing": "nodewise.data.tables.preprocessing",
    "ReadOptions": "nodewise.data.options",
    "Recipe": "nodewise.training.recipe",
    "SavedRun": "nodewise.runs.saved",
    "Split": "nodewise.data.splits.split",
    "analyze": "nodewise.analysis.view",
    "build_model": "nodewise.models.zoo",
    "from_networkx": "nodewise.data.sources.networkx_graph",
    "from_pandas": "nodewise.data.read_graph",
    "load_dataset": "nodewise.data.datasets",
    "load_recipe": "nodewise.training.recipe",
    "load_run": "nodewise.runs.saved",
    "localize": "nodewise.nn.localize",
    "random_split": "nodewise.data.splits.drawn",
    "read_graph": "nodewise.data.read_graph",
    "stratified_split": "nodewise.data.splits.drawn",
    "toy_graph": "nodewise.data.toy",
    "train": "nodewise.workflow",
    "use_kernel": "nodewise.ops.dispatch",
    "write_graph": "nodewise.data.writers.write_graph",
}

__all__ = [
    "LGAT",
    "LGCN",
    "LGIN",
    "GraphTable",
    "LocalizedConv",
    "NodeClassifier",
    "Penalty",
    "Preprocessing",
    "ReadOptions",
    "Recipe",
    "SavedRun",
    "Split",
    "__version__",
    "analyze",
    "build_model",
    "from_networkx",
    "from_pandas",
    "load_dataset",
    "load_recipe",
    "load_run",
    "localize",
    "random_split",
    "read_graph",
    "stratified_split",
    "toy_graph",
    "train",
    "use_kernel",
    "write_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nodewise' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
