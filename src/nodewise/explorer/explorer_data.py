"""A view as the page needs it: a table of nodes with places on maps, and a sample to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nodewise.analysis.node import NodeAnalysis
from nodewise.analysis.view import View
from nodewise.analysis.what_if import WhatIf
from nodewise.explorer.background import Background
from nodewise.explorer.palette import plain
from nodewise.explorer.state import COLORINGS, MAPS, State

if TYPE_CHECKING:
    import pandas as pd

LIMIT: Final = 20_000  # nodes that a map draws
KEPT: Final = 128  # nodes that are shown again without being computed again
AXES: Final = 50  # principal ones, that t-SNE starts from
EFFECTS: Final = ("corrected", "spoiled", "right either way", "wrong either way", "no label")
Numbers = NDArray[np.int64]


class ExplorerData:
    """A view, its tables computed once; one thread at a time looks into the model.

    Args:
        view: The view.
        limit: How many nodes a map draws; of more, a sample.

    Raises:
        InputError: The model has no layers to look into.
    """

    def __init__(self, view: View, limit: int = LIMIT) -> None:
        self.view, self.limit, self._lock = view, limit, RLock()
        self._node = lru_cache(KEPT)(view.node)
        self.ids = [str(name) for name in view.subject.ids]
        self.known = frozenset(self.ids)
        self.classes = list(view.subject.class_names)
        self.frame = self._frame(view)
        self._principal = self._places(view)
        self.background = Background(self._rows)
        self.hover = [plain(f"{row.id}: {row.prediction}") for row in self.frame.itertuples()]

    @staticmethod
    def _frame(view: View) -> pd.DataFrame:
        frame, (corrected, spoiled) = view.to_frame(), view.predictions.changed()
        right = frame["correct"].fillna(False).to_numpy(bool)
        cases = [frame["correct"].isna().to_numpy(), corrected, spoiled, right]
        frame["effect"] = np.select(cases, [EFFECTS[i] for i in (4, 0, 1, 2)], EFFECTS[3])
        return frame

    @staticmethod
    def _places(view: View) -> dict[str, NDArray[np.float64]]:
        table = view.map()
        places = {"hidden": table[["x", "y"]].to_numpy()}
        if "node" in view.levels:
            of_local = table[["local_x", "local_y"]].to_numpy()
            places = {"local": np.vstack([of_local, view.global_on_map()]), **places}
        return places

    def _rows(self, key: str) -> tuple[NDArray[np.float64], Numbers]:
        """The input of t-SNE: the rows of a map, and the numbers of those that are drawn.

        The global model is the last row on the map of local weights.
        """
        with self._lock:
            rows = self.view.principal(key, AXES)
        more = np.arange(len(self.ids), len(rows))
        return rows, np.concatenate([self.drawn("all"), more])

    def places(self, state: State) -> NDArray[np.float64]:
        """The places of all nodes; on the map of local weights, the global model's comes last.

        Before the first layout of t-SNE they are those on the principal axes.
        """
        points = self.background.points(state.map) if state.layout == "tsne" else None
        return self._principal[state.map] if points is None else points

    @property
    def maps(self) -> dict[str, str]:
        """The maps that there are, with their names."""
        return {key: name for key, name in MAPS.items() if key in self._principal}

    @property
    def colorings(self) -> dict[str, str]:
        """The quantities that can color nodes, with names."""
        return {k: name for k, name in COLORINGS.items() if k != "distance" or "local" in self.maps}

    @property
    def start(self) -> State:
        """The state that is shown first."""
        return State(map=next(iter(self.maps)))

    def possible(self, state: State) -> State:
        """The state, with another map or coloring where the model does not have these."""
        color = state.color if state.color in self.colorings else self.start.color
        return replace(state, map=state.map if state.map in self.maps else "hidden", color=color)

    def chosen(self, show: str) -> Numbers:
        """The numbers of all nodes of a filter, the most localized first."""
        kept = np.arange(len(self.ids))
        if show != "all":
            kept = kept[(self.frame["effect"] == show).to_numpy()]
        strength = self.frame["distance"].fillna(0).to_numpy()[kept]
        return np.asarray(kept[np.argsort(-strength, kind="stable")])

    def drawn(self, show: str) -> Numbers:
        """The numbers of the nodes that a map draws: those of a filter, or a sample of them."""
        kept = np.sort(self.chosen(show))
        if len(kept) > self.limit:
            kept = np.sort(np.random.default_rng(0).choice(kept, self.limit, replace=False))
        return kept

    def by_class(self, numbers: Numbers) -> list[list[str]]:
        """Cells about each class of some nodes; nodes without a label come last.

        How many there are, the shares predicted right with and without localization, and the mean
        strength.
        """
        frame = self.frame.iloc[numbers]
        groups = [(name, frame[frame["label"] == name]) for name in self.classes]
        groups.append(("no label", frame[frame["label"].isna()]))
        return [_of_class(name, rows) for name, rows in groups if len(rows)]

    def number(self, id: str) -> int:
        """The number of a node.

        Raises:
            InputError: There is none with this id.
        """
        return self.view.subject.number_of(id)

    def node(self, id: str) -> NodeAnalysis:
        """What localization did to a node."""
        with self._lock:
            return self._node(id)

    def what_if(self, state: State) -> WhatIf:
        """The prediction of the state's node, with what the state takes away."""
        kept = [level for level in self.view.levels if level not in state.off]
        with self._lock:
            return self.view.what_if(
                state.node, drop_edges=state.drop, zero_features=state.zero, levels=kept
            )

    def removable(self, id: str) -> tuple[list[str], list[str]]:
        """The neighbors of a node, and its features: what a what-if can take away.

        Args:
            id: The node's id.
        """
        node, (source, target) = self.number(id), self.view.subject.edge_index.cpu().numpy()
        others = np.unique(np.concatenate([source[target == node], target[source == node]]))
        return [self.ids[i] for i in others if i != node], self.view.features_of(id)

    def rows(self, numbers: Sequence[int] | Numbers, columns: Mapping[str, str]) -> list[list[Any]]:
        """Cells of the table for some nodes, as text, with the node's number first."""
        found = self.frame.iloc[list(numbers)]
        texts = [[_cell(value) for value in found[column]] for column in columns]
        return [[int(n), *row] for n, *row in zip(numbers, *texts, strict=True)]


def _of_class(name: str, rows: pd.DataFrame) -> list[str]:
    known = rows["label"].notna().all()
    right = (rows["correct"], rows["without_global"] == rows["label"])
    shares = [f"{each.mean():.1%}" if known else "-" for each in right]
    return [name, f"{len(rows):,}", *shares, _cell(float(rows["distance"].mean()))]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
