"""`choice.json`: what `--recipe auto` chose, checked when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from nodewise.checked import Count, NotNegative, Positive, checked
from nodewise.io import read_json
from nodewise.training.metrics import Metric
from nodewise.training.recipe import check_settings

CHOICE = "choice.json"


class Entrant(TypedDict):
    """A candidate or a control."""

    name: str
    model: str
    settings: dict[str, Any]
    outcome: str
    val_score: float | None
    val_loss: NotRequired[float | None]
    epochs: Count
    seconds: NotNegative


class ChoiceRecord(TypedDict):
    """The content of `choice.json`; what earlier releases did not write is not required."""

    chosen: str
    model: str
    settings: dict[str, Any]
    seed: Count
    metric: Metric
    val_score: float
    budget: NotNegative
    seconds: NotNegative
    epochs: Count
    candidates: list[Entrant]
    controls: list[Entrant]
    sentences: list[str]
    stopped: NotRequired[bool]
    asked: NotRequired[str]
    val_scores: NotRequired[dict[str, float]]
    refit_epochs: NotRequired[Count | None]
    temperature: NotRequired[Positive | None]
    localization_gain: NotRequired[float | None]
    localization_gain_se: NotRequired[float | None]


def read_choice(folder: Path) -> dict[str, Any] | None:
    """The content of `choice.json` in a folder; None without such a file.

    Raises:
        RunError: The file was changed, or is something else.
    """
    path = folder / CHOICE
    way_out = "delete it: `nodewise train` chooses again, from what the candidates have learned"
    return read_json(path, _check, way_out) if path.exists() else None


def _check(content: object) -> dict[str, Any]:
    found: dict[str, Any] = dict(checked(ChoiceRecord, content))
    return {**found, "settings": check_settings(found["settings"], "settings")}
