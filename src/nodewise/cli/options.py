"""The options that several commands share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object as the last line of stdout.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results only.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="CPU threads to use (default: by the size of the graph)."
    ),
]
Device = Annotated[
    str, typer.Option("--device", help="Where to compute: cpu, cuda, cuda:1, mps, ...")
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "--threads",
        min=1,
        help="Runs side by side, a thread each (default: all cores).",
    ),
]
Run = Annotated[
    Path, typer.Argument(help="A folder of `nodewise train`; of several runs the best is taken.")
]
AllowChanges = Annotated[
    bool,
    typer.Option(
        "--allow-changes",
        help="Go on, with a warning, if files of a run are not as training left them.",
    ),
]
Root = Annotated[
    Path | None,
    typer.Option("--root", help="Folder of raw files (default: $NODEWISE_DATA, else a cache)."),
]
MetricName = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="What stopping maximizes: accuracy, balanced_accuracy, macro_f, roc_auc, "
        "average_precision, log_loss (default: the recipe's; of tables whose classes differ "
        "fourfold in size, roc_auc or macro_f).",
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        "--class-weight", help="balanced: every class counts the same in the loss (default: none)."
    ),
]
DatasetName = Annotated[
    str | None, typer.Argument(help="A data set; see `nodewise datasets`. Or give --edges.")
]
Model = Annotated[str, typer.Option("--model", "-m", help="The model: LGCN, LGAT, LGIN, GCN, ...")]
RecipeName = Annotated[
    str,
    typer.Option("--recipe", "-r", help="paper, official, nodewise, or the path of a TOML file."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The (first) seed.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe; repeatable."),
]
SplitName = Annotated[
    str | None,
    typer.Option(
        "--split", help="Of a data set: public, random, few, many, or a stored split's number."
    ),
]
SplitSeed = Annotated[int, typer.Option("--split-seed", min=0, help="Which of the drawn splits.")]


def with_keys(settings: list[str] | None, **keys: str | None) -> list[str]:
    """Settings as `KEY=VALUE`, with those that have options."""
    named = [f"{key}={value.replace('-', '_')}" for key, value in keys.items() if value is not None]
    return [*(settings or ()), *named]


def set_up(threads: int | None, device: str = "cpu") -> None:
    """Take the number of threads, and check the device, before anything is loaded.

    Raises:
        InputError: The device is not available.
    """
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    check_device(device)


# With fewer edges a second thread costs more than it saves; results are the same bits.
_ONE_THREAD_BELOW = 30_000


def set_threads_for(edges: int, threads: int | None) -> None:
    """Compute a small graph on one thread, unless the user has named a number."""
    import torch

    if threads is None and edges < _ONE_THREAD_BELOW:
        torch.set_num_threads(1)


def check_device(device: str) -> None:
    """Check that a device is available, before anything is loaded.

    Raises:
        InputError: It is not.
    """
    if device == "cpu":
        return
    import torch

    from nodewise.errors import InputError

    try:
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(
            "--device",
            f"cannot be used ({str(error).splitlines()[0]})",
            value=device,
            way_out="leave it out to compute on the CPU",
        ) from None
