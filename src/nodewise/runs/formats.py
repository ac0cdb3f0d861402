"""The files of a run as types: what `nodewise.checked` checks when they are read.

Records are JSON objects whose keys depend on model and recipe, and which go to tables as they are;
so they stay dictionaries, and these types say what can be relied on. `NotRequired` is what depends
on the graph or the recipe, or what earlier releases did not write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from nodewise.checked import Count, NotNegative, Positive, Share, checked, expect
from nodewise.training.curves import POINTS
from nodewise.training.metrics import METRICS, Metric

_BEST = ("accuracy", "loss", "epoch", "epoch_accuracy", "epoch_loss", "waited")


class VariationConfig(TypedDict):
    """The fields of a `Variation`."""

    node_order: NotRequired[Count]
    repeated_edges: NotRequired[Count]
    fill_empty_rows: NotRequired[bool]


class GraphConfig(TypedDict):
    """The table `graph` of `config.toml`."""

    nodes: Count
    features: Count
    classes: list[str]
    sha256: NotRequired[str]
    feature_names_sha256: NotRequired[str]
    weighted: NotRequired[bool]
    dataset: NotRequired[str]
    store: NotRequired[str]
    split: NotRequired[str]
    split_seed: NotRequired[Count]
    validation: NotRequired[Count]
    variation: NotRequired[VariationConfig]
    files: NotRequired[dict[str, str]]
    files_sha256: NotRequired[dict[str, str]]
    options: NotRequired[dict[str, Any]]


class RefitConfig(TypedDict):
    """The table `refit` of `config.toml`."""

    epochs: Count
    scores: dict[str, float]
    temperature: NotRequired[Positive]


class RunConfig(TypedDict):
    """The content of `config.toml`."""

    model: str
    recipe: str
    seed: Count
    split_sha256: str
    graph: GraphConfig
    settings: dict[str, Any]
    nodewise: NotRequired[str]
    results_version: NotRequired[Count]
    refit: NotRequired[RefitConfig]


class Result(TypedDict):
    """The content of `result.json`, beside the scores."""

    dataset: str | None
    model: str
    recipe: str
    seed: Count
    epochs: Count
    best_epoch: int
    seconds: NotNegative
    parameters: Count
    settings: dict[str, Any]
    interrupted: NotRequired[bool]
    temperature: NotRequired[Positive]
    refit_epochs: NotRequired[Count]
    intervals: NotRequired[dict[str, list[float]]]
    split_sha256: NotRequired[str]
    graph_sha256: NotRequired[str]
    logits_sha256: NotRequired[str]
    versions: NotRequired[dict[str, str]]


class HistoryLine(TypedDict):
    """A line of `history.jsonl`, beside the terms of the loss."""

    epoch: Count
    val_accuracy: NotRequired[float]
    val_score: NotRequired[float]
    val_loss: NotRequired[float]


class Checkpoint(TypedDict):
    """The numbers of a checkpoint."""

    epoch: Count
    seconds: NotNegative
    best: dict[str, str]
    random: RandomState
    files: NotRequired[dict[str, str]]


class RandomState(TypedDict):
    """The states of Python's and NumPy's random numbers."""

    python: tuple[Literal[3], list[Count], float | None]
    numpy: tuple[Literal["MT19937"], list[Count], int, int, float]


class ReliabilityBin(TypedDict):
    """Predictions of about the same confidence: how many, the sum of it, and how many are right."""

    count: NotNegative
    confidence: NotNegative
    right: NotNegative


class CurveNumbers(TypedDict):
    """A class against the rest."""

    # "class" is no name in Python.
    share: Share
    average_precision: Share
    precision: NotRequired[list[Share]]


class Curves(TypedDict):
    """The curves of classes."""

    classes: list[CurveNumbers]
    roc: NotRequired[dict[str, Any]]


class Unlabeled(TypedDict):
    """Predictions for nodes without a label."""

    count: Count
    ids: list[str | int]
    first: list[Count]
    first_p: list[Share]
    second: NotRequired[list[Count]]
    second_p: NotRequired[list[Share]]


class LocalizedNode(TypedDict):
    """How far a node's weight is from the global one."""

    id: str | int
    distance: NotNegative
    scale: NotNegative
    shift: NotNegative
    neighbors: Count
    label: str | None
    prediction: str


class Histogram(TypedDict):
    """Counts between edges."""

    counts: list[Count]
    edges: list[float]


# Local weights in the plane with the predicted class of each node, and the global one.
LocalMap = TypedDict(
    "LocalMap", {"nodes": list[tuple[float, float, Count]], "global": tuple[float, float]}
)


class Localization(TypedDict):
    """The most and the least localized nodes."""

    most: list[LocalizedNode]
    least: list[LocalizedNode]
    median: NotNegative
    histogram: Histogram
    map: NotRequired[LocalMap]


class Diagnostics(TypedDict):
    """The content of `diagnostics.json`."""

    classes: NotRequired[list[str]]
    train_accuracy: NotRequired[Share]
    part: NotRequired[Literal["test", "val"]]
    confusion: NotRequired[list[list[Count]]]
    reliability: NotRequired[list[ReliabilityBin]]
    curves: NotRequired[Curves]
    unlabeled: NotRequired[Unlabeled]
    localization: NotRequired[Localization]


