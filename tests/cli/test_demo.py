from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nodewise.cli import demo
from nodewise.cli.app import app
from nodewise.runs.saved import load_run

Finished = tuple[subprocess.CompletedProcess[str], Path]
COMMAND = [sys.executable, "-m", "nodewise", "demo"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    page = tmp_path_factory.mktemp("demo") / "demo.html"
    command = [*COMMAND, "--seeds", "2", "--json", "--out", str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=True), page


def test_the_last_line_is_the_json_object(finished: Finished) -> None:
    answer = json.loads(finished[0].stdout.splitlines()[-1])
    assert answer["report"] == str(finished[1])
    assert [row["model"] for row in answer["table"]] == [
        "GCN",
        "matched global",
        "LGCN",
        "GCN-64",
    ]
    for row in answer["table"]:
        accuracies = [run["test_accuracy"] for run in row["runs"]]
        assert row["test_accuracy_mean"] == pytest.approx(sum(accuracies) / 2)
        assert len({run["split_sha256"] for run in row["runs"]}) == 2  # each has another split


def test_localization_pays_on_the_toy_graph_and_width_pays_too(finished: Finished) -> None:
    rows = json.loads(finished[0].stdout.splitlines()[-1])["table"]
    mean = {row["model"]: row["test_accuracy_mean"] for row in rows}
    assert mean["LGCN"] > mean["matched global"] + 0.05
    assert mean["GCN-64"] > mean["LGCN"]


def test_the_table_and_the_page_give_percent(finished: Finished) -> None:
    done, page = finished
    for row in json.loads(done.stdout.splitlines()[-1])["table"]:
        cell = f"{100 * row['test_accuracy_mean']:.1f} ± {100 * row['test_accuracy_std']:.1f}"
        assert cell in done.stdout
        assert f"<td>{cell}</td>" in page.read_text("utf-8")


def test_the_best_run_is_kept_and_shown_by_the_explorer(finished: Finished) -> None:
    done, page = finished
    answer = json.loads(done.stdout.splitlines()[-1])
    explorer, run = page.with_name("demo-explorer.html"), page.with_name("demo-run")
    assert (answer["explorer"], answer["run"]) == (str(explorer), str(run))
    assert f"what localization did: {explorer}; live: nodewise explore {run}" in done.stdout
    rows = next(row for row in answer["table"] if row["model"] == "LGCN")["runs"]
    best = max(rows, key=lambda record: record["val_accuracy"])
    assert load_run(run).record["seed"] == best["seed"]
    text = explorer.read_text("utf-8")
    assert "What localization did: LGCN on the toy graph" in text and '"tsne":"t-SNE"' in text


def test_neither_bar_nor_warning_when_not_at_a_terminal(finished: Finished) -> None:
    lines = finished[0].stderr.splitlines()
    assert [line for line in lines if "compiling CPU kernels" not in line] == []


@pytest.mark.slow
def test_ctrl_c_ends_in_one_line_and_130(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    process = subprocess.Popen(
        [*COMMAND, "--out", str(page)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whatever runs the tests may ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(6)
    # As a terminal does it: to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    # A shell reports 130 for both: Python ends by the signal itself where Ctrl-C came while a
    # compiled module ran Python code at its import.
    assert process.returncode in (130, -signal.SIGINT), err
    assert out == ""
    assert err.endswith("nodewise: stopped by Ctrl-C; nothing was written\n")
    assert "Traceback" not in err
    assert not page.exists()


@pytest.mark.parametrize(
    ("place", "says"),
    [(".", "is a folder"), ("file/x.html", "be written"), ("taken.html", "something else")],
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_trained(
    place: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "taken-run").mkdir()
    monkeypatch.setattr(demo, "_train", lambda *_: pytest.fail("trained"))
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / place)])
    assert says in str(result.exception)
