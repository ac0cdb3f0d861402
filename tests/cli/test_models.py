from __future__ import annotations

import json

from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.models.zoo import ZOO


def test_every_model_is_listed_with_its_count_beside_the_papers() -> None:
    result = CliRunner().invoke(app, ["models", "--dataset", "cora", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout.splitlines()[-1])["models"]
    assert [row["name"] for row in rows] == list(ZOO)
    lgcn = next(row for row in rows if row["name"] == "LGCN")
    assert lgcn == {"name": "LGCN", "parameters": 103_584, "paper_parameters": 104_000}
    assert "103,584" in result.stdout


def test_a_generated_graph_is_counted_too() -> None:
    result = CliRunner().invoke(app, ["models", "--dataset", "toy", "--json"])
    rows = json.loads(result.stdout.splitlines()[-1])["models"]
    assert rows[0]["paper_parameters"] is None
    assert rows[0]["parameters"] == 2 * 128 * 1200
