"""Run records, read back from a folder of results, each checked to be what its place says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from nodewise._version import __version__
from nodewise.errors import RunError
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import Suite, Variant, cell_folder, job_of
from nodewise.runs.folder import CONFIG, RESULT, RunFolder, first_difference
from nodewise.runs.run import RESULTS_VERSION
from nodewise.training.recipe import Recipe, load_recipe

Record = dict[str, Any]


def read_record(path: Path) -> Record | None:
    """A record as it lies there, unchecked, or None where there is none.

    Raises:
        RunError: It cannot be read.
    """
    if not path.exists():
        return None
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        reason = f"cannot be read ({error})"
        raise RunError(str(path), reason, way_out="delete it, and run again") from error


def check_numbers(
    path: Path, record: Mapping[str, Any], keys: Iterable[str], highest: float = inf
) -> None:
    """Check a record to have these numbers, from zero on.

    Raises:
        RunError: One is missing, is no number, or beyond the highest.
    """
    for key in keys:
        value = record.get(key)
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not 0 <= value <= highest
            or value == inf
        ):
            raise RunError(
                str(path),
                f"its {key} cannot be right",
                value=value,
                way_out="delete it, and run again",
            )


@dataclass(frozen=True)
class CellRuns:
    """The runs of a model on a data set under a variant.

    Attributes:
        records: Of the finished runs, by seed.
        paths: Their files.
        refused: Why others were left out.
    """

    records: Sequence[Record] = ()
    paths: Sequence[Path] = ()
    refused: Sequence[RunError] = ()


@dataclass(frozen=True)
class SuiteRuns:
    """All finished runs of a suite.

    Attributes:
        suite: The suite.
        cells: The runs by data set, model and the variant's name.
    """

    suite: Suite
    cells: Mapping[tuple[str, str, str], CellRuns]

    def cell(self, dataset: str, model: str, variant: str | None = None) -> CellRuns:
        """The runs of a cell, of the suite's first variant unless another is named."""
        name = self.suite.variants[0].name if variant is None else variant
        return self.cells.get((dataset, model, name), CellRuns())

    @property
    def there(self) -> int:
        """How many runs the suite's cells have, at most as many of each as it asks for."""
        return sum(min(len(cell.records), self.suite.runs) for cell in self.cells.values())

    @property
    def wanted(self) -> int:
        """How many runs the suite asks for."""
        return len(self.cells) * self.suite.runs

    @property
    def refused(self) -> list[RunError]:
        """Why some runs were left out."""
        return [error for cell in self.cells.values() for error in cell.refused]

    @property
    def notes(self) -> list[str]:
        """Whether the records were made with several versions of something."""
        records = [record for cell in self.cells.values() for record in cell.records]
        return [*mixed_versions(records), *_continued(records)]


