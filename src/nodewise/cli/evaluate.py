"""`nodewise evaluate`: the scores of a trained model, computed again from its files."""

from __future__ import annotations

from typing import Any

import typer

from nodewise.cli.options import (
    AllowChanges,
    Device,
    Json,
    Quiet,
    Root,
    Run,
    Threads,
    set_threads_for,
    set_up,
)
from nodewise.cli.tables import print_json, print_table
from nodewise.training.cells import between, heading, percent


def evaluate(
    run: Run,
    root: Root = None,
    device: Device = "cpu",
    threads: Threads = None,
    allow_changes: AllowChanges = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Load a trained model, compute its scores again, and print them beside the recorded ones.

    Beside them stand 95 % intervals (Wilson's for accuracy, DeLong's for ROC AUC, a jackknife for
    others), and the controls of `nodewise train`: the majority class, and the features alone.

    **Examples**

    - `nodewise evaluate runs/mine`
    - `nodewise evaluate runs/mine --json | tail -n 1`
    """
    set_up(threads, device)
    from nodewise.data.fingerprints import logits_sha256
    from nodewise.runs.controls import controls_of
    from nodewise.runs.run import Task, scores_of
    from nodewise.runs.saved import load_run
    from nodewise.runs.task import load_source, split_of

    model = load_run(run, device=device, allow_changes=allow_changes)
    data = load_source(model.config["graph"], root, model.folder).data.to(device)
    set_threads_for(data.edge_index.size(1), threads)
    split = split_of(data)
    _check(model.config["split_sha256"], split.sha256())
    logits = model.logits(data)
    scores = _unlearned(scores_of(logits, data.y, split), "refit" in model.config)
    task = Task(data, split, model.config["graph"], model.config["model"], model.recipe)
    controls = controls_of(task)
    majority, features = controls["majority"], controls["features_only"]
    names = [name for name in scores if name != "intervals" and not name.endswith("micro_f")]
    rows = [
        [
            heading(name),
            percent(scores, name),
            between(scores, name),
            *(percent(others, name) for others in (model.record, majority, features)),
        ]
        for name in names
    ]
    same = logits_sha256(logits) == model.record.get("logits_sha256")
    if "skipped" in features:
        typer.echo(f"features only: skipped, {features['skipped']}")
    footer = f"{model.folder}; logits {'are' if same else 'are not'} those of training, bit for bit"
    columns = ("", "now", "95 % interval", "recorded", "majority", "features only")
    print_table(columns, rows, "" if quiet else footer)
    about: dict[str, Any] = {"run": str(model.folder), **scores, **controls, "same_bits": same}
    print_json(about, json)


def _unlearned(scores: dict[str, Any], refit: bool) -> dict[str, Any]:
    """The scores of nodes that the model has not learned from; after a refit, not of validation."""
    return {name: value for name, value in scores.items() if not (refit and name[:4] == "val_")}


def _check(recorded: str, found: str) -> None:
    from nodewise.errors import SplitError

    if recorded != found:
        raise SplitError(
            "split",
            "is not the one the run was trained with",
            value=found[:12],
            way_out="restore the data set, or train again",
        )
