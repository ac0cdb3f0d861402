"""Node-wise localized graph neural networks.

Names are imported on first use (PEP 562), so that `import nodewise` and `nodewise --help` stay
fast: torch alone takes two seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nodewise._version import __version__

if TYPE_CHECKING:
    from nodewise.data.datasets import load_dataset as load_dataset
    from nodewise.data.splits import Split as Split
    from nodewise.data.splits import random_split as random_split
    from nodewise.data.toy import toy_graph as toy_graph
    from nodewise.estimator import NodeClassifier as NodeClassifier
    from nodewise.models.classifier import LGAT as LGAT
    from nodewise.models.classifier import LGCN as LGCN
    from nodewise.models.classifier import LGIN as LGIN
    from nodewise.models.zoo import build_model as build_model
    from nodewise.nn.localize import localize as localize
    from nodewise.nn.localized_conv import LocalizedConv as LocalizedConv
    from nodewise.nn.penalty import Penalty as Penalty
    from nodewise.ops.dispatch import use_kernel as use_kernel

_HOME = {
    "LGAT": "nodewise.models.classifier",
    "LGCN": "nodewise.models.classifier",
    "LGIN": "nodewise.models.classifier",
    "LocalizedConv": "nodewise.nn.localized_conv",
    "NodeClassifier": "nodewise.estimator",
    "Penalty": "nodewise.nn.penalty",
    "Split": "nodewise.data.splits",
    "build_model": "nodewise.models.zoo",
    "load_dataset": "nodewise.data.datasets",
    "localize": "nodewise.nn.localize",
    "random_split": "nodewise.data.splits",
    "toy_graph": "nodewise.data.toy",
    "use_kernel": "nodewise.ops.dispatch",
}

__all__ = [
    "LGAT",
    "LGCN",
    "LGIN",
    "LocalizedConv",
    "NodeClassifier",
    "Penalty",
    "Split",
    "__version__",
    "build_model",
    "load_dataset",
    "localize",
    "random_split",
    "toy_graph",
    "use_kernel",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nodewise' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
