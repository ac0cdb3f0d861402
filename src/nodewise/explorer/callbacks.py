"""The answers of the page when something is clicked, typed or chosen.

One callback turns address and controls into the state and back; all others draw from the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from dash import ALL, Dash, Input, Output, Patch, ctx, dcc, no_update
from dash import State as Given
from dash.exceptions import PreventUpdate

from nodewise.errors import NodewiseError
from nodewise.explorer import figures, layout, maps, panels, tables, words
from nodewise.explorer.explorer_data import ExplorerData, Numbers
from nodewise.explorer.state import SHOWN, State

# The controls, and the part of the state that each shows.
CONTROLS: Final = {
    "which": "map",
    "laid": "layout",
    "color": "color",
    "show": "show",
    "search": "node",
    "other": "other",
    "off": "off",
    "drop": "drop",
    "zero": "zero",
}
_AROUND: Final = {"type": "neighborhood", "place": ALL}


def register(app: Dash, explored: ExplorerData) -> None:
    """Add all callbacks to an application."""
    _keep_state(app, explored)
    _lay_out(app, explored)
    _draw_map(app, explored)
    _list_nodes(app, explored)
    _show_nodes(app, explored)
    _answer(app, explored)


def _keep_state(app: Dash, explored: ExplorerData) -> None:
    @app.callback(
        Output("state", "data"),
        Output("url", "search"),
        Output("message", "children"),
        Output("drop", "options"),
        Output("zero", "options"),
        Output("map", "clickData"),
        *(Output(control, "value") for control in CONTROLS),
        Input("url", "search"),
        Input("map", "clickData"),
        Input("picked", "data"),
        Input(_AROUND, "clickData"),
        *(Input(control, "value") for control in CONTROLS),
        Given("state", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def keep(query: str | None, click: Any, pick: Any, around: Any, *more: Any) -> Any:
        *values, before = more
        state = _changed(explored, State.parse(query), values, before)
        state, message = known(explored, explored.possible(state))
        removable = explored.removable(state.node) if state.node else ([], [])
        address = state.query()
        changed = no_update if address == (query or "") else address
        options = [list(dict.fromkeys(names)) for names in removable]
        return [address, changed, message, *options, None, *updates(shown(state), values)]


def _changed(explored: ExplorerData, here: State, values: list[Any], before: str | None) -> State:
    """The state after what the user did: the address itself, a click on a node, or a control."""
    trigger, value = ctx.triggered_id, ctx.triggered[0]["value"] if ctx.triggered else None
    if trigger is None or trigger == "url":
        return here if here.query() else explored.start
    state = of_controls(values)
    if isinstance(trigger, str) and trigger in CONTROLS:
        same = before is not None and State.parse(before).node == state.node
        return state if same else state.at(state.node)
    picked = picked_node(explored, trigger, value)
    if picked is None:
        raise PreventUpdate
    return state.at(picked)


def of_controls(values: Sequence[Any]) -> State:
    """The state that controls show."""
    given = dict(zip(CONTROLS.values(), values, strict=True))
    texts: dict[str, Any] = {key: str(value or "").strip() for key, value in given.items()}
    return State(**texts | {key: tuple(given[key] or ()) for key in ("off", "drop", "zero")})


def shown(state: State) -> list[Any]:
    """The values of the controls for a state."""
    values = (getattr(state, field) for field in CONTROLS.values())
    return [list(value) if isinstance(value, tuple) else value for value in values]


def updates(wanted: Sequence[Any], there: Sequence[Any]) -> list[Any]:
    """The values of controls that change: an answer must not undo what is being typed by then."""
    return [no_update if new == old else new for new, old in zip(wanted, there, strict=True)]


def picked_node(explored: ExplorerData, trigger: Any, value: Any) -> str | None:
    """The id of the node that was clicked; None where it was none, or a figure only appeared."""
    if not value:
        return None
    if trigger == "picked":
        return explored.ids[int(value[0])]
    found = value["points"][0].get("customdata")
    if found is None:
        return None
    return explored.ids[found] if trigger == "map" else str(found)


def known(explored: ExplorerData, state: State) -> tuple[State, str]:
    """The state without nodes that are not there, and a message that says so."""
    missing: dict[str, Any] = {}
    messages = []
    for field in ("node", "other"):
        try:
            if getattr(state, field):
                explored.number(getattr(state, field))
        except NodewiseError as error:
            messages.append(str(error))
            missing[field] = ""
    return replace(state, **missing), " ".join(messages)


def _lay_out(app: Dash, explored: ExplorerData) -> None:
    @app.callback(
        Output("progress", "children"),
        Output("tick", "disabled"),
        Output("stage", "data"),
        Input("state", "data"),
        Input("tick", "n_intervals"),
        Given("stage", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def lay_out(query: str | None, _: Any, before: int | None) -> Any:
        state = explored.possible(State.parse(query))
        if query is None or state.layout == "pca":
            return "", True, no_update if before is None else None
        progress = explored.background.progress(state.map)
        if (
            progress.stage == before and not progress.failed
        ):  # said again, it would be read aloud again
            return no_update, progress.ended, no_update
        return layout.progress(progress), progress.ended, progress.stage


def _draw_map(app: Dash, explored: ExplorerData) -> None:
    @app.callback(
        Output("map", "figure"),
        Output("map", "selectedData"),
        Output("sampled", "children"),
        Output("scene", "data"),
        Input("state", "data"),
        Input("stage", "data"),
        Given("scene", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def draw(query: str | None, stage: int | None, before: list[Any] | None) -> Any:
        if query is None:
            raise PreventUpdate
        state = explored.possible(State.parse(query))
        scene = [state.map, state.layout, stage or 0, state.color, state.show]
        if scene == before:
            raise PreventUpdate
        return maps.map_figure(explored, state), None, words.sampled(explored, state.show), scene

    @app.callback(
        Output("map", "figure", allow_duplicate=True),
        Input("drawn", "data"),
        Given("state", "data"),
        Given("scene", "data"),
        prevent_initial_call=True,
    )  # type: ignore[untyped-decorator, unused-ignore]
    def mark(_: list[str], query: str | None, scene: list[Any] | None) -> Any:
        """The rings, in the last trace: after the panels, since the whole map is drawn anew."""
        if scene is None:  # the map comes with its rings
            raise PreventUpdate
        patch = Patch()
        patch["data"][-1] = maps.chosen(explored, explored.possible(State.parse(query)))
        return patch


def _list_nodes(app: Dash, explored: ExplorerData) -> None:
    @app.callback(Output("table", "children"), Input("map", "selectedData"), Input("show", "value"))  # type: ignore[untyped-decorator, unused-ignore]
    def list_nodes(selected: Any, show: str) -> Any:
        numbers = listed(explored, show, selected)
        return tables.nodes(explored, numbers, _what(show, selected))

    @app.callback(
        Output("download", "data"),
        Input("csv", "n_clicks"),
        Given("map", "selectedData"),
        Given("show", "value"),
        prevent_initial_call=True,
    )  # type: ignore[untyped-decorator, unused-ignore]
    def save(_: Any, selected: Any, show: str) -> Any:
        rows = explored.frame.iloc[listed(explored, show, selected)]
        return dcc.send_string(rows.to_csv(index=False), "nodes.csv")


def listed(explored: ExplorerData, show: str, selected: Any) -> Numbers:
    """The nodes of the table: those in the lasso, else all of the filter."""
    numbers = explored.chosen(show)
    if not (selected or {}).get("points"):
        return numbers
    inside = [point.get("customdata") for point in selected["points"]]
    return numbers[np.isin(numbers, [node for node in inside if isinstance(node, int)])]


def _what(show: str, selected: Any) -> str:
    inside = " in the lasso" if (selected or {}).get("points") else ""
    return SHOWN[show].removeprefix("all ") + inside


def _show_nodes(app: Dash, explored: ExplorerData) -> None:
    @app.callback(
        Output("node", "children"),
        Output("drawn", "data"),
        Input("state", "data"),
        Given("drawn", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def show(query: str | None, drawn: list[str] | None) -> Any:
        state = State.parse(query)
        chosen = [state.node, state.other]
        if chosen == drawn:
            raise PreventUpdate
        places = zip(chosen, ("node", "other"), strict=True)
        return [panels.panel(explored, id, place) for id, place in places if id], chosen


def _answer(app: Dash, explored: ExplorerData) -> None:
    @app.callback(
        Output("what-if", "hidden"),
        Output("answer", "children"),
        Output("after", "figure"),
        Input("state", "data"),
    )  # type: ignore[untyped-decorator, unused-ignore]
    def answer(query: str | None) -> Any:
        state = State.parse(query)
        if not state.node:
            return True, "", {}
        try:
            found = explored.what_if(state)
        except NodewiseError as error:
            return False, str(error), no_update
        return False, in_words(found), figures.before_and_after(found)


def in_words(found: Any) -> str:
    """The answer to a what-if as a sentence."""
    verb = "would become" if found.changed else "stays"
    both = (found.probabilities_after, found.probabilities_before)
    after, before = (f"{chances[found.after]:.3f}" for chances in both)
    than = "" if after == before else f", as it is {before}"
    return f"The prediction of {found.id} {verb} {found.after} (probability {after}{than})."
