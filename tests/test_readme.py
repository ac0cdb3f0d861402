"""The README's code blocks run as they stand, and its numbers are those of the records."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from nodewise.report.results_page import markdown
from nodewise.report.section import Shown
from nodewise.report.sections import read_section

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.medium
def test_the_examples_do_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, names)
    accuracy = float(capsys.readouterr().out.split()[-1])
    assert 0.6 < accuracy <= 1.0
    assert names["logits"].shape == (1200, 3)  # type: ignore[attr-defined]
    assert type(names["conv"]).__name__ == "LocalizedConv"


def measured(name: str) -> dict[str, Any]:
    path = ROOT / "results" / "bench" / f"{name}.json"
    return dict(json.loads(path.read_text("utf-8")))


def test_costs_in_sentences_are_those_of_the_records() -> None:
    text = " ".join(README.read_text("utf-8").split())
    epochs = (measured(f"epoch-{name}") for name in ("cora", "chameleon", "amazon"))
    shares = [f"{100 * epoch['pyg_gcn_input_dropout_share']:.0f}" for epoch in epochs]
    assert f"takes {shares[0]}, {shares[1]} and {shares[2]} % of it" in text
    edges = [1e9 * point["seconds_per_edge"] for point in measured("scale")["points"]]
    assert f"between {min(edges):.0f} and {max(edges):.0f} nanoseconds" in text


@pytest.mark.medium
def test_tables_are_those_of_the_records() -> None:
    """As `nodewise report results/` tells them."""
    make = runpy.run_path(str(ROOT / "docs" / "make_results.py"))
    late = "run `python docs/make_results.py` and commit what it writes"
    assert README.read_text("utf-8") == make["readme"](), late
    assert make["PAGE"].read_text("utf-8") == make["results_page"](), late
    assert make["KERNELS"].read_text("utf-8") == make["kernels"](), late
    assert markdown(read_section(ROOT / "results", "matched").tables[0]) in make["readme"]()


def in_points(difference: Shown) -> str:
    mean, interval = difference.text.removesuffix(" clear").split(" ", 1)
    return f"{mean} points {interval}"


def test_what_is_told_of_loose_generators_is_recorded() -> None:
    pairs, _, _, on_splits = read_section(ROOT / "results", "loose").tables
    row = dict(pairs.rows)["chameleon: LGCN - LGCN:global"]
    _, localized, beside, official, _, random = row
    told = f"{localized.plain} % against {beside.plain} %"
    text = " ".join(README.read_text("utf-8").split())
    assert told in text and f"{in_points(official)} over ten pairs" in text
    assert f"ten random splits, drawn later, confirm it: {in_points(random)}." in text
    light = accuracies("LGCN", "official-random-lambda_local-1e-5")
    tuned = accuracies("GCN-tuned", "official-random")
    means = [100 * fmean(model[seed] for seed in light) for model in (tuned, light)]
    assert len(light) == 10
    assert f"{means[0]:.1f} %, and LGCN under its light decay {means[1]:.1f} %" in text
    assert f"{means[1]:.1f} ±" in dict(on_splits.rows)["LGCN"][0].text


def accuracies(model: str, variant: str) -> dict[int, float]:
    """On Chameleon's test nodes, by seed."""
    folder = ROOT / "results" / "runs" / "chameleon" / model / variant
    records = [json.loads(path.read_text()) for path in folder.glob("seed-*/result.json")]
    return {record["seed"]: record["test_accuracy"] for record in records}
