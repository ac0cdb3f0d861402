"""A run's folder and its record say the same: each can be made from the other."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nodewise.errors import RunError
from nodewise.experiments.run_record import run_record
from nodewise.experiments.runner import Job
from nodewise.runs.folder import CONFIG, RESULT
from nodewise.runs.sources import dataset_source
from tests.runs.earlier import as_of_earlier_release

Content = dict[str, Any]
# These runs are as earlier releases wrote them.
pytestmark = pytest.mark.filterwarnings("ignore:.*has no manifest:nodewise.errors.RunWarning")


def files_of(record: Content) -> tuple[Content, Content]:
    """What `config.toml` and `result.json` of a record's run say."""
    rest = dict(record)
    del rest["variant"]
    begun_with, results_version = rest.pop("begun_with"), rest.pop("results_version")
    dataset, graph, settings = rest["dataset"], rest.pop("graph"), rest["settings"]
    of_run = {key: rest[key] for key in ("model", "recipe", "seed", "split_sha256")}
    config = {"nodewise": begun_with, "results_version": results_version, **of_run}
    config |= {"graph": {"dataset": dataset, **graph}, "settings": settings}
    return config, {**rest, "interrupted": False, "graph_sha256": graph["sha256"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    path = tmp_path_factory.mktemp("run")
    Job(dataset_source("toy", "random", 3), "LGCN", 3, path, settings={"epochs": 2}).run()
    return path


def test_a_record_has_every_value_of_both_files(folder: Path) -> None:
    record = json.loads(json.dumps(run_record(folder, "official")))
    config, result = files_of(record)
    assert config == tomllib.loads((folder / CONFIG).read_text())
    assert result == json.loads((folder / RESULT).read_text())


def copy(folder: Path, to: Path, config: str, **result: Any) -> Path:
    """The run with another configuration or result."""
    (to / CONFIG).write_text(config)
    (to / RESULT).write_text(json.dumps(json.loads((folder / RESULT).read_text()) | result))
    as_of_earlier_release(to)  # which has no manifest that would refuse it first
    return to


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dataset", "cora"),
        ("model", "GCN"),
        ("seed", 4),
        ("recipe", "paper"),
        ("settings", {"epochs": 3}),
        ("graph_sha256", "1"),
        ("split_sha256", None),
    ],
)
def test_the_result_of_another_run_is_refused(
    folder: Path, tmp_path: Path, key: str, value: Any
) -> None:
    other = copy(folder, tmp_path, (folder / CONFIG).read_text(), **{key: value})
    with pytest.raises(RunError, match=f"another {key} than its configuration|{key} must be"):
        run_record(other, "official")


@pytest.mark.parametrize("table", ["graph", "settings"])
def test_a_configuration_without_its_tables_is_refused(
    folder: Path, tmp_path: Path, table: str
) -> None:
    config = (folder / CONFIG).read_text().replace(f"[{table}]", "[other]")
    with pytest.raises(RunError, match=f"{table} must be there"):
        run_record(copy(folder, tmp_path, config), "official")


def test_a_run_that_has_not_ended_has_no_record(folder: Path, tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text((folder / CONFIG).read_text())
    with pytest.raises(RunError, match="has no result"):
        run_record(tmp_path, "official")
