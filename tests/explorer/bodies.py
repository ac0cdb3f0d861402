"""What a browser sends to the page's server when something changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def body_of(
    known: Sequence[Mapping[str, Any]],
    output: str,
    inputs: Mapping[str, Any],
    clicked: tuple[Any, Any] | None = None,
) -> dict[str, Any]:
    """The body of a request to the callback that has an output.

    Args:
        known: What `/_dash-dependencies` says.
        output: A part of the callback's outputs.
        inputs: Values of inputs by their ids.
        clicked: The id of a store, or the composed one of a figure, and its value: reported
            instead of those of the inputs.
    """
    callback = next(each for each in known if output in each["output"])
    outputs = [
        dict(zip(("id", "property"), part.rsplit(".", 1), strict=True))
        for part in callback["output"].strip(".").split("...")
    ]
    changed = [f"{key}.data" for key in inputs]
    if clicked is not None:
        changed = [_changed(clicked[0])]
    return {
        "output": callback["output"],
        "outputs": outputs if callback["output"].startswith("..") else outputs[0],
        "inputs": [_filled(place, inputs, clicked) for place in callback["inputs"]],
        "state": [_filled(place, inputs, clicked) for place in callback["state"]],
        "changedPropIds": changed,
    }


def _changed(id: Any) -> str:
    if isinstance(id, str):
        return f"{id}.data"
    return f"{json.dumps(id, sort_keys=True, separators=(',', ':'))}.clickData"


def _filled(place: Any, inputs: Mapping[str, Any], clicked: Any) -> Any:
    """A place of the callback with its value; a composed id has a list of all that are there."""
    if not place["id"].startswith("{"):
        given = (
            {**inputs, clicked[0]: clicked[1]}
            if clicked and isinstance(clicked[0], str)
            else inputs
        )
        return {**place, "value": given.get(place["id"])}
    if clicked is None or isinstance(clicked[0], str):
        return []
    return [{"id": clicked[0], "property": place["property"], "value": clicked[1]}]
