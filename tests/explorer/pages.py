"""Small graphs to show, with names that a careless page would run as scripts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from nodewise.analysis.predictions import Predictions
from nodewise.analysis.view import View
from nodewise.data.toy import toy_graph
from nodewise.explorer.explorer_data import ExplorerData
from tests.analysis.subjects import random_view

SCRIPT = "<script>alert(1)</script>"


def named_view(model: str = "LGCN", **settings: Any) -> View:
    """A view of random weights on 60 papers; ids, classes and features have scripts for names."""
    data = toy_graph(60)
    view = random_view(model, data, **settings)
    names = [f"{SCRIPT}{i}" for i in range(3)]
    features = [f"</script><b>{name}" for name in data.feature_names]
    ids = [f"{SCRIPT}p{i}" for i in range(60)]
    view.subject = replace(view.subject, ids=ids, class_names=names, feature_names=features)
    view.predictions = Predictions(view.subject)
    return view


@cache
def small(model: str = "LGCN", limit: int = 20_000, **settings: Any) -> ExplorerData:
    """A random model on a small graph, whose ids are numbers."""
    return ExplorerData(random_view(model, toy_graph(60), **settings), limit)
