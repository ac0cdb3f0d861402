"""Suggestions for the next steps after a run, from its records."""

from __future__ import annotations

from nodewise.experiments.auto.race import UNTRIED
from nodewise.report.run_sections.records import RunGroup
from nodewise.report.run_sections.score_words import compared, imbalance
from nodewise.report.run_sections.trust_words import (
    calibration,
    few_nodes,
    lowest_recall,
    overfitting,
)

_MOST = 3
_LATE = 0.9  # of the epochs that are allowed


def next_steps(group: RunGroup) -> list[str]:
    """At most three proposals, the most important first."""
    rules = (more_time, more_epochs, check_labels, no_graph, other_metric, class_weight)
    others = (temperature, more_labels, more_nodes, auto, more_seeds)
    found = [rule(group) for rule in (*rules, *others)]
    return [proposal for proposal in found if proposal is not None][:_MOST]


def more_time(group: RunGroup) -> str | None:
    """Where `auto` had no time for some candidates."""
    tried = [one["outcome"] for one in (group.choice or {}).get("candidates", [])]
    left = sum(outcome.startswith(UNTRIED) for outcome in tried)
    if not left:
        return None
    return f"Give `auto` a longer `--budget`: {left} of {len(tried)} candidates were not tried."


def more_epochs(group: RunGroup) -> str | None:
    """Where training ended at the last epoch that was allowed, and the best was a late one."""
    result, limit = group.best.result, group.settings["epochs"]
    if "refit_epochs" in result or result["epochs"] < limit:
        return None
    if result["best_epoch"] + 1 < _LATE * limit:
        return None
    return (
        f"Train longer, such as `--set epochs={4 * limit}`: epoch {result['best_epoch']} of "
        f"{limit} was kept, so scores were still rising."
    )


def check_labels(group: RunGroup) -> str | None:
    """Where the model is no better than the majority class."""
    comparison = compared(group, "majority")
    if comparison is None or comparison.is_better:
        return None
    return (
        "Check that labels and features belong to the right nodes, and label more nodes: so far "
        "the model knows no more than the majority class."
    )


def no_graph(group: RunGroup) -> str | None:
    """Where a model is better than the majority class, and not than the features alone."""
    majority, features = compared(group, "majority"), compared(group, "features_only")
    if majority is None or not majority.is_better or features is None or features.is_better:
        return None
    return "Try a model without the graph (`-m MLP`): the edges bring nothing measurable here."


def other_metric(group: RunGroup) -> str | None:
    """Where classes are unequal, and accuracy has decided."""
    if group.metric != "accuracy" or imbalance(group) is None:
        return None
    metric = "roc_auc" if len(group.classes) == 2 else "macro_f"
    return f"Let another metric decide: `--metric {metric}`."


def class_weight(group: RunGroup) -> str | None:
    """Where the recall of a class is at most half of the accuracy."""
    worst, accuracy = lowest_recall(group), group.mean("accuracy")
    weighted = group.settings.get("class_weight", "none") != "none"
    if worst is None or not worst.is_clear or weighted or accuracy is None:
        return None
    if worst.recall > accuracy / 2:
        return None
    return (
        f"If class {worst.name!r} matters as much as others, let every class count the same in the "
        "loss: `--class-weight balanced`."
    )


def temperature(group: RunGroup) -> str | None:
    """Where probabilities are not to be believed."""
    found = calibration(group)
    is_calibrated = group.settings.get("calibration", "none") != "none"
    if found is None or found.is_good or found.is_open or is_calibrated:
        return None
    return "Calibrate the probabilities on validation nodes: `--temperature`."


def more_labels(group: RunGroup) -> str | None:
    """Where the model overfits."""
    if overfitting(group) is None:
        return None
    return "Label more nodes for training, or raise `--set input_dropout=...`."


def more_nodes(group: RunGroup) -> str | None:
    """Where there are few scored nodes."""
    if few_nodes(group) is None:
        return None
    return "Keep more labeled nodes for tests, or train on several splits (`--split-seed`)."


def auto(group: RunGroup) -> str | None:
    """Where the model was named and not chosen."""
    if group.choice is not None:
        return None
    return "Compare with other models and settings: `--recipe auto`."


def more_seeds(group: RunGroup) -> str | None:
    """Where there is one run."""
    if len(group.runs) > 1:
        return None
    return "Train with several seeds, to see how much scores depend on them: `--runs 5`."
