"""A run's page, or that of several: scores, confusion, calibration, learning, localization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from nodewise._version import __version__
from nodewise.io import writing
from nodewise.report.diagnostic_plots import (
    confusion_matrix,
    localization_histogram,
    loss_curves,
    reliability_diagram,
)
from nodewise.report.page import Page
from nodewise.report.plots import learning_curves
from nodewise.report.selection import add_selection
from nodewise.report.style import to_svg
from nodewise.runs.folder import RunFolder
from nodewise.runs.seeds import summarize
from nodewise.training.metrics import calibration_error, record_score

REPORT = "report.html"
_PARTS = {"test": "test", "val": "validation"}
_SCORES = {
    "test_accuracy": "test accuracy, %",
    "test_micro_f": "micro-F, %",
    "test_macro_f": "macro-F, %",
    "val_accuracy": "validation accuracy, %",
}


@dataclass(frozen=True)
class RunRecords:
    """The files of a finished run: configuration, result, history, diagnostics."""

    config: Mapping[str, Any]
    result: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    diagnostics: Mapping[str, Any] | None

    @classmethod
    def of(cls, folder: Path) -> RunRecords:
        """Read a run's folder."""
        run = RunFolder(folder)
        return cls(run.config, run.result or {}, run.history, run.diagnostics)


def write_report(path: Path, folders: Sequence[Path]) -> None:
    """Write the page of some runs of one model on one graph.

    Args:
        path: Where to.
        folders: The runs, finished.

    Raises:
        RunError: A record cannot be read, or the page not written.
    """
    runs = [RunRecords.of(folder) for folder in folders]
    config = runs[0].config
    page = Page(f"{config['model']} on {_graph_name(config['graph'])}")
    _scores(page, runs)
    add_selection(page, path.parent)
    diagnostics = [run.diagnostics for run in runs if run.diagnostics is not None]
    if diagnostics:
        _confusion(page, diagnostics)
        _calibration(page, diagnostics)
    _learning(page, runs)
    best = max(runs, key=lambda run: record_score(run.result))
    _localization(page, best, len(runs))
    with writing(path):
        page.write(path, f"nodewise {__version__}; every number is read from the runs' records.")


def _graph_name(graph: Mapping[str, Any]) -> str:
    files = graph.get("files", {})
    return str(graph.get("dataset") or " and ".join(files.values()) or "a graph")


def _scores(page: Page, runs: Sequence[RunRecords]) -> None:
    graph, settings = runs[0].config["graph"], runs[0].config["settings"]
    page.paragraph(
        f"{graph['nodes']:,} nodes, {graph['features']:,} features, {len(graph['classes'])} "
        f"classes; recipe {runs[0].config['recipe']}, {settings['num_layers']} layers, "
        f"{settings['hidden_channels']} wide; {runs[0].result['parameters']:,} parameters."
    )
    page.heading("Scores")
    known = [name for name in _SCORES if any(name in run.result for run in runs)]
    rows = [
        [
            f"seed {run.result['seed']}",
            *(_percent(run.result.get(name)) for name in known),
            f"{run.result['best_epoch']} of {run.result['epochs']}",
            f"{run.result['seconds']:.1f}",
        ]
        for run in runs
    ]
    if len(rows) > 1:
        summary = summarize([dict(run.result) for run in runs])
        means = (
            f"{_percent(summary[f'{n}_mean'])} ± {_percent(summary[f'{n}_std'])}" for n in known
        )
        rows.append(["mean", *means, "", f"{summary['seconds']:.1f}"])
    page.table(("run", *(_SCORES[name] for name in known), "epoch kept", "seconds"), rows)
    page.paragraph(
        "Micro-F is the paper's: micro-averaged F1 over all classes but the most frequent one."
    )


