from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from nodewise.bench import ddp
from nodewise.cli.app import app
from nodewise.errors import RunError


@pytest.mark.slow
def test_the_command_reports_both_and_their_ratio() -> None:
    given = ["bench", "ddp", "--nodes", "20000", "--repeats", "1", "--json"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout.splitlines()[-1])
    speeds = found["seeds_per_second_2"], found["seeds_per_second_1"]
    assert found["speedup_2_over_1"] == speeds[0] / speeds[1]


def test_a_process_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddp, "_WORKER", "raise SystemExit('no luck')")
    with pytest.raises(RunError, match="no luck"):
        ddp._together("nowhere", 2)
