"""What a browser sends to the page's server when something changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def body_of(
    known: Sequence[Mapping[str, Any]],
    output: str,
    inputs: Mapping[str, Any],
    clicked: tuple[dict[str, Any], Any] | None = None,
) -> dict[str, Any]:
    """The body of a request to the callback that has an output.

    Args:
        known: What `/_dash-dependencies` says.
        output: A part of the callback's outputs.
        inputs: Values of inputs by their ids.
        clicked: A composed id and its value, which is reported instead of that of the inputs.
    """
    callback = next(each for each in known if output in each["output"])
    outputs = [
        dict(zip(("id", "property"), part.rsplit(".", 1), strict=True))
        for part in callback["output"].strip(".").split("...")
    ]
    changed = [f"{key}.data" for key in inputs]
    if clicked is not None:
        changed = [_composed(*clicked)]
    return {
        "output": callback["output"],
        "outputs": outputs if callback["output"].startswith("..") else outputs[0],
        "inputs": [_filled(place, inputs, clicked) for place in callback["inputs"]],
        "state": [_filled(place, inputs, clicked) for place in callback["state"]],
        "changedPropIds": changed,
    }


def _composed(id: dict[str, Any], value: Any) -> str:
    name = json.dumps(id, sort_keys=True, separators=(",", ":"))
    return f"{name}.{'n_clicks' if isinstance(value, int) else 'clickData'}"


def _filled(place: Any, inputs: Mapping[str, Any], clicked: Any) -> Any:
    """A place of the callback with its value; a composed id has a list of all that are there."""
    if not place["id"].startswith("{"):
        return {**place, "value": inputs.get(place["id"])}
    if clicked is None or json.loads(place["id"]).keys() != clicked[0].keys():
        return []
    return [{"id": clicked[0], "property": place["property"], "value": clicked[1]}]
