"""The sections of a run's page on classes: which are confused, and how each is found."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from nodewise.report.page import Page
from nodewise.report.run_sections.curve_plots import ClassCurve, precision_recall, roc
from nodewise.report.run_sections.diagnostic_plots import confusion_matrix
from nodewise.report.run_sections.records import PARTS, RunGroup
from nodewise.report.style import to_svg


def add_classes(page: Page, group: RunGroup) -> None:
    """Add the confusion matrix, a row for each class, and the curves of classes."""
    counts, classes = group.confusion, group.classes
    if not counts:
        return
    page.heading(f"Confusion matrix ({PARTS[group.part]} nodes)")
    page.figure(
        to_svg(confusion_matrix(counts, classes)),
        f"Rows are true classes, columns predicted ones{group.summed}; the darker, the "
        "larger the share of the row.",
    )
    curves = {curve.name: curve for curve in class_curves(group)}
    rows = [_row(group, k, curves.get(name)) for k, name in enumerate(classes)]
    columns = ("class", "nodes", "found, % (recall)", "right, % (precision)")
    page.table((*columns, "average precision, %"), rows)
    _add_curves(page, group, list(curves.values()))


def class_curves(group: RunGroup) -> list[ClassCurve]:
    """Each class against the rest, the mean over runs; empty for runs of earlier releases."""
    tables, found = [table["classes"] for table in _tables(group)], []
    for k, name in enumerate(group.classes):
        entries = [entry for table in tables for entry in table if entry["class"] == k]
        if not entries:
            continue
        lines = [entry["precision"] for entry in entries if "precision" in entry]
        precision = [fmean(values) for values in zip(*lines, strict=True)]
        share = fmean(entry["share"] for entry in entries)
        average = fmean(entry["average_precision"] for entry in entries)
        found.append(ClassCurve(name, share, average, precision))
    return found


def _row(group: RunGroup, k: int, curve: ClassCurve | None) -> list[str]:
    counts = group.confusion
    of_class, taken, right = sum(counts[k]), sum(row[k] for row in counts), counts[k][k]
    shares = [right / total if total else None for total in (of_class, taken)]
    average = None if curve is None else curve.average_precision
    cells = ["-" if share is None else f"{100 * share:.1f}" for share in (*shares, average)]
    return [group.classes[k], f"{of_class:,}", *cells]


def _add_curves(page: Page, group: RunGroup, curves: list[ClassCurve]) -> None:
    drawn = [curve for curve in curves if curve.precision]
    if not drawn:
        return
    page.heading(f"Precision and recall ({PARTS[group.part]} nodes)")
    svg, caption = _roc(group)
    page.figure(to_svg(precision_recall(drawn)) + svg, _caption(group) + caption)
    rest = [100 * curve.average_precision for curve in curves if not curve.precision]
    if rest:
        page.paragraph(
            f"Drawn are the {len(drawn)} most frequent classes. The other {len(rest)} have average "
            f"precisions from {min(rest):.1f} to {max(rest):.1f} %, {fmean(rest):.1f} % on "
            "average; see the table."
        )


def _roc(group: RunGroup) -> tuple[str, str]:
    """The ROC of the rarer of two classes, the mean over runs, and its caption; else empty."""
    found = [table["roc"] for table in _tables(group) if "roc" in table]
    if not found:
        return "", ""
    lines = [about["true_shares"] for about in found]
    mean = [fmean(values) for values in zip(*lines, strict=True)]
    name = group.classes[found[0]["class"]]
    caption = f" Right: the ROC of class {name!r}; the dashed line is that of guessing."
    return to_svg(roc(mean, group.mean("roc_auc"))), caption


def _tables(group: RunGroup) -> list[Mapping[str, Any]]:
    return [about["curves"] for about in group.diagnostics if "curves" in about]


def _caption(group: RunGroup) -> str:
    mean = ", the mean over runs" if len(group.diagnostics) > 1 else ""
    return (
        f"Nodes by their probability of a class{mean}: where so many of the class are found "
        "(recall), so many of those predicted as it are right (precision). Dashed: the share of "
        "the class among all nodes, which is the precision of guessing."
    )
