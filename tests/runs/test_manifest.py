"""A finished run's files are what training wrote, or are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import nodewise as nw
from nodewise.errors import NodewiseError, RunError, RunWarning
from nodewise.io import parse_toml
from nodewise.report.run import write_report
from nodewise.runs.copy import copy_run
from nodewise.runs.folder import RunFolder
from nodewise.runs.manifest import write_manifest
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from nodewise.runs.seeds import train_seeds
from tests.runs.earlier import as_of_earlier_release
from tests.training.tasks import small_graph, small_task

FILES = ("config.toml", "diagnostics.json", "history.jsonl", "model.safetensors", "result.json")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    train_in(tmp_path / "run", small_task(), 0)
    return tmp_path / "run"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_every_file_is_in_the_manifest(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["files"].keys() == set(FILES)
    load_run(run)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed_is_refused_by_name(run: Path, name: str) -> None:
    path = run / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(RunError, match=rf"{name}: is not as training left it"):
        load_run(run)


@pytest.mark.parametrize("name", FILES[1:4])
def test_a_file_that_is_gone_is_refused_by_name(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(RunError, match=name):
        load_run(run)


def test_settings_of_another_model_are_refused_though_the_file_is_the_same(run: Path) -> None:
    contents = {path.name: path.read_bytes() for path in run.iterdir() if path.name in FILES}
    config = parse_toml(contents["config.toml"])
    write_manifest(run, contents, config)
    load_run(run)
    write_manifest(run, contents, {**config, "model": "LGAT"})
    with pytest.raises(RunError, match=r"config\.toml: is not as training left it"):
        load_run(run)


def test_a_file_that_came_later_is_refused(run: Path) -> None:
    (run / "preprocessing.json").write_text("{}")
    with pytest.raises(RunError, match=r"preprocessing\.json: is not as training left it"):
        load_run(run)


def test_an_edited_score_is_not_believed_by_anybody(run: Path, tmp_path: Path) -> None:
    edit(run / "result.json", '"val_accuracy": 0.', '"val_accuracy": 0.9')
    readers: list[Callable[[], object]] = [
        lambda: load_run(run),
        lambda: train_in(run, small_task(), 0),
        lambda: copy_run(run, tmp_path / "copy"),
        lambda: write_report(tmp_path / "report.html", [run]),
    ]
    for read in readers:
        with pytest.raises(RunError, match=r"result\.json: is not as training left it"):
            read()


def test_changes_can_be_allowed_with_a_warning(run: Path) -> None:
    edit(run / "config.toml", "layer_norm = false\n", "")
    with pytest.raises(RunError, match=r"config\.toml"):
        load_run(run)
    with pytest.warns(RunWarning, match=r"config\.toml is not as training left it"):
        saved = load_run(run, allow_changes=True)
    assert saved.predict(small_graph()).shape == (60,)


def test_a_damaged_manifest_is_refused(run: Path) -> None:
    path = run / "manifest.json"
    content = path.read_bytes()
    for damaged in (b"", content[:-20], content.replace(b"result.json", b"result.jsom")):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match="manifest"):
            load_run(run)


def test_a_run_of_an_earlier_release_is_read_with_a_warning(run: Path) -> None:
    as_of_earlier_release(run)
    with pytest.warns(RunWarning, match=r"has no manifest\.json"):
        load_run(run)


@pytest.mark.parametrize("older", ["nothing", "config.toml", "result.json"])
def test_a_run_that_has_lost_its_manifest_is_refused(run: Path, older: str) -> None:
    (run / "manifest.json").unlink()
    if older != "nothing":
        edit(run / older, nw.__version__, "0.5.0")
    edit(run / "result.json", '"val_accuracy": 0.', '"val_accuracy": 0.9')
    for read in (load_run, lambda run: train_in(run, small_task(), 0)):
        with pytest.raises(RunError, match=r"manifest\.json: is gone"):
            read(run)
    with pytest.warns(RunWarning, match=r"has no manifest\.json"):
        load_run(run, allow_changes=True)


def test_a_copy_has_a_manifest_and_a_changed_run_is_not_copied(run: Path, tmp_path: Path) -> None:
    copy_run(run, tmp_path / "copy")
    load_run(tmp_path / "copy")
    edit(run / "history.jsonl", '"epoch": 3', '"epoch": 4')
    with pytest.raises(RunError, match=r"history\.jsonl"):
        copy_run(run, tmp_path / "other")
    assert not (tmp_path / "other" / "result.json").exists()


def test_of_several_runs_a_changed_one_is_not_passed_over(tmp_path: Path) -> None:
    train_seeds(tmp_path, small_task(), range(2), lambda seed: Callbacks())
    edit(tmp_path / "seed-1" / "result.json", '"val_accuracy": 0.', '"val_accuracy": 0.0')
    with pytest.raises(RunError, match=r"seed-1.result\.json"):
        load_run(tmp_path)


@pytest.mark.parametrize("name", ["config.toml", "history.jsonl"])
def test_an_unfinished_run_does_not_go_on_from_changed_files(tmp_path: Path, name: str) -> None:
    lines: list[object] = []
    train_in(tmp_path, small_task(), 0, Callbacks(lines.append, lambda: len(lines) == 8))
    edit(tmp_path / name, *{"config.toml": ("0.005", "0.006")}.get(name, ("1", "2")))
    with pytest.raises(RunError):
        train_in(tmp_path, small_task(), 0)
    with pytest.raises(NodewiseError, match="since the last checkpoint"):
        load_run(tmp_path)


def test_a_killed_run_may_have_more_history_than_its_checkpoint(tmp_path: Path) -> None:
    lines: list[object] = []
    train_in(tmp_path, small_task(), 0, Callbacks(lines.append, lambda: len(lines) == 8))
    with (tmp_path / "history.jsonl").open("a") as stream:
        stream.write('{"epoch": 8, "cross_entropy": 1.0}\n{"epo')
    assert train_in(tmp_path, small_task(), 0)["epochs"] == 12
    assert [line["epoch"] for line in RunFolder(tmp_path).history] == list(range(12))
