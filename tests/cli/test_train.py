from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nodewise.cli.app import app
from nodewise.errors import NodewiseError

QUICK = ["--set", "epochs=12", "--set", "hidden_channels=4"]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def answer(*arguments: object) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "run"
    assert invoke("train", "toy", *QUICK, "--out", folder).exit_code == 0
    return folder


def test_a_run_leaves_the_promised_files_and_keys(run: Path) -> None:
    names = {"config.toml", "history.jsonl", "result.json", "model.safetensors"}
    assert names <= {path.name for path in run.iterdir()}
    result = json.loads((run / "result.json").read_text())
    keys = "dataset model recipe seed test_accuracy test_micro_f val_accuracy best_epoch epochs"
    keys += " seconds parameters split_sha256 versions"
    assert set(keys.split()) <= result.keys()


def test_several_runs_have_a_folder_each_and_a_summary(tmp_path: Path) -> None:
    options = ("train", "toy", "-m", "GCN", *QUICK, "--out", tmp_path, "--runs", 2, "--seed", 3)
    found = answer(*options)
    assert [record["seed"] for record in found["runs"]] == [3, 4]
    keys = {"test_accuracy_mean", "test_accuracy_std", "test_micro_f_mean", "seconds"}
    assert keys <= found.keys()
    assert {path.name for path in tmp_path.iterdir()} == {
        "seed-3",
        "seed-4",
        "summary.json",
        "report.html",
    }
    again = answer(*options)
    assert again["runs"] == found["runs"]  # read, with the very same seconds


