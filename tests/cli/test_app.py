from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def _environment_after(command: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    for name in WAITING:  # set before they are deleted, so that they are put back in any case
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    assert CliRunner().invoke(app, command).exit_code == 0
    return {name for name in WAITING if name in os.environ}


def test_commands_share_the_machine_and_a_benchmark_has_it_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _environment_after(["train", "--help"], monkeypatch) == set(WAITING)
    assert _environment_after(["bench", "messages", "--help"], monkeypatch) == set()


@pytest.mark.parametrize(
    ("name", "value"), [("GOMP_SPINCOUNT", "7"), ("OMP_WAIT_POLICY", "active")]
)
def test_an_environment_variable_for_waiting_threads_is_kept(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in WAITING:
        monkeypatch.setenv(other, "")
        monkeypatch.delenv(other)
    monkeypatch.setenv(name, value)
    assert CliRunner().invoke(app, ["train", "--help"]).exit_code == 0
    assert {other: os.environ.get(other) for other in WAITING if other in os.environ} == {
        name: value
    }
