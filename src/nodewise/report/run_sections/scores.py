"""The section of a run's page with its scores, beside those of the controls."""

from __future__ import annotations

from nodewise.report.page import Page
from nodewise.report.run_sections.records import PARTS, RunGroup, RunRecords
from nodewise.runs.score_text import interval_text, percent_text, score_text
from nodewise.training.metrics import METRICS, TITLES

_LOWER = ("log_loss", "calibration_error")
_NO_BREAK = "\u00a0"  # a space
_SHOWN = (*METRICS, "calibration_error")


def add_scores(page: Page, group: RunGroup) -> None:
    """Add a row for each metric, and of several runs a row for each."""
    page.heading(f"Scores ({PARTS[group.part]} nodes)")
    model = str(group.config["model"])
    majority = group.control("majority").get("class")
    columns = ["metric", model, "95 % interval"]
    columns.append("majority" if majority is None else f"majority: {majority}")
    columns += ["features only", *(["validation"] if group.part == "test" else [])]
    rows = [_row(group, metric) for metric in _SHOWN if group.mean(metric) is not None]
    page.table(columns, rows)
    page.paragraph(_legend(group))
    if len(group.runs) > 1:
        _each_run(page, group)


def _row(group: RunGroup, metric: str) -> list[str]:
    lower = " (lower is better)" if metric in _LOWER else ""
    decided = " (decided)" if metric == group.metric else ""
    name = f"{TITLES[metric]}{'' if metric == 'log_loss' else ' %'}{lower}{decided}"
    ends = interval_text(group.summary, f"{group.part}_{metric}").replace(" ", _NO_BREAK) or "-"
    others = [group.of_control(control, metric) for control in ("majority", "features_only")]
    shown = ["-" if other is None else score_text(other[0], metric) for other in others]
    validation = [_mean(group, f"val_{metric}")] if group.part == "test" else []
    return [name, _mean(group, f"{group.part}_{metric}"), ends, *shown, *validation]


def _mean(group: RunGroup, name: str) -> str:
    """The score; of several runs the mean and the deviation."""
    record = group.summary if len(group.runs) > 1 else group.runs[0].result
    return percent_text(record, name).replace(" ", _NO_BREAK)


def _legend(group: RunGroup) -> str:
    decided = f"{TITLES[group.metric]} on validation nodes decided {group.decision}"
    of_runs = "; scores are means over runs ± deviation" if len(group.runs) > 1 else ""
    skipped = group.control("features_only").get("skipped")
    alone = f" The features alone were skipped: {skipped}." if skipped else ""
    return (
        f"Majority: the most frequent class for every node. Features only: logistic regression on "
        f"the features of each node, without the graph. Intervals are about the nodes that happen "
        f"to be scored{of_runs}; {decided}.{alone}"
    )


def _each_run(page: Page, group: RunGroup) -> None:
    names = dict.fromkeys([f"{group.part}_{group.scored_by}", f"{group.part}_accuracy"])
    names |= dict.fromkeys([f"val_{group.metric}"])
    titles = [
        f"{PARTS[part]} {TITLES[name]}" for part, _, name in (n.partition("_") for n in names)
    ]
    rows = [_of_run(run, list(names)) for run in group.runs]
    rows.append(
        ["mean", *(_mean(group, name) for name in names), "", f"{group.summary['seconds']:.1f}"]
    )
    page.table(("run", *titles, "epoch kept", "seconds"), rows)


def _of_run(run: RunRecords, names: list[str]) -> list[str]:
    result = run.result
    scores = [percent_text(result, name) for name in names]
    epochs = f"{result['best_epoch']} of {result['epochs']}"
    return [f"seed {result['seed']}", *scores, epochs, f"{result['seconds']:.1f}"]
