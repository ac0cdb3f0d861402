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


COSTS = {
    "localized messages": ("messages", "speedup_vs_dense", "{:.0f} x faster"),
    "extra peak memory": ("messages", "extra_peak_mb", "{:.0f} MB"),
    "a training epoch": ("epoch", "ratio_vs_pyg_gcn", "{:.2f}"),
    "the same, against our own GCN": ("epoch", "ratio_vs_our_gcn", "{:.1f}"),
    "eight heads": ("messages", "heads8_speedup", "{:.1f} x faster"),
    "a node-level-only layer,": ("messages", "node_layer_ratio_vs_pyg", "{:.2f}"),
    "the same, against our own global layer": ("messages", "node_layer_ratio", "{:.1f}"),
    "a node-level-only layer beside its generators": (
        "messages",
        "node_layer_ratio_beside_generators_vs_pyg",
        "{:.2f}",
    ),
    "the same beside them": ("messages", "node_layer_ratio_beside_generators", "{:.1f}"),
    "a step of the recipe `official`": ("epoch", "official_step_s", "{:.3f} s"),
    "share of the machine's peak, forward": ("messages", "share_of_peak_forward", "{:.0%}"),
    "the same, backward": ("messages", "share_of_peak_backward", "{:.0%}"),
    "the same, of the penalty": ("messages", "penalty_share_of_peak", "{:.0%}"),
}


def measured(name: str) -> dict[str, Any]:
    path = ROOT / "results" / "bench" / f"{name}.json"
    return dict(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("row", COSTS)
def test_costs_are_those_of_the_records(row: str) -> None:
    bench, key, form = COSTS[row]
    records = [measured(f"{bench}-{name}") for name in ("cora", "chameleon", "amazon")]
    told = " | ".join(form.format(record[key]) for record in records)
    assert re.search(rf"^\| {row}[^|]*\| {told} \|$", README.read_text("utf-8"), re.MULTILINE)


def test_costs_in_sentences_are_those_of_the_records() -> None:
    text = " ".join(README.read_text("utf-8").split())
    epochs = (measured(f"epoch-{name}") for name in ("cora", "chameleon", "amazon"))
    shares = [f"{100 * epoch['pyg_gcn_input_dropout_share']:.0f}" for epoch in epochs]
    assert f"takes {shares[0]}, {shares[1]} and {shares[2]} % of it" in text
    messages = (measured(f"messages-{name}") for name in ("cora", "chameleon", "amazon"))
    least = [f"{record['penalty_least_ratio']:.1f}" for record in messages]
    assert f"would take {least[0]}, {least[1]} and {least[2]} times our global layer" in text
    edges = [1e9 * point["seconds_per_edge"] for point in measured("scale")["points"]]
    assert f"between {min(edges):.0f} and {max(edges):.0f} nanoseconds" in text


@pytest.mark.medium
def test_tables_are_those_of_the_records() -> None:
    """As `nodewise report results/` tells them."""
    make = runpy.run_path(str(ROOT / "docs" / "make_results.py"))
    late = "run `python docs/make_results.py` and commit what it writes"
    assert README.read_text("utf-8") == make["readme"](), late
    assert make["PAGE"].read_text("utf-8") == make["results_page"](), late
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
