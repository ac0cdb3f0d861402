"""The commands print the figures that they promise."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app

# Of one time less another: on a busy machine, a single repeat may come out below zero.
DIFFERENCES = {"share_of_peak_backward"}


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        pytest.param(
            "messages",
            {
                "fused_s",
                "factored_s",
                "dense_s",
                "reference_s",
                "speedup_vs_dense",
                "speedup_vs_factored",
                "extra_peak_mb",
                "heads8_speedup",
                "share_of_peak_forward",
                "share_of_peak_backward",
                "penalty_share_of_peak",
            },
            marks=pytest.mark.slow,
        ),
        (
            "epoch",
            {
                "lgcn_s",
                "lgat_s",
                "lgin_s",
                "pyg_gcn_s",
                "ratio_vs_pyg_gcn",
                "our_gcn_s",
                "ratio_vs_our_gcn",
                "sage_s",
                "pyg_sage_s",
                "ratio_vs_pyg_sage",
                "official_step_s",
                "pyg_gcn_input_dropout_share",
                "checks_share",
            },
        ),
    ],
)
def test_commands_print_the_promised_keys(command: str, keys: set[str]) -> None:
    args = ["bench", command, "--dataset", "toy", "--repeats", "1", "--quiet", "--json"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout.splitlines()[-1])
    assert keys <= figures.keys()
    measured = {key: figures[key] for key in keys - DIFFERENCES if figures[key] is not None}
    assert {key: value for key, value in measured.items() if value <= 0} == {}
