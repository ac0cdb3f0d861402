"""Sentences on a run's scores: against the controls, and by which metric."""

from __future__ import annotations

from nodewise.report.run_sections.comparison import Comparison
from nodewise.report.run_sections.records import PARTS, RunGroup
from nodewise.runs.score_text import score_text
from nodewise.training.metrics import TITLES

_IMBALANCED = 4  # the largest class has so many times the nodes of the smallest


def against_controls(group: RunGroup) -> str | None:
    """How far the score is above the majority class and the features alone."""
    metric = group.scored_by
    value, interval = group.mean(metric), group.interval(metric)
    if value is None:
        return None
    mean = f" (mean of {len(group.runs)} runs)" if len(group.runs) > 1 else ""
    ends = "" if interval is None else " to ".join(score_text(end, metric) for end in interval)
    sure = f" (95 % interval {ends})" if ends else ""
    clauses = (_comparison(group, name) for name in ("majority", "features_only"))
    comparisons = "; ".join(clause for clause in clauses if clause)
    start = f"On {nodes(group)}, {TITLES[metric]}{mean} is {score_text(value, metric, ' %')}{sure}"
    return f"{start}: {comparisons}." if comparisons else f"{start}."


def compared(group: RunGroup, control: str) -> Comparison | None:
    """The score compared with a control; None where one of them, or its interval, is unknown."""
    metric = group.scored_by
    value, interval = group.mean(metric), group.interval(metric)
    other = group.of_control(control, metric)
    if value is None or interval is None or other is None:
        return None
    return Comparison.of(metric, (value, interval), other)


def what_decided(group: RunGroup) -> str | None:
    """Which metric decided, and why; None for accuracy on balanced classes."""
    unequal = imbalance(group)
    if group.metric != "accuracy":
        title = TITLES[group.metric]
        why = "as the settings say" if unequal is None else f"because {unequal}"
        return f"{title[0].upper()}{title[1:]}, not accuracy, decided {group.decision}, {why}."
    if unequal is None:
        return None
    others = [
        f"{TITLES[name]} ({score_text(value, name, ' %')})"
        for name in ("balanced_accuracy", "roc_auc")
        if (value := group.mean(name)) is not None
    ]
    return (
        f"Accuracy decided {group.decision}, although {unequal}: look at "
        f"{' and '.join(others)}, too."
    )


def imbalance(group: RunGroup) -> str | None:
    """By how much the classes of scored nodes differ in size; None below a factor of four."""
    counts = [(sum(row), name) for row, name in zip(group.confusion, group.classes, strict=False)]
    known = [entry for entry in counts if entry[0]]
    if len(known) < 2:
        return None
    (most, largest), (least, smallest) = max(known), min(known)
    if most < _IMBALANCED * least:
        return None
    share = (
        f"always answering {largest!r} is right for {100 * most / sum(n for n, _ in known):.1f} %"
    )
    return (
        f"class {largest!r} has {most / least:.1f} times the nodes of class {smallest!r} ({share})"
    )


def nodes(group: RunGroup) -> str:
    """The scored nodes: "640 test nodes"."""
    count = f"{group.scored_nodes:,} " if group.scored_nodes else ""
    return f"{count}{PARTS[group.part]} nodes"


def _comparison(group: RunGroup, control: str) -> str | None:
    """A control in a sentence: what the score is compared with it, and its score."""
    comparison, metric = compared(group, control), group.scored_by
    skipped = group.control(control).get("skipped")
    if comparison is None:
        return f"the features alone were not tried ({skipped})" if skipped else None
    majority = f"always answering {group.control('majority').get('class')!r}"
    title = majority if control == "majority" else "the features without the graph"
    other = group.of_control(control, metric)
    amount = f", {comparison.amount}" if comparison.is_significant else ""
    return (
        f"{comparison.verdict} {title} ({score_text(other[0], metric, ' %')}){amount}"
        if other
        else None
    )
