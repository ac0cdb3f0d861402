"""The options that several commands share, each defined once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

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
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", help="How much memory may be used, such as 4GB (default: half of all)."
    ),
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
    str | None,
    typer.Argument(
        help="A data set, see `nodewise datasets`, or a folder of `nodewise convert --to`. "
        "Or give --edges."
    ),
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


def option_of(panel: str) -> Callable[..., Any]:
    """A function that makes an option from its flag and its help, shown in a panel of `--help`."""

    def option(flag: str, text: str, **more: Any) -> Any:
        return typer.Option(flag, help=text, rich_help_panel=panel, **more)

    return option


def with_options(
    command: Callable[..., None], argument: str, options: Mapping[str, tuple[Any, Any]]
) -> Callable[..., None]:
    """The command with more options, which it receives as one dictionary.

    Args:
        command: The command.
        argument: Its argument that takes the dictionary.
        options: The annotation and the default of each option.
    """

    def run(**given: Any) -> None:
        taken = {name: given.pop(name) for name in options}
        command(**given, **{argument: taken})

    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    signature = inspect.signature(command, eval_str=True)
    kept = [option for option in signature.parameters.values() if option.name != argument]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = signature.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    return run


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