def _confusion(page: Page, diagnostics: Sequence[Mapping[str, Any]]) -> None:
    part, classes = _PARTS[diagnostics[0]["part"]], diagnostics[0]["classes"]
    counts = [
        [sum(run["confusion"][i][k] for run in diagnostics) for k in range(len(classes))]
        for i in range(len(classes))
    ]
    page.heading(f"Confusion matrix ({part} nodes)")
    page.figure(
        to_svg(confusion_matrix(counts, classes)),
        f"Rows are true classes, columns predicted ones{_summed(diagnostics)}; the darker, the "
        "larger the share of the row.",
    )
    rows = []
    for k, name in enumerate(classes):
        of_class, taken = sum(counts[k]), sum(row[k] for row in counts)
        found, right = counts[k][k] / max(of_class, 1), counts[k][k] / max(taken, 1)
        shares = (_percent(found if of_class else None), _percent(right if taken else None))
        rows.append([name, f"{of_class:,}", *shares])
    page.table(("class", "nodes", "found, % (recall)", "right, % (precision)"), rows)


def _calibration(page: Page, diagnostics: Sequence[Mapping[str, Any]]) -> None:
    bins = [
        {key: sum(run["reliability"][i][key] for run in diagnostics) for key in entry}
        for i, entry in enumerate(diagnostics[0]["reliability"])
    ]
    error = fmean(calibration_error(run["reliability"]) for run in diagnostics)
    page.heading(f"Calibration ({_PARTS[diagnostics[0]['part']]} nodes)")
    page.figure(
        to_svg(reliability_diagram(bins)),
        f"Predictions by their probability{_summed(diagnostics)}. On the dashed line, of those "
        "with a probability of 80 % as many are right; below it the model is overconfident.",
    )
    mean = "mean over runs of the " if len(diagnostics) > 1 else ""
    page.paragraph(
        f"Expected calibration error: {_percent(error)} %, the {mean}distance between confidence "
        "and accuracy, averaged over nodes."
    )


def _learning(page: Page, runs: Sequence[RunRecords]) -> None:
    histories = [run.history for run in runs if len(run.history) > 1]
    if not histories:
        return
    page.heading("Learning")
    seen = [history for history in histories if "val_accuracy" in history[-1]]
    if seen:
        caption = "Validation accuracy by epoch"
        caption += ": mean over runs, and their range." if len(seen) > 1 else "."
        page.figure(to_svg(learning_curves({str(runs[0].config["model"]): seen})), caption)
    page.figure(
        to_svg(loss_curves(histories)),
        "Cross-entropy with dropout on training nodes; the loss that decides when to stop on "
        "validation nodes.",
    )


def _localization(page: Page, run: RunRecords, count: int) -> None:
    found = (run.diagnostics or {}).get("localization")
    if found is None:
        return
    page.heading("The most and the least localized nodes")
    which = f" Shown is seed {run.result['seed']}, the best by validation." if count > 1 else ""
    page.paragraph(
        "In the first layer each node v has a local weight, the global one scaled by a_v and "
        "shifted by b_v. Its distance is the mean square of a_v - 1 plus that of b_v: zero where "
        f"the node uses the global weight as it is. The median is {found['median']:.3g}.{which}"
    )
    page.figure(to_svg(localization_histogram(found["histogram"])), "All nodes by distance.")
    columns = ("node", "distance", "of scales", "of shifts", "neighbors", "label", "prediction")
    for title, key in (("Most localized", "most"), ("Least localized", "least")):
        page.paragraph(f"{title}:")
        page.table(columns, [_node(about) for about in found[key]])


def _node(about: Mapping[str, Any]) -> list[str]:
    numbers = (f"{about[key]:.3g}" for key in ("distance", "scale", "shift"))
    label = "" if about["label"] is None else about["label"]
    return [str(about["id"]), *numbers, f"{about['neighbors']:,}", label, about["prediction"]]


def _summed(diagnostics: Sequence[Mapping[str, Any]]) -> str:
    return f", summed over {len(diagnostics)} runs" if len(diagnostics) > 1 else ""


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
