"""Write the parts of pages that come from records: tables of runs and of costs.

Run it after new records, `python docs/make_results.py`; a test checks that all pages are current.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from markers import ROOT, Maker, write
from twins import read_twins, twins_note, twins_table

from nodewise.report.results_page import markdown_section
from nodewise.report.suite_sections.section import Section, TableCell
from nodewise.report.suite_sections.sections import read_section

RESULTS = ROOT / "results"
DATASETS = {"cora": "Cora", "citeseer": "Citeseer", "amazon": "Amazon", "chameleon": "Chameleon"}
_BENCHED = {"cora": "Cora", "chameleon": "Chameleon", "amazon": "Amazon"}
_SAGE = (
    *("cora", "citeseer", "amazon", "chameleon", "chameleon-filtered", "squirrel-filtered"),
    *("actor", "minesweeper", "cornell", "coauthor-cs"),
)
_BUSY = 1.3  # seconds by the clock for one of the processor, on a machine with other work
# By bench, of each row: its label, the key of its number, and its format.
_COSTS = {
    "messages": (
        ("`reference`", "reference_s", "{:.4f} s"),
        ("the per-edge form", "dense_s", "{:.4f} s"),
        ("`factored`", "factored_s", "{:.4f} s"),
        ("`fused`", "fused_s", "{:.4f} s"),
        ("`fused`, eight heads in one pass", "heads8_s", "{:.4f} s"),
        ("per-edge form over `fused`", "speedup_vs_dense", "{:.0f}"),
        ("`factored` over `fused`", "speedup_vs_factored", "{:.1f}"),
        ("extra memory of `fused`", "extra_peak_mb", "{:.0f} MB"),
        ("extra memory of `factored`", "factored_extra_peak_mb", "{:.0f} MB"),
        ("share of the peak, `fused` forward", "share_of_peak_forward", "{:.0%}"),
        ("share of the peak, `fused` backward", "share_of_peak_backward", "{:.0%}"),
        ("share of the peak, penalty and its gradient", "penalty_share_of_peak", "{:.0%}"),
    ),
    "epoch": (
        ("an epoch of LGCN", "lgcn_s", "{:.4f} s"),
        ("an epoch of LGIN", "lgin_s", "{:.4f} s"),
        ("an epoch of LGAT", "lgat_s", "{:.4f} s"),
        ("a step of the recipe `official` and its validation", "official_step_s", "{:.4f} s"),
        ("LGCN over our GCN on sparse features", "ratio_vs_our_gcn", "{:.1f}"),
        ("LGCN over PyG's GCN on dense features", "ratio_vs_pyg_gcn", "{:.2f}"),
        ("dropout of features, share of PyG's epoch", "pyg_gcn_input_dropout_share", "{:.0%}"),
        ("checks of sizes and indices, share of LGCN's epoch", "checks_share", "{:.1%}"),
    ),
}


@cache
def section(suite: str) -> Section:
    """A suite as `nodewise report` shows it."""
    return read_section(RESULTS, suite)


def tables(suite: str) -> str:
    """All tables of a suite, with their legend and notes."""
    return markdown_section(section(suite))


def headline() -> str:
    """Four rows: LGCN in the paper and here, without localization, and a tuned GCN."""
    matched = [_pair("matched", name, "LGCN:global") for name in DATASETS]
    tuned = [_pair("splits", name, "GCN-tuned") for name in DATASETS]
    counts = [cells[1].count for cells, _ in tuned]
    rows = {
        "LGCN, in the paper": [cells[0].text for cells, _ in matched],
        "LGCN, measured": [cells[1].text for cells, _ in matched],
        "matched global model": [_with_gap(cells[2], gap) for cells, gap in matched],
        "tuned global GCN *": [_with_gap(cells[1], gap) for cells, gap in tuned],
    }
    lines = [f"| test accuracy, % | {' | '.join(DATASETS.values())} |", "|---" * 5 + "|"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return "\n".join(lines) + (
        f"\n\n{matched[0][0][1].count} runs, mean ± deviation. In brackets: the difference from "
        "LGCN on the same splits and seeds, bold where its 95 % interval excludes zero.\n"
        f"\\* on random splits, where LGCN has other means: {', '.join(map(str, counts[:3]))} and "
        f"{counts[3]} runs."
    )


def _pair(suite: str, dataset: str, other: str) -> tuple[list[TableCell], dict[str, Any]]:
    """The cells of LGCN beside another model, and their difference under the first variant."""
    name, found = f"{dataset}: LGCN - {other}", section(suite)
    gaps = found.data[name]
    return list(dict(found.tables[0].rows)[name]), gaps[found.suite.variants[0].title]


def _with_gap(cell: TableCell, gap: dict[str, Any]) -> str:
    """A mean with its difference from LGCN's, bold where that is significant."""
    mean = -100 * gap["mean"]
    distance = f"{mean:+.1f}" if abs(mean) >= 0.05 else f"{mean:+.2f}"
    is_significant = gap["low"] > 0 or gap["high"] < 0
    return f"{cell.text} ({f'**{distance}**' if is_significant else distance})"


