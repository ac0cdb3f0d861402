"""Settings chosen on validation nodes: optuna proposes, runs score. Test nodes are not used."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nodewise.errors import DivergedError, InputError, NodewiseError, RunError
from nodewise.experiments.runner import Job, Workers
from nodewise.experiments.search.folder import open_search
from nodewise.io import file_bytes, reading, write_bytes
from nodewise.models.zoo import find_row
from nodewise.runs.folder import RunFolder
from nodewise.runs.interrupts import delaying_interrupts
from nodewise.training.metrics import record_score

if TYPE_CHECKING:
    from optuna import Study, Trial

Space = Mapping[str, Any]
STUDY = "study.log"


@dataclass(frozen=True)
class Search:
    """A search for settings.

    Attributes:
        job: The run whose settings are sought; its folder is the search's.
        runs: Seeds to average over.
        workers: Runs side by side.
    """

    job: Job
    runs: int = 1
    workers: int = 1

    @property
    def trials_at_once(self) -> int:
        """Trials side by side."""
        return max(1, self.workers // self.runs)

    def config(self) -> dict[str, Any]:
        """The keys that identify a search; loads the graph and its split.

        Raises:
            NodewiseError: There is no such data set, split, or file.
        """
        about = self.job.task().config(self.job.seed)
        return {**about, "fixed": dict(self.job.settings), "runs": self.runs}

    def jobs(self, number: int, settings: Mapping[str, Any]) -> list[Job]:
        """The runs of one trial."""
        folder = self.job.folder / "trials" / str(number)
        return [
            replace(
                self.job,
                seed=self.job.seed + i,
                folder=folder / f"seed-{self.job.seed + i}",
                settings={**self.job.settings, **settings},
            )
            for i in range(self.runs)
        ]


def search_space(model: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The values to try for a model, by key, without the keys that the caller has fixed."""
    path = files(__package__) / "spaces.toml"
    content = tomllib.loads(path.read_text("utf-8"))
    space = {**content["every"], **content.get(find_row(model).family, {})}
    return {key: value for key, value in space.items() if key not in fixed}


def propose(trial: Trial, space: Space) -> dict[str, Any]:
    """A value for every key of the space, from optuna."""
    return rounded(
        {
            key: trial.suggest_categorical(key, values)
            if isinstance(values, list)
            else trial.suggest_float(key, **values)
            for key, values in space.items()
        }
    )


def rounded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are trained and printed: fractions have three digits."""
    return {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in settings.items()
    }


def open_study(folder: Path, seed: int) -> Study:
    """The study of a folder that no other process uses, or a new one.

    Raises:
        InputError: optuna is not installed.
        RunError: `study.log` is damaged.
    """
    _check_optuna()
    import optuna
    from optuna.storages.journal import JournalFileBackend

    from nodewise.experiments.search.proposals import SeededSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = folder / STUDY
    _forget_kill(path)
    try:
        return optuna.create_study(
            storage=optuna.storages.JournalStorage(JournalFileBackend(str(path))),
            study_name="nodewise",
            direction="maximize",
            load_if_exists=True,
            sampler=SeededSampler(seed),
        )
    except Exception as error:  # optuna trusts its file: anything may happen
        raise _damaged(folder, f"cannot be read ({type(error).__name__}: {error})") from error


def _forget_kill(path: Path) -> None:
    """Remove what a killed process has left: half a line, and optuna's lock."""
    with reading(path, "choose another folder with --out"):
        path.with_name(f"{STUDY}.lock").unlink(missing_ok=True)
        content = file_bytes(path) if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        write_bytes(path, whole)


def _check_trials(study: Study, search: Search) -> None:
    """Check that the runs of ended trials have the settings and scores that the study knows.

    Raises:
        RunError: They have others.
    """
    for trial in study.get_trials(deepcopy=False):
        jobs = search.jobs(trial.number, rounded(trial.params))
        records = [RunFolder(job.folder).result for job in jobs if trial.state.is_finished()]
        known = [record for record in records if record is not None]
        if len(known) < search.runs:
            continue  # it diverged, or its runs were deleted
        settings = [jobs[0].settings.items() <= record["settings"].items() for record in known]
        if not all(settings) or trial.value != fmean(map(record_score, known)):
            number = trial.number
            raise _damaged(search.job.folder, f"has another trial {number} than trials/{number}")


def _damaged(folder: Path, problem: str) -> RunError:
    way_out = "choose another folder with --out"
    return RunError(str(folder / STUDY), problem, way_out=way_out)


def _check_optuna() -> None:
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        way_out = "pip install optuna"
        raise InputError("search", "needs optuna", way_out=way_out) from error


def run_search(search: Search, trials: int, timeout: float | None = None) -> Iterator[Study]:
    """Run trials until there are so many, or the time is over; yields the study after each round.

    A study in the folder is continued. A trial that diverges counts as failed; so does one that
    cannot be trained, which also ends the search: called again, it continues with others.

    Raises:
        NodewiseError: There is no such data set or split; nothing has been written then.
        RunError: The folder holds another search, or something else.
    """
    _check_optuna()  # before anything is written
    with open_search(search.job.folder, search.config()):
        study = open_study(search.job.folder, search.job.seed)
        _check_trials(study, search)
        space, began = search_space(search.job.model, search.job.settings), perf_counter()
        yield study
        with Workers(search.workers) as workers:
            while ended_trials(study) < trials:
                if timeout is not None and perf_counter() - began >= timeout:
                    break
                settings = _next(study, space, search.trials_at_once, trials)
                _round(study, search, settings, workers)
                yield study


def ended_trials(study: Study) -> int:
    """How many trials have ended, failed ones included, interrupted ones not."""
    return sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))


def _next(study: Study, space: Space, at_once: int, most: int) -> dict[int, dict[str, Any]]:
    """The settings of the next trials by number; see `next_trials`."""
    from nodewise.experiments.search.proposals import next_trials

    with delaying_interrupts():
        trials = next_trials(study, at_once, most)
        return {trial.number: propose(trial, space) for trial in trials}


def _round(
    study: Study, search: Search, settings: Mapping[int, Mapping[str, Any]], workers: Workers
) -> None:
    """Run the trials side by side and report their scores to the study; raises other failures."""
    from optuna.trial import TrialState

    jobs = {number: search.jobs(number, values) for number, values in settings.items()}
    found: dict[Path, float] = {}
    failures: list[NodewiseError] = []
    for job, record in workers.run([job for of_trial in jobs.values() for job in of_trial]):
        if isinstance(record, NodewiseError):
            failures += [] if isinstance(record, DivergedError) else [record]
        elif record["interrupted"]:
            raise KeyboardInterrupt
        else:
            found[job.folder] = record_score(record)
    with delaying_interrupts():
        for number, of_trial in jobs.items():
            values = [found[job.folder] for job in of_trial if job.folder in found]
            if len(values) < search.runs:
                study.tell(number, state=TrialState.FAIL)
            else:
                study.tell(number, fmean(values))
    if failures:
        raise failures[0]
