"""Trackers that a run's history is also written to: TensorBoard, MLflow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from nodewise.errors import InputError, UnknownNameError


class Tracker(ABC):
    """Receives the numbers of each epoch."""

    @abstractmethod
    def log(self, line: dict[str, Any]) -> None:
        """Write an epoch's line of history."""

    @abstractmethod
    def close(self) -> None:
        """Write buffered lines, and close."""


class NullTracker(Tracker):
    """A tracker that writes nothing."""

    def log(self, line: dict[str, Any]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class TensorBoard(Tracker):
    """Event files in the run's folder, for `tensorboard --logdir`.

    Args:
        folder: The folder of all runs.
        seed: The run's seed.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._module = _import("torch.utils.tensorboard", "tensorboard")
        self._folder = folder / "tensorboard" / f"seed-{seed}"
        self._writer: Any = None

    def log(self, line: dict[str, Any]) -> None:
        """Write each number under its name."""
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
    """An MLflow run, in the experiment and on the server of MLflow's environment variables.

    Args:
        folder: The folder of all runs; its name becomes the run's.
        seed: The run's seed.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._module = _import("mlflow", "mlflow")
        self._run: Any = None
        self._name = f"{folder.name}/seed-{seed}"

    def log(self, line: dict[str, Any]) -> None:
        """Write each number under its name."""
        if self._run is None:
            self._run = self._module.start_run(run_name=self._name)
        numbers = {name: float(value) for name, value in line.items() if name != "epoch"}
        self._module.log_metrics(numbers, step=line["epoch"])

    def close(self) -> None:
        """End the MLflow run."""
        if self._run is not None:
            self._module.end_run()


TRACKERS: dict[str, Callable[[Path, int], Tracker]] = {"tensorboard": TensorBoard, "mlflow": MLflow}


def make_tracker(name: str | None, folder: Path, seed: int) -> Tracker:
    """A tracker by its name; it writes nothing before the first epoch.

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