def _measured(bench: str) -> dict[str, Any]:
    return dict(json.loads((RESULTS / "bench" / f"{bench}.json").read_text("utf-8")))


def costs(bench: str) -> str:
    """What `nodewise bench messages` or `epoch` recorded, a column for each data set."""
    lines = [f"| cost | {' | '.join(_BENCHED.values())} |", "|---" * 4 + "|"]
    for label, key, form in _COSTS[bench]:
        found = [_measured(f"{bench}-{dataset}").get(key) for dataset in _BENCHED]
        cells = ("-" if value is None else form.format(value) for value in found)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def sage() -> str:
    """An epoch of the strong SAGE beside PyG's on every data set that was measured."""
    lines = ["| data set | ours | PyG | ratio |", "|---" * 4 + "|"]
    for name in _SAGE:
        path = RESULTS / "bench" / f"epoch-{name}.json"
        found = json.loads(path.read_text("utf-8")) if path.exists() else {}
        cells = (
            form.format(found[key]) if key in found else "-"
            for key, form in (
                ("sage_s", "{:.4f} s"),
                ("pyg_sage_s", "{:.4f} s"),
                ("ratio_vs_pyg_sage", "{:.2f}"),
            )
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def scale() -> str:
    """What a training node costs in small and in large graphs."""
    points = _measured("scale")["points"]
    cost = [1e6 * point["cpu_seconds_per_seed"] for point in points]
    nodes = f"{points[0]['nodes']:,} to {points[-1]['nodes']:,} nodes"
    return (
        f"In graphs of {nodes} in files, a training node of a mini-batch takes {min(cost):.0f} to "
        f"{max(cost):.0f} microseconds of the processor: "
        "[large graphs](scaling.md#prediction-and-measurement)."
    )


def scaling() -> str:
    """The cost model beside what `bench scale` measured, by the processor's time."""
    found = _measured("scale")
    points, (fixed, per_row) = found["points"], _constants()
    lines = [
        "| nodes | edges | rows for a training node | predicted | measured | by the clock | peak "
        "memory | anonymous |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for point in points:
        predicted = fixed / found["batch_size"] + per_row * point["rows_per_seed"]
        lines.append(
            f"| {point['nodes']:,} | {point['edges']:,} | {point['rows_per_seed']:.1f} "
            f"| {1e6 * predicted:.0f} µs | {1e6 * point['cpu_seconds_per_seed']:.0f} µs "
            f"| {1e6 * point['seconds_per_seed']:.0f} µs "
            f"| {point['peak_mb']:,.0f} MB | {point['anonymous_mb']:,.0f} MB |"
        )
    return "\n".join([*lines, "", _about_scale(found, fixed, per_row), "", _about_limit()])


def files() -> str:
    """From tables to predictions in one command, as `benchmarks/files_to_predictions.py` ran it."""
    found = _measured("files")
    return (
        f"`python benchmarks/files_to_predictions.py` runs it on {found['nodes']:,} nodes with "
        f"{found['columns']} numeric columns and {found['edges']:,} edges, {found['epochs']} "
        f"epochs: {found['seconds'] / 60:.0f} minutes on two cores, {found['peak_mb']:,.0f} MB "
        f"resident at most, mapped files included."
    )


def parallel() -> str:
    """The sampler beside one in torch, and two processes beside one."""
    sampler, ddp = _measured("sampler"), _measured("ddp")
    return (
        f"Sampling alone reaches {sampler['edges_per_second'] / 1e6:.0f} million edges a second on "
        f"{sampler['threads']} threads, {sampler['ratio_vs_torch']:.1f} times as many as a sampler "
        f"in plain torch (`nodewise bench sampler`). Two processes of one thread train "
        f"{ddp['speedup_2_over_1']:.2f} times as many nodes a second as one "
        f"(`nodewise bench ddp --nodes {ddp['nodes']}`)."
    )


def _about_scale(found: dict[str, Any], fixed: float, per_row: float) -> str:
    """The constants, how flat the times are, and whether the machine was busy."""
    points = found["points"]
    cost = [point["cpu_seconds_per_seed"] for point in points]
    text = (
        f"Predicted and measured is the processor's time, of all threads together; $t_0$ is "
        f"{1e3 * fixed:.1f} ms and $c$ {1e6 * per_row:.1f} µs. The largest over the smallest is "
        f"{max(cost) / min(cost):.2f}, by the clock {found['flatness']:.2f}."
    )
    waited = max(point["seconds_per_seed"] / point["cpu_seconds_per_seed"] for point in points)
    if waited > _BUSY:
        text += (
            " Other work kept the machine busy while this was measured: by the clock everything "
            f"took up to {waited:.1f} times as long."
        )
    return text


def _about_limit() -> str:
    """The largest graph under a limit."""
    found = _measured("scale-limit")
    (point,) = found["points"]
    return (
        f"In a control group of {found['limit_mb'] / 1000:.0f} GB, page cache included, training "
        f"on {point['nodes']:,} nodes takes {1e6 * point['cpu_seconds_per_seed']:.0f} µs, with "
        f"{point['peak_mb']:,.0f} MB resident and {point['anonymous_mb']:,.0f} MB anonymous."
    )


def _constants() -> tuple[float, float]:
    """The processor's time of a step and of a row: the smallest graph in batches of two sizes."""
    runs = [_measured(name) for name in ("scale", "scale-batches")]
    (t, n), (u, m) = (
        (run["points"][0]["cpu_seconds_per_seed"], run["points"][0]["rows_per_seed"])
        for run in runs
    )
    b, c = (run["batch_size"] for run in runs)
    per_row = (b * t - c * u) / (b * n - c * m)
    return b * (t - per_row * n), per_row


def speed() -> str:
    """One sentence on speed, for the README."""
    messages = [_measured(f"messages-{name}") for name in _BENCHED]
    dense = [found["speedup_vs_dense"] for found in messages]
    factored = [found["speedup_vs_factored"] for found in messages]
    epochs = [_measured(f"epoch-{name}") for name in _BENCHED]
    ours = [epoch["ratio_vs_our_gcn"] for epoch in epochs]
    pyg = [epoch["ratio_vs_pyg_gcn"] for epoch in epochs]
    return (
        f"On two CPU cores, an epoch of LGCN takes {min(pyg):.1f} to {max(pyg):.1f} times as long "
        f"as one of PyG's GCN on dense features,\nand {min(ours):.0f} to {max(ours):.0f} times as "
        "long as one of our GCN on sparse features ([costs](docs/costs.md)). Its messages are\n"
        f"{min(dense):.0f} to {max(dense):.0f} times faster than a straightforward per-edge form, "
        f"and {min(factored):.0f} to {max(factored):.0f} times faster than an optimized form in "
        "plain torch\n([kernels](docs/kernels.md#what-they-cost))."
    )


# The rows of `peers`: a title, and the models of which the best of each column is shown.
_PEERS = {
    "majority class": ("Majority",),
    "scikit-learn on features, the better of two": ("Logistic", "Boosting"),
    "PyG: GCN, 64": ("PyG-GCN-64",),
    "PyG: SAGE, 64": ("PyG-SAGE-64",),
    "PyG: GAT, 8 x 8": ("PyG-GAT-8x8",),
    "nodewise, as it comes (`auto`)": ("auto",),
}


def peers() -> str:
    """A table for each kind of split: what others would use, and what `auto` chooses."""
    found = section("peers")
    titles = {variant.name: variant.title for variant in found.suite.variants}
    return "\n\n".join(_peers_of(titles[name], data["means"]) for name, data in found.data.items())


def _peers_of(title: str, means: dict[str, dict[str, dict[str, Any]]]) -> str:
    columns = list(dict.fromkeys(dataset for of_row in means.values() for dataset in of_row))
    lines = [f"| test score, % ({title}) | {' | '.join(columns)} |", "|---" + "|--:" * len(columns)]
    for row, models in _PEERS.items():
        cells = [_best_mean([means.get(m, {}).get(name) for m in models]) for name in columns]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join([lines[0], f"{lines[1]}|", *lines[2:]])


def _best_mean(cells: list[dict[str, Any] | None]) -> str:
    values = [100 * cell["mean"] for cell in cells if cell is not None]
    return f"{max(values):.1f}" if values else "-"


def twins(dataset: str, part: str) -> str:
    """Convs and their localized twins in a plain PyG loop."""
    records = read_twins(RESULTS / "localize.jsonl", dataset, part)
    return f"{twins_table(records)}\n\n{twins_note(records, DATASETS[dataset])}"


MAKERS: dict[str, Maker] = {
    "costs": costs,
    "files": files,
    "headline": headline,
    "parallel": parallel,
    "peers": peers,
    "sage": sage,
    "scale": scale,
    "scaling": scaling,
    "speed": speed,
    "tables": tables,
    "twins": twins,
}

if __name__ == "__main__":
    write(MAKERS)
