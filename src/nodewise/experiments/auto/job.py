"""A run of a suite whose model and settings `auto` chooses, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shutil import rmtree
from time import process_time
from typing import TYPE_CHECKING, Any

from nodewise.experiments.run_record import JOB_FIELDS, run_seconds
from nodewise.experiments.runner import ExpectedRecord, Job
from nodewise.io import write_json

if TYPE_CHECKING:
    from nodewise.experiments.auto.selection import Choice, Selection

_OF_CHOICE = (
    "chosen",
    "budget",
    "metric",
    "best_global",
    "best_localized",
    "localization_gain",
    "localization_gain_se",
    "better_control",
    "features_alone",
)


@dataclass(frozen=True)
class AutoJob(Job):
    """A job that chooses; `settings` are keys that are not to be chosen.

    Candidates are trained one after the other, and the budget counts processor time: a suite runs
    other jobs beside this one.

    Attributes:
        budget: The seconds of processor time that choosing and training may take.
    """

    budget: float = 300.0

    @property
    def selection(self) -> Selection:
        """What is to be chosen."""
        from nodewise.experiments.auto.selection import Selection
        from nodewise.runs.sources import TaskMaker

        make = TaskMaker(self.source, self.root, self.device)
        return Selection(
            self.folder,
            make,
            seed=self.seed,
            dataset=self.dataset,
            fixed=self.settings,
            budget=self.budget,
            timer=process_time,
        )

    def expected_record(self) -> ExpectedRecord:
        """The recipe's name, the fixed keys and the budget; other settings may be any."""
        return ExpectedRecord(
            self.recipe, self.settings, is_exact=False, fields={"budget": self.budget}
        )

    def run(self, stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Choose, train as `nodewise train` does, and return the record.

        What the choice adds to the record is written before the run's result.
        """
        from nodewise.experiments.auto.selection import choose
        from nodewise.runs.run import Callbacks, train_in

        selection = self.selection
        selection.check_target(self.folder)
        try:
            choice = choose(selection, stop=stop)
        except KeyboardInterrupt:
            return {"interrupted": True}
        fields = self._fields(choice, choice.trial.finish())
        write_json(self.folder / JOB_FIELDS, fields)
        task = choice.into(self.folder)
        record = train_in(self.folder, task, self.seed, Callbacks(stop=stop, timer=process_time))
        return {**record, "seconds": run_seconds(record, fields)}

    def tidy(self) -> None:
        """Delete the candidates' runs."""
        rmtree(self.selection.candidates, ignore_errors=True)

    def _fields(self, choice: Choice, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """What the choice adds to the record, with scores from before validation nodes are learned.

        Args:
            choice: The choice.
            chosen: The record of the chosen run, on training nodes alone.
        """
        known = choice.record
        return {
            "model": self.model,
            "chosen_model": known["model"],
            **{key: known[key] for key in _OF_CHOICE},
            "choice_seconds": known["seconds"],
            **{f"unrefit_{k}": v for k, v in chosen.items() if k.startswith("test_")},
        }
