"""The configuration of plotly's figures: the buttons in their corner."""

from __future__ import annotations

from typing import Any, Final

_SHARED: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "toImageButtonOptions": {"format": "png", "scale": 2, "filename": "nodewise"},
}
# Buttons are named, since one of the default ones sends the figure to a server of plotly's.
_SELECT = ["zoom2d", "pan2d", "select2d", "lasso2d"]
_ZOOM = ["zoomIn2d", "zoomOut2d", "resetScale2d"]
BUTTONS: Final = {**_SHARED, "modeBarButtons": [["toImage"]]}
MAP_BUTTONS: Final = {
    **_SHARED,
    "modeBarButtons": [_SELECT, _ZOOM, ["toImage"]],
    "displayModeBar": True,
    "scrollZoom": True,
}