def mixed_versions(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each package of which several versions have made these records."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, version in record.get("versions", {}).items():
            found.setdefault(name, set()).add(str(version))
    mixed = {name: sorted(versions) for name, versions in found.items() if len(versions) > 1}
    return [
        f"records made with {name} {', '.join(others)} and {last}"
        for name, (*others, last) in mixed.items()
    ]


def _continued(records: Iterable[Record]) -> list[str]:
    """A line for runs that one version has begun and another one ended."""
    ends = [(record["begun_with"], _made_with(record)) for record in records]
    count = sum(None not in (begun, ended) and begun != ended for begun, ended in ends)
    runs = "1 run was" if count == 1 else f"{count} runs were"
    return [f"{runs} begun with one version of nodewise and ended with another"] if count else []


def _made_with(record: Mapping[str, Any]) -> str | None:
    version: str | None = record.get("versions", {}).get("nodewise")
    return version


def other_versions(folders: Iterable[Path]) -> list[str]:
    """With which versions of nodewise, other than this one, runs were begun or ended."""
    found: set[Any] = set()
    for folder in folders:
        if (folder / CONFIG).exists():
            run = RunFolder(folder)
            found |= {run.config.get("nodewise"), _made_with(run.result or {})}
    return sorted(version for version in found if version not in (None, __version__))


def suite_runs(results: Path, suite: Suite) -> SuiteRuns:
    """Read the records of a suite."""
    cells = {(d, m, v.name): cell_runs(results, d, m, v) for d, m, v in suite.cells()}
    return SuiteRuns(suite, cells)


def cell_runs(results: Path, dataset: str, model: str, variant: Variant) -> CellRuns:
    """The finished runs of a cell; what is damaged, or another run, is left out and told."""
    folder = cell_folder(results, dataset, model, variant.name)
    paths = sorted(folder.glob(f"seed-*/{RESULT}"), key=_seed)
    if not paths:
        return CellRuns()
    recipe = load_recipe(variant.recipe, model, dataset, variant.settings)
    kept: list[tuple[Record, Path]] = []
    refused = []
    for path in paths:
        try:
            job = job_of(results, dataset, model, variant, _seed(path))
            record = _checked(path, job, recipe)
            _check_like(record, kept[0][0] if kept else record, path, variant)
            kept.append((record, path))
        except RunError as error:
            refused.append(error)
    return CellRuns([record for record, _ in kept], [path for _, path in kept], refused)


def _seed(path: Path) -> int:
    number = path.parent.name.removeprefix("seed-")
    return int(number) if number.isdecimal() and number == str(int(number)) else -1


def _checked(path: Path, job: Job, recipe: Recipe) -> Record:
    """The record of a run, if its configuration is that of the job, and what version began it.

    The graph itself is not loaded: what would be known of it only then is taken as it is written.
    """
    run = RunFolder(path.parent)
    config, record = run.config, run.result or {}
    for table in ("graph", "settings"):
        if not isinstance(config.get(table), dict):
            raise RunError(
                str(path.parent),
                f"its configuration has no table {table}",
                way_out="move it away, and run it again",
            )
    about = {
        key: value
        for key, value in config["graph"].items()
        if key not in ("dataset", "split", "split_seed", "validation")
    }
    asked = {
        **config,
        "results_version": RESULTS_VERSION,
        "model": job.model,
        "recipe": recipe.name,
        "seed": job.seed,
        "settings": recipe.settings,
        "graph": {**about, **job.source},
    }
    found = first_difference(config, asked)
    found = found or _first_stranger(record, config)
    if found is not None:
        raise RunError(
            str(path.parent), f"holds a run with {found}", way_out="move it away, and run it again"
        )
    check_numbers(path, record, ("seconds",))
    check_numbers(path, record, _SCORES, highest=1.0)
    return {**record, "begun_with": config.get("nodewise")}


_SCORES = ("val_accuracy", "test_accuracy", "test_micro_f", "test_macro_f")


# What a record says of its run, and where the run's configuration says it.
_TWICE = {
    "model": ("model",),
    "seed": ("seed",),
    "dataset": ("graph", "dataset"),
    "recipe": ("recipe",),
    "settings": ("settings",),
    "graph_sha256": ("graph", "sha256"),
    "split_sha256": ("split_sha256",),
}


def _first_stranger(record: Record, config: Mapping[str, Any]) -> str | None:
    """The first thing in which a record is not that of the configuration beside it."""
    for key, path in _TWICE.items():
        said: Any = config
        for step in path:
            said = said.get(step)
        if record.get(key) != said:
            return f"a record that has another {key} than its configuration"
    return None


def _check_like(record: Record, first: Record, path: Path, variant: Variant) -> None:
    """Runs of a cell share their graph, and their split unless every seed draws one."""
    keys = ("graph_sha256",) if variant.per_seed else ("graph_sha256", "split_sha256")
    for key in keys:
        if record.get(key) != first.get(key):
            raise RunError(
                str(path),
                f"its {key} is not that of the cell's first run",
                way_out="delete those made on other data, and run again",
            )
