"""Figure II: nodes and their weights in the plane, from the record that keeps their points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.experiments.suite import Suite
from nodewise.experiments.table import Key, Line
from nodewise.experiments.tsne import read_tsne
from nodewise.report.suite_sections.section import MISSING, Row, Section, Table, TableCell
from nodewise.report.suite_sections.tsne_plot import layouts

Record = Mapping[str, Any]


def tsne_section(results: Path, suite: Suite) -> Section:
    """Silhouettes of classes, distances of weights, and a picture."""
    lines, refused = read_tsne(results, suite.datasets)
    records = [line.record for line in lines.values()]
    return Section(
        suite,
        len(lines),
        len(suite.datasets),
        [_silhouettes(suite, lines), _weights(suite, lines)],
        "The silhouette of a class says how much nearer its nodes are to each other than to the "
        "next class, from -1 to 1, in the representations themselves and not in the picture. "
        "Distances of weights are in units of the length of W.",
        layouts(records[0]) if records else None,
        "A mark is a node, its color and shape the class. Left and middle: outputs of the hidden "
        "layer; right: W_v of all nodes, the star is the global W. t-SNE keeps neighbors, not "
        "distances or sizes.",
        {record["dataset"]: _without_points(record) for record in records},
        refused,
    )


def _silhouettes(suite: Suite, lines: Mapping[Key, Line]) -> Table:
    rows: list[Row] = []
    for dataset in suite.datasets:
        line = lines.get((dataset,))
        if line is None:
            rows.append((f"{dataset}: all classes", [MISSING] * len(suite.models)))
            continue
        for name, values in _by_class(line.record, suite.models):
            rows.append((f"{dataset}: {name}", [_from(line, f"{value:.3f}") for value in values]))
    return Table(("silhouette", *suite.models), rows)


def _by_class(record: Record, models: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
    """Each model's silhouette: of all classes, then of each."""
    of_models = [record["representations"][model] for model in models]
    yield "all classes", [of_model["silhouette"] for of_model in of_models]
    for k, name in enumerate(record["classes"]):
        yield name.replace("_", " "), [of_model["silhouette_by_class"][k] for of_model in of_models]


def _from(line: Line, text: str) -> TableCell:
    return TableCell(text, [line], 1, 1, "records")


_DISTANCES = {
    "distance_median": "of W_v from W, median",
    "distance_highest": "of W_v from W, highest",
    "spread": "of W_v from their middle, root mean square",
    "from_middle": "of W from their middle",
}


def _weights(suite: Suite, lines: Mapping[Key, Line]) -> Table:
    found = [lines.get((dataset,)) for dataset in suite.datasets]
    rows = [(title, [_distance(line, key) for line in found]) for key, title in _DISTANCES.items()]
    return Table(("distance", *suite.datasets), rows)


def _distance(line: Line | None, key: str) -> TableCell:
    return MISSING if line is None else _from(line, f"{line.record['weights'][key]:.2g}")


def _without_points(record: Record) -> dict[str, Any]:
    shown = {
        model: {key: value for key, value in of_model.items() if key != "points"}
        for model, of_model in record["representations"].items()
    }
    weights = {key: value for key, value in record["weights"].items() if key != "points"}
    return {"representations": shown, "weights": weights}
