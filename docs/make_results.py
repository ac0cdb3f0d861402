"""Write results/README.md, the README's tables and the costs of docs/kernels.md, from the records.

Run it after new ones, `python docs/make_results.py`; a test checks that all are up to date.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nodewise.report.results_page import markdown, markdown_section
from nodewise.report.sections import SECTIONS, read_section

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "results" / "README.md", ROOT / "README.md"
KERNELS = ROOT / "docs" / "kernels.md"
_OPENING = """# What the records say

Every table that `nodewise report` prints, made from the records in this folder by
`python docs/make_results.py`. In brackets what the paper prints. What agrees, what does not, and
why: [the reproduction](../docs/reproduction.md)."""
_PAIRS = re.compile(r"\| pair \|.*?\n\n", re.DOTALL)
_COSTS = re.compile(r"\| cost \|.*?\n\n", re.DOTALL)
_BENCHED = {"cora": "Cora", "chameleon": "Chameleon", "amazon": "Amazon"}
# What a row says, which bench has it under which key, and how it is written.
_EPOCHS = (
    (
        "an epoch of LGCN over one of PyG's GCN on dense features",
        "epoch",
        "ratio_vs_pyg_gcn",
        "{:.2f}",
    ),
    ("the same over our own GCN on sparse features", "epoch", "ratio_vs_our_gcn", "{:.1f}"),
)
_README_COSTS = (
    (
        "localized messages: `fused` over the per-edge form one writes first",
        "messages",
        "speedup_vs_dense",
        "{:.0f} x faster",
    ),
    (
        "the same over `factored`, the algebra in plain torch",
        "messages",
        "speedup_vs_factored",
        "{:.1f} x faster",
    ),
    ("extra memory of `fused`", "messages", "extra_peak_mb", "{:.0f} MB"),
    *_EPOCHS,
)
_KERNEL_COSTS = (
    ("`reference`", "messages", "reference_s", "{:.4f} s"),
    ("the per-edge form", "messages", "dense_s", "{:.4f} s"),
    ("`factored`", "messages", "factored_s", "{:.4f} s"),
    ("`fused`", "messages", "fused_s", "{:.4f} s"),
    ("`factored` over `fused`", "messages", "speedup_vs_factored", "{:.1f}"),
    ("extra memory of `fused`", "messages", "extra_peak_mb", "{:.0f} MB"),
    ("`fused`, eight heads in one pass", "messages", "heads8_s", "{:.4f} s"),
    ("share of the peak, `fused` forward", "messages", "share_of_peak_forward", "{:.0%}"),
    ("share of the peak, `fused` backward", "messages", "share_of_peak_backward", "{:.0%}"),
    ("share of the peak, penalty and its gradient", "messages", "penalty_share_of_peak", "{:.0%}"),
    ("an epoch of LGCN", "epoch", "lgcn_s", "{:.4f} s"),
    ("an epoch of LGIN", "epoch", "lgin_s", "{:.4f} s"),
    ("an epoch of LGAT", "epoch", "lgat_s", "{:.4f} s"),
    ("a step of the recipe `official` and its validation", "epoch", "official_step_s", "{:.4f} s"),
    *_EPOCHS,
    ("checks of sizes and indices, share of an epoch of LGCN", "epoch", "checks_share", "{:.1%}"),
)


def _measured(bench: str, dataset: str) -> dict[str, Any]:
    path = PAGE.parent / "bench" / f"{bench}-{dataset}.json"
    return dict(json.loads(path.read_text("utf-8")))


def costs(rows: tuple[tuple[str, str, str, str], ...]) -> str:
    """A table of what `nodewise bench` recorded, a column for each data set."""
    lines = [f"| cost | {' | '.join(_BENCHED.values())} |", "|---" * 4 + "|"]
    for label, bench, key, form in rows:
        found = [_measured(bench, dataset).get(key) for dataset in _BENCHED]
        cells = ("-" if value is None else form.format(value) for value in found)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def kernels() -> str:
    """The page on kernels with the costs that were measured."""
    return _COSTS.sub(lambda _: costs(_KERNEL_COSTS) + "\n\n", KERNELS.read_text("utf-8"), count=1)


def results_page() -> str:
    """All suites, as the file has them."""
    parts = [_OPENING]
    for name in SECTIONS:
        section = read_section(PAGE.parent, name)
        parts += [f"## {section.suite.title}", markdown_section(section)]
    return "\n\n".join(parts) + "\n"


def readme() -> str:
    """The README with the pairs and the costs that the records have."""
    pairs = markdown(read_section(PAGE.parent, "matched").tables[0])
    text = _PAIRS.sub(lambda _: f"{pairs}\n\n", README.read_text("utf-8"), count=1)
    return _COSTS.sub(lambda _: costs(_README_COSTS) + "\n\n", text, count=1)


if __name__ == "__main__":
    PAGE.write_text(results_page(), "utf-8")
    README.write_text(readme(), "utf-8")
    KERNELS.write_text(kernels(), "utf-8")
