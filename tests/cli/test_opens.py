"""How often commands open the files of a graph: once for the fingerprint, once for the rows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app

NODES = pd.DataFrame(
    {"id": list("abcdef"), "topic": list("xyxyxy"), "size": range(6), "kind": list("uuvvuv")}
)
EDGES = pd.DataFrame({"source": list("abcdef"), "target": list("bcdefa")})
QUICK = ["--set", "epochs=2", "--set", "hidden_channels=2", "--threads", "1", "--quiet"]


@pytest.fixture(scope="module")
def counting() -> Callable[[], Counter[str]]:
    """Begins to count, by name, the files that are opened; an audit hook cannot be removed."""
    counts: list[Counter[str]] = []

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and counts:
            counts[-1][Path(str(arguments[0])).name] += 1

    sys.addaudithook(audit)

    def begin() -> Counter[str]:
        counts.append(Counter())
        return counts[-1]

    return begin


def invoke(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_train_and_predict_open_each_table_twice(
    ending: str, tmp_path: Path, counting: Callable[[], Counter[str]]
) -> None:
    nodes, edges = tmp_path / f"nodes.{ending}", tmp_path / f"edges.{ending}"
    NODES.to_csv(nodes, index=False)
    EDGES.to_csv(edges, index=False)
    run, tables = tmp_path / "run", ("--nodes", nodes, "--edges", edges)
    train, predict = (
        ["train", *tables, "--label", "topic", "--recipe", "nodewise"],
        ["predict", run, "--quiet", "--out"],
    )
    for command in (
        [*train, *QUICK, "--out", run],
        [*predict, tmp_path / "own.csv"],
        [*predict, tmp_path / "named.csv", *tables],
    ):
        opened = counting()
        invoke(*command)
        assert (opened[nodes.name], opened[edges.name]) == (2, 2), command


def test_an_npz_file_is_opened_twice(tmp_path: Path, counting: Callable[[], Counter[str]]) -> None:
    invoke("convert", "toy", tmp_path / "toy.npz", "--quiet")
    opened = counting()
    flags = ("--nodes", tmp_path / "toy.npz", "--recipe", "nodewise", "--out", tmp_path / "run")
    invoke("train", *flags, *QUICK)
    assert opened["toy.npz"] == 2