class Control(TypedDict):
    """The scores of a control, or why it was skipped."""

    intervals: NotRequired[dict[str, list[float]]]
    seconds: NotRequired[NotNegative]
    skipped: NotRequired[str]


class Controls(TypedDict):
    """The content of `controls.json`."""

    majority: Control
    features_only: Control
    metric: NotRequired[Metric]


def check_result(content: object) -> dict[str, Any]:
    """The content of `result.json`, or of a record, checked.

    Raises:
        Mismatch: It is something else.
    """
    record: dict[str, Any] = dict(checked(Result, content))
    return _with_scores(record)


def check_controls(content: object) -> dict[str, Any]:
    """The content of `controls.json`, checked.

    Raises:
        Mismatch: It is something else.
    """
    found: dict[str, Any] = dict(checked(Controls, content))
    for name in ("majority", "features_only"):
        _with_scores(found[name], f"{name}.")
    checked(dict[str, str], {"class": found["majority"].get("class", "")}, "majority")
    return found


def check_line(content: object) -> dict[str, Any]:
    """A line of `history.jsonl`, checked.

    Raises:
        Mismatch: It is something else.
    """
    line: dict[str, Any] = dict(checked(HistoryLine, content))
    checked(dict[str, float], line)
    expect("val_accuracy" not in line or "val_loss" in line, "val_loss", "there", None)
    return line


def check_checkpoint(content: object) -> dict[str, Any]:
    """The numbers of a checkpoint, checked.

    Raises:
        Mismatch: They are something else.
    """
    found: dict[str, Any] = dict(checked(Checkpoint, content))
    for key in _BEST:
        text = found["best"].get(key, "")
        try:
            int(text) if key in ("epoch", "waited") else float(text)
        except ValueError:
            expect(False, f"best.{key}", "a number as text", text)
    return found


def check_diagnostics(content: object) -> dict[str, Any]:
    """The content of `diagnostics.json`, checked: also that lists have the lengths they need.

    Raises:
        Mismatch: It is something else.
    """
    found: dict[str, Any] = dict(checked(Diagnostics, content))
    if "part" in found:
        for key in ("classes", "confusion", "reliability"):
            expect(key in found, key, "there", None)
        _check_confusion(found)
    for part, check in (
        ("curves", _check_curves),
        ("unlabeled", _check_unlabeled),
        ("localization", _check_localization),
    ):
        if part in found:
            check(found[part], len(found.get("classes", ())))
    return found


def _check_confusion(found: Mapping[str, Any]) -> None:
    counts, classes = found["confusion"], len(found["classes"])
    square = len(counts) == classes and all(len(row) == classes for row in counts)
    expect(square, "confusion", f"{classes} rows of {classes} counts", len(counts))
    expect(len(found["reliability"]) == 10, "reliability", "10 bins", len(found["reliability"]))
    total = sum(entry["count"] for entry in found["reliability"])
    expect(total > 0, "reliability", "of one node at least", total)


def _check_curves(curves: Mapping[str, Any], classes: int) -> None:
    for entry in curves["classes"]:
        _check_class(entry.get("class"), classes, "curves.classes")
        if "precision" in entry:
            _check_length(entry["precision"], POINTS, "curves.classes.precision")
    if "roc" in curves:
        _check_class(curves["roc"].get("class"), classes, "curves.roc")
        shares = checked(list[Share], curves["roc"].get("true_shares"), "curves.roc.true_shares")
        _check_length(shares, POINTS + 1, "curves.roc.true_shares")


def _check_unlabeled(found: Mapping[str, Any], classes: int) -> None:
    for rank in ("first", "second"):
        expect((rank in found) == (f"{rank}_p" in found), f"unlabeled.{rank}_p", "beside it", None)
        if rank in found:
            for key in (rank, f"{rank}_p"):
                _check_length(found[key], len(found["ids"]), f"unlabeled.{key}")
            for number in found[rank]:
                _check_class(number, classes, f"unlabeled.{rank}")


def _check_localization(found: Mapping[str, Any], classes: int) -> None:
    histogram = found["histogram"]
    _check_length(histogram["edges"], len(histogram["counts"]) + 1, "localization.histogram.edges")


def _check_class(number: object, classes: int, place: str) -> None:
    right = type(number) is int and 0 <= number < classes
    expect(right, place, f"the number of one of {classes} classes", number)


def _check_length(values: list[Any], length: int, place: str) -> None:
    expect(len(values) == length, place, f"a list of {length}", len(values))


def _with_scores(record: dict[str, Any], place: str = "") -> dict[str, Any]:
    """The record, its scores checked: any metric of a part of the split."""
    for name, ends in record.get("intervals", {}).items():
        _check_length(ends, 2, f"{place}intervals.{name}")
    for key, value in record.items():
        part, _, name = key.partition("_")
        if part in ("test", "val") and name in _SCORES:
            checked(_SCORES[name], value, f"{place}{key}")
    return record


_SCORES: dict[str, Any] = {
    **dict.fromkeys((*METRICS, "micro_f", "calibration_error"), Share),
    "log_loss": NotNegative,
}