def rare_class(folder: Path) -> list[object]:
    """The options of tables in which a class has a quarter of the nodes of the other."""
    label = lambda i: "rare" if i % 5 == 0 else "common"  # noqa: E731
    nodes = [f"{i},{label(i)},{i % 5 + i % 3}" for i in range(100)]
    (folder / "nodes.csv").write_text("\n".join(["id,kind,x", *nodes]) + "\n")
    edges = [f"{i},{(7 * i + 5) % 100}" for i in range(100)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    paths = ["--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv"]
    return [*paths, "--label", "kind", "-m", "GCN", *QUICK, "--threads", "1"]


def test_a_rare_class_is_scored_by_roc_auc_by_default(tmp_path: Path) -> None:
    options = rare_class(tmp_path)
    result = invoke("train", *options, "--out", tmp_path / "run")
    reason = "ROC AUC decides when to stop, not accuracy: class 'common' has 4.0 times the nodes of"
    assert reason in result.output and "val ROC AUC %" in result.output
    record = json.loads((tmp_path / "run" / "result.json").read_text())
    assert record["settings"]["metric"] == "roc_auc"
    for i, chosen in enumerate((["--metric", "accuracy"], ["--recipe", "official"])):
        out = tmp_path / f"other-{i}"
        result = invoke("train", *options, *chosen, "--set", "start_record_epoch=-1", "--out", out)
        assert reason not in result.output and "val accuracy %" in result.output
        assert json.loads((out / "result.json").read_text())["settings"]["metric"] == "accuracy"


def test_scores_stand_beside_controls_and_intervals(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ("train", *rare_class(tmp_path), "--metric", "balanced-accuracy", "--out", out)
    result = invoke(*command, "--class-weight", "balanced", "--temperature", "--json")
    *table, last = result.stdout.splitlines()
    found = json.loads(last)
    columns = [line for line in table if "test balanced accuracy %" in line]
    assert len(columns) == 1 and columns[0].count("test") == 1
    assert not any("icro" in line for line in table)
    starts = ("majority: common", "features only", "seed 0", "95 % interval")
    assert all(any(line.startswith(start) for line in table) for start in starts)
    keys = "test_roc_auc_mean test_balanced_accuracy_mean test_average_precision_mean"
    keys += " test_log_loss_mean test_calibration_error_mean test_micro_f_mean val_roc_auc_std"
    assert set(keys.split()) <= found.keys()
    assert found["controls"]["majority"]["test_accuracy"] == pytest.approx(0.8, abs=0.05)
    assert "test_roc_auc" in found["controls"]["features_only"]
    (record,) = found["runs"]
    settings = {key: record["settings"][key] for key in ("class_weight", "calibration", "metric")}
    assert settings == dict(
        class_weight="balanced", calibration="temperature", metric="balanced_accuracy"
    )
    assert 0.1 <= record["temperature"] <= 10
    again = answer("evaluate", out)
    assert again["same_bits"] and again["majority"] == found["controls"]["majority"]
    assert again["intervals"] == record["intervals"]
    for name in ("test_roc_auc", "test_log_loss", "test_calibration_error"):
        assert again[name] == record[name]
    assert "refit_epochs" in record and "val_roc_auc" in record
    assert "val_roc_auc" not in again  # the model has learned from these nodes since


def test_predictions_keep_their_contract(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    assert answer("predict", run, "--out", out)["nodes"] == 1200
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    classes = ["theory", "method", "application"]
    assert list(rows[0]) == ["id", "prediction", *(f"p_{name}" for name in classes)]
    assert [int(row["id"]) for row in rows] == list(range(1200))
    for row in rows[:50]:
        chances = {name: float(row[f"p_{name}"]) for name in classes}
        assert sum(chances.values()) == pytest.approx(1, abs=1e-4)
        assert row["prediction"] == max(chances, key=lambda name: chances[name])


def test_evaluation_finds_what_was_recorded_bit_for_bit(run: Path) -> None:
    found = answer("evaluate", run)
    recorded = json.loads((run / "result.json").read_text())
    assert found["same_bits"] is True
    assert found["test_accuracy"] == recorded["test_accuracy"]
    assert found["test_micro_f"] == recorded["test_micro_f"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train", "coraa"), "did you mean 'cora'"),
        (("train", "toy", "--model", "LGCNN"), "did you mean 'LGCN'"),
        (("train", "toy", "--recipe", "offical"), "did you mean 'official'"),
        (("train", "toy", "--set", "lamda_local=1"), "did you mean 'lambda_local'"),
        (("train", "toy", "--set", "epochs"), "KEY=VALUE"),
        (("train", "toy", "--metric", "auc"), "'roc_auc'"),
        (("train", "toy", "--class-weight", "yes"), "'balanced'"),
        (("train", "toy", "--split", "publik"), "did you mean 'public'"),
        (("train", "toy", "--split", "7"), "0 stored splits"),
        (("train", "toy", "--device", "cuda:7"), "--device"),
        (("train", "toy", "--track", "paper"), "--track"),
        (("predict", "nowhere"), "no finished run"),
        (("evaluate", "nowhere"), "no finished run"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert isinstance(result.exception, NodewiseError), result.output
    assert says in str(result.exception)
    assert "\n" not in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_an_error_becomes_one_line_and_exit_code_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nodewise", "train", "toy", "--set", "lamda_local=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("nodewise: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path) -> None:
    options = ["toy", "--set", "epochs=60000", "--set", "patience=60000", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "nodewise", "train", "-m", "GCN", *options]
    epochs: list[int] = []
    history = tmp_path / "history.jsonl"
    for before in (0, 1):
        file = history.stat().st_ino if before else 0
        process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
        # Training starts with a fresh file that takes the old one's place.
        while not history.exists() or history.stat().st_ino == file:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "run the same command to continue" in err
        epochs.append(int(err.split(" epochs")[0].split()[-1]))
    assert epochs[1] > epochs[0] > 0
    lines = history.read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == list(range(epochs[1]))


def test_tracking_writes_event_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    result = invoke("train", "toy", *QUICK, "--out", tmp_path, "--track", "tensorboard")
    assert result.exit_code == 0, result.output
    assert list((tmp_path / "tensorboard" / "seed-0").glob("events.*"))
