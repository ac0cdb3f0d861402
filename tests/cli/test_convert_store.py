"""`nodewise convert --to`: killed, out of disk, short of memory, and what else users do."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import nodewise as nw
from nodewise.cli.app import app
from nodewise.data.stores.store import GraphStore
from nodewise.errors import GraphError
from tests.cli.test_convert import KARATE, answer, invoke
from tests.cli.test_user_tables import write_karate

COMMAND = [sys.executable, "-m", "nodewise", "convert"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_karate(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def large_tables(rows: int, width: int = 20) -> None:
    """Tables that take a moment to convert."""
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, width)).round(4)
    nodes = pd.DataFrame(x, columns=[f"f{i}" for i in range(width)])
    nodes.insert(0, "id", np.arange(rows)[::-1])
    nodes["y"] = np.where(np.arange(rows) % 3, "", np.where(x[:, 0] > 0, "up", "down"))
    nodes.to_csv("many.csv", index=False)
    ends = random.integers(0, rows, (5 * rows, 2))
    pd.DataFrame(ends, columns=["source", "target"]).to_csv("links.csv", index=False)


MANY = ["--nodes", "many.csv", "--edges", "links.csv", "--label", "y"]


def test_tables_become_a_store_and_the_command_that_uses_it_is_printed() -> None:
    told = invoke(*KARATE, "--to", "big").stdout
    assert "nodes     35" in told and "use it with: nodewise train --nodes big" in told
    found = answer(*KARATE, "--to", "big", "--force")
    assert (found["nodes"], found["edges"], found["classes"]) == (35, 78, 2)
    again = nw.read_graph(**found["read_with"])
    assert again.sha256 == nw.read_graph("nodes.csv", "edges.csv", label="club").sha256


def test_any_graph_becomes_a_store() -> None:
    answer("toy", "--to", "toy")
    assert nw.read_graph("toy").data.num_nodes == nw.load_dataset("toy").num_nodes
    answer(*KARATE, "club.npz")
    answer("--nodes", "club.npz", "--to", "of-npz")
    assert nw.read_graph("of-npz").ids[-1] == "hermit"


def test_a_later_graph_is_encoded_as_that_of_a_run() -> None:
    quick = ["--recipe", "nodewise", "--set", "epochs=2", "--quiet", "--out", "run"]
    answer(*KARATE, "--to", "big")
    assert CliRunner().invoke(app, ["train", "--nodes", "big", *quick]).exit_code == 0
    lines = Path("nodes.csv").read_text().splitlines()
    Path("later.csv").write_text("\n".join([*lines[:20], *lines[21:]]) + "\n")
    gone = lines[20].split(",")[0]
    links = pd.read_csv("edges.csv", dtype=str)
    ends = links.columns[:2]
    links[~(links[ends] == gone).any(axis=1)].to_csv("later_links.csv", index=False)
    later = ["--nodes", "later.csv", "--edges", "later_links.csv"]
    answer(*later, "--to", "alone", "--label", "club")
    answer(*later, "--to", "alike", "--like", "run")
    answer(*later, "--to", "alike too", "--like", "big")
    predict = ["predict", "run", "--out", "p.csv", "--nodes"]
    refused = CliRunner().invoke(app, [*predict, "alone"])
    assert "made in another way" in str(refused.exception) and "--like" in str(refused.exception)
    assert CliRunner().invoke(app, [*predict, "alike"]).exit_code == 0
    assert len(pd.read_csv("p.csv")) == len(lines) - 2
    assert GraphStore.open("alike").sha256 == GraphStore.open("alike too").sha256


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out", *KARATE, "--to", "big"], "graph: is given twice"),
        (["a", "b", "--to", "big"], "OUT: is given, and so is --to"),
        ([*KARATE, "--to", "big", "--memory", "much"], "--memory: is not a size"),
        ([*KARATE, "--to", "big", "--memory", "10MB"], "--memory: is too little"),
        ([*KARATE, "--to", "nodes.csv"], "is a file"),
        ([*KARATE, "--to", "."], "is a folder with other files in it"),
        ([*KARATE, "--to", "big", "--like", "nowhere"], "nowhere"),
        (["--to", "big"], "graph: is missing"),
        ([], "OUT: is missing"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(
    arguments: list[str], message: str
) -> None:
    result = invoke(*arguments)
    assert result.exit_code != 0 and re.search(message, str(result.exception)), result.exception
    assert not Path("big").exists()


def test_a_store_is_replaced_only_with_force() -> None:
    answer(*KARATE, "--to", "big")
    assert "is a store already" in str(invoke(*KARATE, "--to", "big").exception)
    answer(*KARATE, "--to", "big", "--force")


@pytest.mark.slow
def test_killed_at_any_moment_it_begins_anew() -> None:
    large_tables(4000)
    expected = answer(*MANY, "--to", "expected")["sha256"]
    for moment in ("nodes.arrow", "sources", "store/x.npy"):
        process = subprocess.Popen([*COMMAND, *MANY, "--to", "big", "--quiet"])
        wait_for(Path("big/.parts") / moment, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with pytest.raises(GraphError, match="was not completed"):
            nw.read_graph("big")
    assert answer(*MANY, "--to", "big")["sha256"] == expected
    assert not Path("big/.parts").exists()


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None and time.monotonic() < until, f"{path} never came"
        time.sleep(0.002)


def test_a_full_disk_is_one_line_and_leaves_nothing_behind() -> None:
    large_tables(20_000)

    def no_large_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))

    found = subprocess.run(
        [*COMMAND, *MANY, "--to", "big"],
        preexec_fn=no_large_files,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 2, found.stderr
    assert "big: cannot be written" in found.stderr and "make room" in found.stderr
    assert not Path("big").exists()


CHILD = """
import sys
from pathlib import Path
from typer.testing import CliRunner
from nodewise.cli.app import app
result = CliRunner().invoke(app, sys.argv[1:])
assert result.exit_code == 0, (result.output, result.exception)
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_stays_below_the_budget() -> None:
    large_tables(200_000, width=40)

    def peak(*arguments: str) -> float:
        child = [sys.executable, "-c", CHILD, "convert", *MANY, *arguments]
        return int(subprocess.check_output(child, text=True, timeout=900)) * 1024 / 1e6

    streamed, in_memory = peak("--to", "big", "--memory", "800MB"), peak("out.npz")
    assert streamed < 800 < in_memory
