"""Output that cannot be written, and names that cannot be printed: one line, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runs.earlier import as_of_earlier_release

COMMAND = [sys.executable, "-m", "nodewise"]
ROWS = "id,label,x\n" + "".join(f"n{i},{'ab'[i % 2]},{i}\n" for i in range(12))


def run(*words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([*COMMAND, *words], text=True, timeout=120, check=False, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("words", [("datasets",), ("--version",), ("--help",)])
def test_a_full_stdout_is_one_line_and_exit_code_2(words: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        ended = run(*words, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr == (
        "nodewise: the output: cannot be read or written (No space left on device)\n"
    )


@pytest.mark.slow
def test_a_name_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/n\xff.csv"
    for content in (None, ROWS):
        if content is not None:
            Path(os.fsdecode(name)).write_text(content)
        ended = run("train", "--nodes", name, "--edges", name, "--label", "label")
        assert ended.returncode == 2 and ended.stderr.count("\n") == 1
        assert r"n\udcff.csv: has a name that is not UTF-8" in ended.stderr


def test_a_pipe_in_the_place_of_a_recipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "my.toml")
    ended = run("train", "toy", "--recipe", tmp_path / "my.toml")
    assert ended.returncode == 2 and "is not a regular file" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_run_without_a_manifest_is_one_warning(tmp_path: Path) -> None:
    run("train", "toy", "--set", "epochs=2", "--out", tmp_path / "run")
    predict = ("predict", tmp_path / "run", "--out", tmp_path / "p.csv")
    assert run(*predict).stderr == ""
    as_of_earlier_release(tmp_path / "run")
    ended = run(*predict)
    assert ended.returncode == 0 and ended.stderr.startswith("nodewise: warning: ")
    config = tmp_path / "run" / "config.toml"
    text = config.read_text()
    run("train", "toy", "--set", "epochs=2", "--out", tmp_path / "other")
    (tmp_path / "other" / "config.toml").write_text(text.replace("input_dropout", "# "))
    ended = run("predict", tmp_path / "other", "--out", tmp_path / "p.csv")
    assert ended.returncode == 2 and "is not as training left it" in ended.stderr
    ended = run("predict", tmp_path / "other", "--out", tmp_path / "p.csv", "--allow-changes")
    assert ended.returncode == 0 and "warning: " in ended.stderr
