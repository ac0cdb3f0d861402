"""A run's history, written to somebody else's tracker as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from nodewise.errors import InputError, UnknownNameError


class Tracker(ABC):
    """Takes the numbers of every epoch."""

    @abstractmethod
    def log(self, line: dict[str, Any]) -> None:
        """Write an epoch's line of history."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""


class NullTracker(Tracker):
    """No tracker was asked for."""

    def log(self, line: dict[str, Any]) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


class TensorBoard(Tracker):
    """Event files in the run's folder, for `tensorboard --logdir`.

    Args:
        folder: The folder of all runs.
        seed: Which run.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._module = _import("torch.utils.tensorboard", "tensorboard")
        self._folder = folder / "tensorboard" / f"seed-{seed}"
        self._writer: Any = None

    def log(self, line: dict[str, Any]) -> None:
        """Every number under its name."""
        if self._writer is None:
            self._writer = self._module.SummaryWriter(str(self._folder))
        for name, value in line.items():
            if name != "epoch":
                self._writer.add_scalar(name, value, line["epoch"])

    def close(self) -> None:
        """Flush the event file."""
        if self._writer is not None:
            self._writer.close()


class MLflow(Tracker):
    """A run of MLflow's, in the experiment and at the address its environment variables name.

    Args:
        folder: The folder of all runs; its name becomes the run's.
        seed: Which run.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._module = _import("mlflow", "mlflow")
        self._run: Any = None
        self._name = f"{folder.name}/seed-{seed}"

    def log(self, line: dict[str, Any]) -> None:
        """Every number under its name."""
        if self._run is None:
            self._run = self._module.start_run(run_name=self._name)
        numbers = {name: float(value) for name, value in line.items() if name != "epoch"}
        self._module.log_metrics(numbers, step=line["epoch"])

    def close(self) -> None:
        """End MLflow's run."""
        if self._run is not None:
            self._module.end_run()


TRACKERS: dict[str, Callable[[Path, int], Tracker]] = {"tensorboard": TensorBoard, "mlflow": MLflow}


def make_tracker(name: str | None, folder: Path, seed: int) -> Tracker:
    """A tracker by its name; nothing is written before the first epoch.

    Raises:
        UnknownNameError: There is no such tracker.
        InputError: Its package is not installed.
    """
    if name is None:
        return NullTracker()
    if name not in TRACKERS:
        raise UnknownNameError("--track", name, TRACKERS)
    return TRACKERS[name](folder, seed)


def _import(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            "--track", f"needs the package {package}", way_out=f"pip install {package}"
        ) from error
