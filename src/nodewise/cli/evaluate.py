"""`nodewise evaluate`: the scores of a trained model, computed again from its files."""

from __future__ import annotations

from typing import Any

import typer

from nodewise.cli.options import Device, Json, Quiet, Root, Run, Threads, check_device, set_threads
from nodewise.cli.tables import percent, print_table


def evaluate(
    run: Run,
    root: Root = None,
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Load a trained model, compute its scores again, and print them beside the recorded ones.

    Micro-F is the paper's: over all classes except the most frequent one, so it differs from the
    accuracy.

    **Examples**

    - `nodewise evaluate runs/mine`
    - `nodewise evaluate runs/mine --json | tail -n 1`
    """
    set_threads(threads)
    check_device(device)
    from nodewise.data.fingerprints import logits_sha256
    from nodewise.runs.run import scores_of
    from nodewise.runs.saved import load_run
    from nodewise.runs.task import load_source, split_of

    model = load_run(run, device=device)
    data = load_source(model.config["graph"], root, model.folder).data.to(device)
    split = split_of(data)
    _check(model.config["split_sha256"], split.sha256())
    logits = model.logits(data)
    scores = scores_of(logits, data.y, split)
    rows = [
        [name.replace("_", " "), percent(scores, name), percent(model.record, name)]
        for name in scores
    ]
    same = logits_sha256(logits) == model.record.get("logits_sha256")
    footer = f"{model.folder}; logits {'are' if same else 'are not'} those of training, bit for bit"
    print_table(("", "now %", "recorded %"), rows, "" if quiet else footer)
    if json:
        from json import dumps

        about: dict[str, Any] = {"run": str(model.folder), **scores, "same_bits": same}
        typer.echo(dumps(about))


def _check(recorded: str, found: str) -> None:
    from nodewise.errors import SplitError

    if recorded != found:
        raise SplitError(
            "split",
            "is not the one the run was trained with",
            value=found[:12],
            way_out="restore the data set, or train again",
        )
